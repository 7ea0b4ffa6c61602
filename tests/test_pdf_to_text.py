"""The tool that reads PDFs, from the call that a model makes to what it is given."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fpdf import FPDF

from locales import load_locale
from tests.servers.website import ScriptedSite
from tools.helper.pagination import parse_paged_result, parse_token
from tools.registry import default_registry
from tools.settings import ToolSettings
from tools.tool import ToolContext, ToolResult

CONTEXT = ToolContext(settings=ToolSettings(allow_hosts=("127.0.0.1",)))
PAGES = 120


@pytest.fixture(scope="module")
def book() -> bytes:
    """A PDF of so many pages, each with a sentence of its own."""
    made = FPDF()
    made.set_font("Helvetica", size=11)
    for number in range(1, PAGES + 1):
        made.add_page()
        made.multi_cell(0, 6, f"The secret of page {number} is {number * 37}.\n" + "Filling follows. " * 80)
    return bytes(made.output())


@pytest.fixture
def site(book: bytes) -> Iterator[ScriptedSite]:
    with ScriptedSite() as server:
        server.add("/book.pdf", book, "application/pdf")
        yield server


def read(name: str = "pdf_to_text", context: ToolContext = CONTEXT, **arguments: Any) -> ToolResult:
    return default_registry().execute(name, arguments, context)


def read_on(first: ToolResult, name: str = "pdf_to_text", **arguments: Any) -> list[ToolResult]:
    results = [first]
    while token := parse_paged_result(results[-1].text).next_token:
        results.append(read(name, continue_from=token, **arguments))
        assert len(results) < 500
    return results


def test_a_pdf_is_read_page_by_page_to_its_end(site: ScriptedSite) -> None:
    parts = read_on(read(url_or_path=f"{site.url}/book.pdf"))
    assert all(part.error is None and len(part.text) <= 8000 for part in parts)
    told = "".join(part.text for part in parts)
    for number in range(1, PAGES + 1):
        assert f"The secret of page {number} is {number * 37}." in told
    assert re.findall(r"^\[Page (\d+)/120\]", told, re.MULTILINE)[0] == "1"
    assert parts[0].data["pages"][0] == 1 and parts[-1].data["pages"][1] == PAGES
    assert len(site.requests) == 1, "each part was fetched anew"


def test_the_footer_tells_how_to_go_on(site: ScriptedSite) -> None:
    paged = parse_paged_result(read(url_or_path=f"{site.url}/book.pdf").text)
    assert paged.has_more and paged.next_token
    assert paged.facts == {
        "replaces_earlier_tokens": "true",
        "keep_token_in_final_answer": "true",
        "resume_with_continue_from_only": "true",
    }
    fields = parse_token(paged.next_token, "pdf_to_text", "url", "page_index", "page_char_offset")
    assert fields["url"] == f"{site.url}/book.pdf" and fields["page_index"] > 0


def test_a_page_can_be_asked_for_by_its_number(site: ScriptedSite) -> None:
    result = read(url_or_path=f"{site.url}/book.pdf", page=97, max_chars=2000)
    assert result.text.startswith("[Page 97/120]\nThe secret of page 97 is 3589.")
    assert result.data["pages"][0] == 97


def test_a_page_beyond_the_end(site: ScriptedSite) -> None:
    result = read(url_or_path=f"{site.url}/book.pdf", page=121)
    assert result.error and result.error.kind == "page_beyond_end" and "120" in result.text


@pytest.mark.parametrize("max_chars", [600, 1111, 3000, 40_000])
def test_parts_of_any_size_hold_all_of_a_page(site: ScriptedSite, max_chars: int) -> None:
    first = read(url_or_path=f"{site.url}/book.pdf", max_chars=max_chars, page=118)
    parts = read_on(first, max_chars=max_chars)
    assert all(len(part.text) <= max_chars for part in parts)
    text = "".join(re.sub(r"\[Page \d+/120\]\n", "", parse_paged_result(part.text).text) for part in parts)
    assert " ".join(text.split()).count("Filling follows.") == 3 * 80


def test_one_call_reads_no_more_pages_than_the_setting_allows(site: ScriptedSite) -> None:
    few = ToolContext(settings=CONTEXT.settings.model_copy(update={"max_pdf_pages": 2}))
    result = read(context=few, url_or_path=f"{site.url}/book.pdf", max_chars=40_000)
    assert result.data["pages"] == [1, 2] and parse_paged_result(result.text).has_more


def test_the_page_tool_reads_a_pdf_as_well_and_goes_on_in_it(site: ScriptedSite) -> None:
    first = read("scrape_url", url=f"{site.url}/book.pdf")
    assert first.text.startswith("[Page 1/120]")
    parts = read_on(first, "scrape_url", max_chars=8000)
    assert f"The secret of page {PAGES}" in parts[-1].text


def test_the_pdf_tool_reads_a_page_as_well(site: ScriptedSite) -> None:
    assert "125 words a second" in read(url_or_path=f"{site.url}/ai-news.html").text
    parts = read_on(read(url=f"{site.url}/long.html"))
    assert len(parts) > 2 and not any(part.error for part in parts)


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"%PDF-1.7 broken", "pdf_broken"), (b"GIF89a", "not_text"), (b"<p>", "empty_page")],
)
def test_what_can_not_be_read_says_why(site: ScriptedSite, body: bytes, kind: str) -> None:
    content_type = {"pdf_broken": "application/pdf", "not_text": "image/gif"}.get(kind, "text/html")
    result = read(url_or_path=site.add("/x", body, content_type))
    assert result.error and result.error.kind == kind and result.error.remedy


def test_a_pdf_under_a_wrong_type_is_a_pdf(site: ScriptedSite, book: bytes) -> None:
    for content_type in ("text/html", "application/octet-stream", ""):
        url = site.add(f"/download-{len(content_type)}", book, content_type)
        assert "secret of page 1 is" in read("scrape_url", url=url).text


def test_scans_and_blank_ones_are_told(site: ScriptedSite) -> None:
    blank = FPDF()
    blank.add_page()
    url = site.add("/blank.pdf", bytes(blank.output()), "application/pdf")
    result = read(url_or_path=url)
    assert result.error and result.error.kind == "pdf_empty"


def test_no_address_is_an_error_that_says_what_to_give() -> None:
    result = read()
    assert result.error and result.error.kind == "no_address"


def test_the_french_face_reads_too(site: ScriptedSite) -> None:
    french = ToolContext(settings=CONTEXT.settings, locale=load_locale("fr"))
    result = read("lire_pdf", french, url=f"{site.url}/book.pdf")
    assert "secret of page 1 is" in result.text
    on = read("lire_pdf", french, continuer_depuis=parse_paged_result(result.text).next_token)
    assert on.error is None


def test_a_private_address_is_refused() -> None:
    result = read(context=ToolContext(), url_or_path="http://127.0.0.1:8000/secret.pdf")
    assert result.error and result.error.kind == "blocked_host"
