"""PDFs that make a reader go wrong, from the call that a model makes to what it is given."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF

from tests.pdf_reading import private_use_pdf
from tests.servers.http import Reply, Request
from tests.servers.website import SMALL_PDF, ScriptedSite
from tools.helper.pdf_text import read_pdf
from tools.registry import default_registry
from tools.settings import ToolSettings
from tools.tool import ToolContext, ToolResult

CONTEXT = ToolContext(settings=ToolSettings(allow_hosts=("127.0.0.1",)))
PDF = "application/pdf"


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with ScriptedSite() as server:
        yield server


def read(tool: str = "pdf_to_text", context: ToolContext = CONTEXT, **arguments: Any) -> ToolResult:
    return default_registry().execute(tool, arguments, context)


def error_of(result: ToolResult) -> str:
    assert result.error is not None, result.text[:200]
    assert result.error.cause and result.error.remedy and not result.sources
    return result.error.kind


@pytest.mark.parametrize(
    "content_type", [PDF, "text/plain", "text/html; charset=utf-8", "binary/octet-stream", ""]
)
@pytest.mark.parametrize("tool", ["scrape_url", "pdf_to_text"])
def test_a_pdf_is_read_as_one_whatever_its_address_and_type_say(
    site: ScriptedSite, tool: str, content_type: str
) -> None:
    url = site.add("/documents/Fiche%20technique", SMALL_PDF, content_type) + "?id=49"
    result = read(tool, url=url)
    assert result.text == "[Page 1/1]\nA short report."


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_of_a_pdf_that_did_not_come_whole_no_source_is_given(site: ScriptedSite, kept: float) -> None:
    made = FPDF()
    made.set_font("Helvetica", size=11)
    for number in range(8):
        made.add_page()
        made.multi_cell(0, 6, f"Page {number}. " + "Some words follow. " * 60)
    whole = bytes(made.output())
    result = read("scrape_url", url=site.add("/half.pdf", whole[: int(len(whole) * kept)], PDF))
    assert "Some words follow." in result.text or error_of(result) == "pdf_broken"
    assert not any(mark in result.text for mark in ("%PDF", "FlateDecode", "endobj", "xref"))


def declared(request: Request, reply: Reply) -> None:
    """A file of 60 MB by its header; who reads on waits in vain."""
    reply.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 62914560\r\n\r\n%PDF-1.7"
    )
    reply.pause(20)


def undeclared(request: Request, reply: Reply) -> None:
    reply.start(200, PDF)
    reply.write(b"%PDF-1.7\n")
    while reply.pause(0):
        reply.write(b"%" * 65536)


@pytest.mark.parametrize("page", [declared, undeclared])
def test_a_pdf_that_is_too_large_is_refused_by_its_header_and_by_what_comes(
    site: ScriptedSite, page: Any
) -> None:
    small = replace(CONTEXT, settings=CONTEXT.settings.model_copy(update={"max_fetch_mb": 1}))
    result = read(context=small, url_or_path=site.add_page("/large.pdf", page))
    assert error_of(result) == "too_large" and "max_fetch_mb" in result.text


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from PIL import Image

    path = tmp_path_factory.mktemp("scan") / "scan.png"
    Image.new("L", (200, 200), 128).save(path)
    return path


def scanned(picture: Path, *texts: str) -> bytes:
    """A page with nothing but an image, then one for each text."""
    made = FPDF()
    made.set_font("Helvetica", size=11)
    made.add_page()
    made.image(picture, w=150)
    for text in texts:
        made.add_page()
        made.cell(0, 6, text)
    return bytes(made.output())


def test_a_pdf_of_images_says_that_its_pages_are_images(site: ScriptedSite, picture: Path) -> None:
    result = read(url_or_path=site.add("/scan.pdf", scanned(picture), PDF))
    assert error_of(result) == "no_text_layer" and "images" in result.text and "OCR" in result.text


def test_a_page_that_is_an_image_is_named_among_those_that_are_not(site: ScriptedSite, picture: Path) -> None:
    url = site.add("/mixed.pdf", scanned(picture, "Words of the second page."), PDF)
    text = read(url_or_path=url).text
    assert text == "[Page 1/2: no text, only an image]\n\n\n[Page 2/2]\nWords of the second page."


UNREAD = "Everybody can see these words, and nobody can copy them."


@pytest.mark.parametrize("first_code", ["E000", "DB80DC00"], ids=["first plane", "plane 15"])
@pytest.mark.parametrize("readable", ["", "Page 3"])
def test_a_pdf_whose_font_tells_no_meanings_is_told_as_one_without_text(
    site: ScriptedSite, first_code: str, readable: str
) -> None:
    made = private_use_pdf(UNREAD, readable, first_code)
    [page] = read_pdf(made).pages
    assert (page.state, page.text) == ("no_text_layer", readable)
    result = read(url_or_path=site.add("/font.pdf", made, PDF))
    if readable:
        assert result.text == f"[Page 1/1: no text, only an image]\n{readable}"
    else:
        assert error_of(result) == "no_text_layer"


def test_a_page_with_text_beside_an_unread_font_keeps_it_as_its_text() -> None:
    [page] = read_pdf(private_use_pdf(UNREAD, "A sentence in a font that does tell.")).pages
    assert (page.state, page.text) == ("text", "A sentence in a font that does tell.")


def test_a_page_of_bullets_is_a_page_of_text() -> None:
    [page] = read_pdf(private_use_pdf("  ", "Agenda", "F0B7")).pages
    assert (page.state, page.text) == ("text", "••\nAgenda")


def test_a_page_of_nothing_but_blanks_is_a_blank_page(site: ScriptedSite) -> None:
    made = FPDF()
    made.set_font("Helvetica", size=11)
    for text in ("        ", "\u00a0 \u00a0", "Words."):
        made.add_page()
        made.cell(0, 6, text)
    content = bytes(made.output())
    assert [(page.state, page.text) for page in read_pdf(content).pages] == [
        ("text", ""),
        ("text", ""),
        ("text", "Words."),
    ]
    text = read(url_or_path=site.add("/blanks.pdf", content, PDF)).text
    assert text == "[Page 1/3]\n\n\n[Page 2/3]\n\n\n[Page 3/3]\nWords."
