"""Reading PDFs back as pypdf and as PDFium, the engine of a browser, see them."""

import io
import re
import unicodedata

import pypdfium2
import pypdfium2.raw as pdfium
from pypdf import PdfReader

from tools.helper.pdf import look
from tools.helper.pdf.render import RenderedPdf

TEXT_LEFT, TEXT_RIGHT = look.MARGIN, look.PAGE_WIDTH - look.MARGIN


def texts(pdf: RenderedPdf) -> tuple[str, str]:
    """The text as pypdf and as PDFium read it."""
    reader = PdfReader(io.BytesIO(pdf.bytes), strict=True)
    assert len(reader.pages) == pdf.pages
    document = pypdfium2.PdfDocument(pdf.bytes)
    try:
        pages = [document[number].get_textpage().get_text_range() for number in range(len(document))]
    finally:
        document.close()
    return "\n".join(page.extract_text() for page in reader.pages), "\n".join(pages).replace("\r", "")


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def characters(pdf: RenderedPdf) -> list[tuple[int, str, float, float, float, float]]:
    """Every visible character: page, text, left, right, bottom, top in points."""
    document = pypdfium2.PdfDocument(pdf.bytes)
    found = []
    try:
        for number in range(len(document)):
            page = document[number].get_textpage()
            for index in range(page.count_chars()):
                char = chr(pdfium.FPDFText_GetUnicode(page, index))
                if not char.isspace() and not unicodedata.combining(char):
                    left, bottom, right, top = page.get_charbox(index, loose=False)
                    found.append((number, char, left, right, bottom, top))
    finally:
        document.close()
    return found


def assert_within_margins(pdf: RenderedPdf) -> None:
    for page, char, left, right, bottom, top in characters(pdf):
        where = f"{char!r} on page {page + 1}: {left:.0f}-{right:.0f}, {bottom:.0f}-{top:.0f}"
        assert left > TEXT_LEFT - 3 and right < TEXT_RIGHT + 3, where
        foot = top < look.MARGIN
        assert (foot and bottom > 20) or bottom > look.MARGIN - 4, where
        assert top < look.PAGE_HEIGHT - look.MARGIN + 3, where


def baseline_of(pdf: RenderedPdf, word: str) -> tuple[int, float]:
    """The page and the height at which a word of one kind of letter stands."""
    page, _, _, _, bottom, _ = next(entry for entry in characters(pdf) if entry[1] == word)
    return page, bottom


def links_of(pdf: RenderedPdf) -> list[str]:
    found = []
    for page in PdfReader(io.BytesIO(pdf.bytes), strict=True).pages:
        for annotation in page.get("/Annots", []):
            action = annotation.get_object().get("/A")
            found.append(str(action["/URI"]) if action else "internal")
    return found
