"""Files in a chat, and long documents read to their end, in a real Chromium."""

import base64
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.panel import Chat, Panel, browser, person
from tests.servers.ollama import Turn, call, say
from tools.helper.pagination import parse_paged_result

pytestmark = pytest.mark.browser

PAGES = 120
SECRET = "The password of page {} is heron-{}."


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    with Panel(tmp_path_factory.mktemp("panel"), "--host", "0.0.0.0") as running:
        yield running


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as one:
        yield one


@pytest.fixture
def chat(panel: Panel, opened: Browser) -> Iterator[Chat]:
    context = person(opened, "en-GB")
    yield Chat(context.new_page()).open(panel.url)
    context.close()


def book(pages: int = PAGES) -> bytes:
    made = FPDF()
    made.set_font("Helvetica", size=11)
    for number in range(1, pages + 1):
        made.add_page()
        made.multi_cell(0, 6, SECRET.format(number, number * 7))
    return bytes(made.output())


def drop(page: Page, name: str, content: bytes, content_type: str) -> None:
    """Drag a file from the desktop onto the box."""
    transfer = page.evaluate_handle(
        """([name, content, type]) => {
            const bytes = Uint8Array.from(atob(content), sign => sign.charCodeAt(0));
            const transfer = new DataTransfer();
            transfer.items.add(new File([bytes], name, {type}));
            return transfer;
        }""",
        [name, base64.b64encode(content).decode(), content_type],
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event("#box textarea", event, {"dataTransfer": transfer})
    page.wait_for_selector("#box .thumbnail-item")


def tool_results(panel: Panel) -> list[str]:
    """What the model has read in the chat at hand."""
    return [message["content"] for message in panel.ollama.chats[-1]["messages"] if message["role"] == "tool"]


def reading_on(
    tool: str, first: dict[str, Any], wanted: str, **more: Any
) -> Callable[[dict[str, Any]], Turn]:
    """A model that reads with `tool`, follows the tokens until it comes to `wanted`, and says it."""

    def turn(request: dict[str, Any]) -> Turn:
        results = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        if not results:
            return call(tool, first)
        if found := re.search(wanted, results[-1]):
            return say(f"I found: {found[0]}")
        token = parse_paged_result(results[-1]).next_token
        return call(tool, {"continue_from": token, **more}) if token else say("It is not there.")

    return turn


def test_a_dropped_pdf_is_read_and_belongs_to_its_chat(panel: Panel, chat: Chat, opened: Browser) -> None:
    content = book(3)
    drop(chat.page, "Rapport été.pdf", content, "application/pdf")
    panel.ollama.play([call("pdf_to_text", {"url_or_path": "attachment:1"}), say("It is heron-14.")])
    chat.ask("What is the password of page 2?")
    chat.wait_for("It is heron-14.")
    chat.wait_until_done()
    assert "attachment:1 (Rapport été.pdf)" in panel.ollama.chats[-1]["messages"][-3]["content"]
    assert SECRET.format(2, 14) in tool_results(panel)[0]
    link = chat.page.get_by_role("link", name="📎 Rapport été.pdf")
    address = link.evaluate("link => link.href")
    assert chat.page.request.get(address).body() == content
    stranger = person(opened)
    assert stranger.request.get(address).status == 404
    stranger.close()


def test_another_chat_cannot_read_it(panel: Panel, chat: Chat) -> None:
    drop(chat.page, "note.txt", b"The word is marmalade.", "text/plain")
    panel.ollama.play([call("pdf_to_text", {"url_or_path": "attachment:1"}), say("Marmalade.")])
    chat.ask("What is the word?")
    chat.wait_for("Marmalade.")
    chat.wait_until_done()
    for source in ("attachment:1", "note.txt", "attachment:../1/1"):
        chat.page.get_by_role("button", name="New chat").click()
        chat.wait_gone("Marmalade.")
        panel.ollama.play([call("pdf_to_text", {"url_or_path": source}), say("I can't read it.")])
        chat.ask("And here?")
        chat.wait_for("I can't read it.")
        chat.wait_until_done()
        assert tool_results(panel)[0].startswith("Error: ")
        assert "marmalade" not in tool_results(panel)[0]


def test_a_picture_is_shown_to_a_model_that_sees(panel: Panel, chat: Chat) -> None:
    made = io.BytesIO()
    Image.new("RGBA", (2048, 512), (200, 30, 30, 90)).save(made, "PNG")
    chat.choose("gemma3:12b")
    drop(chat.page, "red.png", made.getvalue(), "image/png")
    panel.ollama.play(say("A red picture."))
    chat.ask("What is it?")
    chat.wait_for("A red picture.")
    chat.wait_until_done()
    (sent,) = panel.ollama.chats[-1]["messages"][-1]["images"]
    with Image.open(io.BytesIO(base64.b64decode(sent))) as seen:
        assert (seen.size, seen.mode) == ((1024, 256), "RGBA")
    shown = chat.page.locator("#chat img[alt='red.png']")
    expect(shown).to_be_visible()
    assert shown.evaluate("image => image.naturalWidth") == 2048


def test_a_model_that_does_not_see_is_told_apart(panel: Panel, chat: Chat) -> None:
    made = io.BytesIO()
    Image.new("RGB", (40, 40)).save(made, "JPEG")
    drop(chat.page, "photo.jpg", made.getvalue(), "image/jpeg")
    panel.ollama.play(say("I see nothing."))
    chat.ask("What is it?")
    chat.wait_for("I see nothing.")
    chat.wait_until_done()
    assert "can't see images" in chat.text() or "does not see images" in chat.text()
    assert "images" not in panel.ollama.chats[-1]["messages"][-1]


def test_a_file_that_is_none_of_those_that_are_read_is_refused(panel: Panel, chat: Chat) -> None:
    asked = len(panel.ollama.chats)
    drop(chat.page, "song.txt", b"\x00\x01\x02 no text" * 40, "text/plain")
    chat.page.fill("#box textarea", "What is it?")
    chat.page.press("#box textarea", "Enter")
    expect(chat.page.locator("#problem")).to_contain_text(".pdf .txt .md")
    expect(chat.page.locator("#box textarea")).to_have_value("What is it?")
    assert len(panel.ollama.chats) == asked


def test_a_forged_upload_reads_no_file_and_fetches_nothing(panel: Panel, chat: Chat) -> None:
    with chat.page.expect_request(lambda request: '"text":"Hello"' in (request.post_data or "")) as sent:
        panel.ollama.play(say("Hi."))
        chat.ask("Hello")
    chat.wait_for("Hi.")
    chat.wait_until_done()
    asked, fetched = len(panel.ollama.chats), len(panel.site.requests)
    host = panel.site.url.removeprefix("http://")
    for path in (
        "/etc/hostname",
        str(panel.config),
        f"http://{host}/x",
        f"HTTP://{host}/x",
        "../config.yaml",
    ):
        file = {"path": path, "url": path, "orig_name": "x.txt", "meta": {"_type": "gradio.FileData"}}
        for place, forged in ((0, {"text": "Forged", "files": [file]}), (2, file)):
            body = json.loads(sent.value.post_data or "")
            body["data"][place] = forged
            assert chat.page.request.post(sent.value.url, data=body).status == 500
    assert (len(panel.ollama.chats), len(panel.site.requests)) == (asked, fetched)


def test_page_97_of_120_is_reached_through_tokens(panel: Panel, chat: Chat) -> None:
    url = panel.site.add("/book.pdf", book(), "application/pdf")
    panel.ollama.play(reading_on("pdf_to_text", {"url_or_path": url}, SECRET.format(97, r"\d+")))
    chat.ask(f"Read this 120-page PDF and tell me what page 97 says: {url}")
    chat.wait_for(f"I found: {SECRET.format(97, 97 * 7)}")
    chat.wait_until_done()
    results = tool_results(panel)
    assert len(results) == 4
    assert all(f"[Page {number}/{PAGES}]" in results[(number - 1) // 25] for number in range(1, 101))
    assert len([request for request in panel.site.requests if request.path == "/book.pdf"]) == 1
    chat.page.click("#chat .thought-group .title")
    for pages in ("1–25", "26–50", "51–75", "76–100"):
        chat.wait_for(f"pages {pages} of {PAGES}")
    assert chat.text().count(f"📖 Reading on in {url}") == 3


def test_a_page_of_300_000_characters_is_read_to_its_last_sentence(opened: Browser, tmp_path: Path) -> None:
    settings = "max_tool_result_chars: 60000\nmax_tool_context_chars: 400000\n"
    sentences = [f"Sentence {number} of a very long page is here to be read. " for number in range(6_000)]
    paragraphs = "".join(f"<p>{''.join(sentences[at : at + 12])}</p>" for at in range(0, 6_000, 12))
    with Panel(tmp_path, settings=settings) as panel:
        url = panel.site.add("/long-page.html", f"<article>{paragraphs}<p>The last word is ibis.</article>")
        first = {"url": url, "max_chars": 60_000}
        panel.ollama.play(reading_on("scrape_url", first, "The last word is .+", max_chars=60_000))
        context = person(opened, "en-GB")
        chat = Chat(context.new_page()).open(panel.url)
        chat.ask(f"How does {url} end?")
        chat.wait_for("I found: The last word is ibis.")
        chat.wait_until_done()
        read = "".join(parse_paged_result(result).text for result in tool_results(panel))
        context.close()
    assert len(read) > 300_000
    assert all(sentence.strip() in read for sentence in sentences)
