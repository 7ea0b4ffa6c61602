"""Reading PDFs back as pypdf and as PDFium, the engine of a browser, see them, and odd ones made by hand."""

import io
import re
import unicodedata

import pypdfium2
import pypdfium2.raw as pdfium
from pypdf import PdfReader

from tools.helper.pdf import look
from tools.helper.pdf.render import RenderedPdf

TEXT_LEFT, TEXT_RIGHT = look.MARGIN, look.A4.width - look.MARGIN


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
        assert top < look.A4.height - look.MARGIN + 3, where


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


_PRIVATE_USE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /Private def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfrange <20> <7E> <%s> endbfrange
endcmap CMapName currentdict /CMap defineresource pop end end"""


def private_use_pdf(unread: str, readable: str = "", first_code: str = "E000") -> bytes:
    """A PDF of one page that shows `unread` in a font that maps its signs to code points for private use,
    from `first_code` on (UTF-16 in hexadecimal); and `readable` below it, in a font that tells its meaning.
    """
    drawn = "".join(
        f"BT /{font} 12 Tf 72 {height} Td ({text}) Tj ET "
        for font, height, text in (("F1", 700, unread), ("F2", 40, readable))
        if text
    )
    font = b"/Type /Font /Subtype /Type1 /BaseFont /Helvetica"
    return _raw_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
        _stream(drawn.encode("ascii")),
        b"<< %s /ToUnicode 7 0 R >>" % font,
        b"<< %s >>" % font,
        _stream(_PRIVATE_USE % first_code.encode("ascii")),
    )


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _raw_pdf(*objects: bytes) -> bytes:
    """The objects, numbered from 1, as a file with a right table of offsets; the first is the catalog."""
    file, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    size = len(objects) + 1
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, entries)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(file))
    return bytes(file) + table + end
