"""Pages and fonts -> the file. The only place that touches what fpdf2 does not promise to keep: version
2.8.9 is pinned, and tests/test_fpdf_contract.py tells when another one differs."""

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

import uharfbuzz as hb
from fpdf import FPDF
from fpdf.enums import FontDescriptorFlags, ResourceAccessPolicy
from fpdf.fonts import PDFFontDescriptor
from fpdf.output import CIDSystemInfo, OutputProducer, PDFFont, PDFFontStream
from fpdf.syntax import Name, PDFArray, PDFContentStream, PDFString

from tools.helper.pdf.font import BOLD, Font
from tools.helper.pdf.pages import Link, Page, Pages

_KEPT_TABLES = {
    "glyf", "loca", "head", "hhea", "hmtx", "maxp", "CFF ", "CFF2", "fvar", "gvar", "avar", "HVAR", "MVAR",
}  # fmt: skip
_LONGEST_URL = 2000
_ENTRIES = 100
"""Entries that one section of a CMap may have."""

Glyphs = Mapping[int, str]
"""Numbers of glyphs, each with the text it stands for."""


@dataclass(frozen=True)
class Facts:
    """What the file tells of the document beside its pages. `outline` has a level, from 0, the text and the
    anchor of each heading in it."""

    title: str
    language: str
    author: str
    created: datetime
    outline: Sequence[tuple[int, str, str]] = ()


def write_pdf(pages: Pages, used: Mapping[Font, Glyphs], facts: Facts) -> bytes:
    """The document as a file. `used` holds the glyphs of every font that the pages name."""
    pdf = FPDF(unit="pt", format=pages.paper)
    pdf.set_auto_page_break(False)
    pdf.single_resources_object = True
    pdf.resource_access_policy = ResourceAccessPolicy.NONE
    for number, page in enumerate(pages.pages, 1):
        pdf.add_page()
        pdf.pages[number].contents.extend("\n".join(page.operators).encode("ascii"))
    _add_links(pdf, pages.pages, pages.anchors)
    _add_outline(pdf, facts.outline, pages.anchors)
    pdf.set_title(facts.title)
    pdf.set_creation_date(facts.created)
    pdf.set_producer("")
    if facts.author:
        pdf.set_author(facts.author)
    if facts.language:
        pdf.set_lang(facts.language)
    fonts = {number: (font, used[font]) for font, number in pages.font_numbers.items()}
    return bytes(pdf.output(output_producer_class=lambda document: _Producer(document, fonts)))


def _add_links(pdf: FPDF, pages: Iterable[Page], anchors: Mapping[str, tuple[int, float]]) -> None:
    for number, page in enumerate(pages, 1):
        pdf.page = number
        for link in page.links:
            target = _target(pdf, link, anchors)
            if target is not None:
                pdf.link(link.left, link.top, link.width, link.height, target)


def _add_outline(
    pdf: FPDF, outline: Iterable[tuple[int, str, str]], anchors: Mapping[str, tuple[int, float]]
) -> None:
    for level, text, anchor in outline:
        if anchor in anchors:
            page, top = anchors[anchor]
            pdf.page = page + 1
            pdf.set_y(top)
            pdf.start_section(text, level, strict=False)


def _target(pdf: FPDF, link: Link, anchors: Mapping[str, tuple[int, float]]) -> str | int | None:
    """Where a link leads as fpdf2 takes it; None where a heading of that name does not exist."""
    if not link.target.startswith("#"):
        return quote(link.target[:_LONGEST_URL], safe="!#$%&'()*+,/:;=?@[]~")
    place = anchors.get(unquote(link.target[1:]).lower())
    return None if place is None else pdf.add_link(page=place[0] + 1, y=place[1])


class _Producer(OutputProducer):
    """Writes our fonts in the place of fpdf2's."""

    def __init__(self, document: FPDF, fonts: Mapping[int, tuple[Font, Glyphs]]) -> None:
        super().__init__(document)
        self._our_fonts = fonts

    def _add_fonts(self, *resources: Any) -> dict[int, Any]:
        objects = super()._add_fonts(*resources)
        for number, (font, glyphs) in self._our_fonts.items():
            objects[number] = self._add_font(font, glyphs)
        return objects

    def _add_font(self, font: Font, glyphs: Glyphs) -> PDFFont:
        """A composite font whose character codes are glyph numbers of the font file (ISO 32000-1, 9.7)."""
        subset = _subset(font, glyphs)
        name = f"{_tag(glyphs)}+{font.name}"
        top = self._added(PDFFont(subtype="Type0", base_font=name, encoding="Identity-H"))
        kind = "CIDFontType0" if font.file.is_cff else "CIDFontType2"
        inner = self._added(PDFFont(subtype=kind, base_font=name, d_w=1000, w=_widths(font, glyphs)))
        inner.c_i_d_system_info = self._added(_identity_system())
        inner.font_descriptor = descriptor = self._added(_descriptor(font, name))
        if font.file.is_cff:
            descriptor.font_file3 = self._added(PDFFontStream(subset.reference_table("CFF ").data))
            descriptor.font_file3.subtype = Name("CIDFontType0C")
        else:
            descriptor.font_file2 = self._added(PDFFontStream(subset.blob.data))
        top.descendant_fonts = PDFArray([inner])
        top.to_unicode = self._added(PDFContentStream(_to_unicode(font, glyphs), compress=True))
        return top

    def _added(self, pdf_object: Any) -> Any:
        self._add_pdf_obj(pdf_object, "fonts")
        return pdf_object


def _subset(font: Font, glyphs: Iterable[int]) -> hb.Face:
    """The font with these glyphs alone, each still under its code (see `Font.code`)."""
    face, flags = font.file.face, hb.SubsetFlags
    wanted = hb.SubsetInput()
    wanted.flags = flags.NO_LAYOUT_CLOSURE | flags.NOTDEF_OUTLINE | flags.NO_HINTING | flags.DOWNGRADE_CFF2
    if font.file.is_cff:
        wanted.flags |= flags.DESUBROUTINIZE
    if font.file.cids is None:
        wanted.flags |= flags.RETAIN_GIDS | flags.CFF_IDENTITY_CHARSET
    wanted.glyph_set.update(glyphs)
    for tag in set(face.table_tags) - _KEPT_TABLES:
        wanted.drop_table_tag_set.add(int.from_bytes(tag.encode("latin-1"), "big"))
    if face.has_var_data:
        wanted.pin_all_axes_to_default(face)
    if font.file.has_weights:
        wanted.pin_axis_location(face, "wght", font.weight)
    return hb.SubsetPlan(face, wanted).execute()


def _tag(glyphs: Iterable[int]) -> str:
    """Six letters that tell one subset of a font from another (9.6.4)."""
    number = zlib.crc32(repr(sorted(glyphs)).encode())
    return "".join(chr(ord("A") + number // 26**place % 26) for place in range(6))


def _identity_system() -> CIDSystemInfo:
    system = CIDSystemInfo()
    system.ordering = PDFString("Identity", encrypt=True)
    return system


def _descriptor(font: Font, name: str) -> PDFFontDescriptor:
    head = font.file.face.reference_table("head").data
    box = " ".join(f"{edge * font.scale:.0f}" for edge in struct.unpack(">4h", head[36:44]))
    descriptor = PDFFontDescriptor(
        ascent=round(font.ascent),
        descent=-round(font.descent),
        cap_height=round(font.cap_height),
        flags=FontDescriptorFlags.SYMBOLIC,
        font_b_box=f"[{box}]",
        italic_angle=0,
        stem_v=140 if font.weight == BOLD else 80,
        missing_width=0,
    )
    descriptor.font_name = Name(name)
    return descriptor


def _widths(font: Font, glyphs: Iterable[int]) -> str:
    """The advance of each glyph by its code."""
    by_code = sorted((font.code(glyph), font.advance(glyph)) for glyph in glyphs)
    return "[" + " ".join(f"{code} [{advance:g}]" for code, advance in by_code) + "]"


def _to_unicode(font: Font, glyphs: Glyphs) -> bytes:
    """The CMap from codes to text, a file of its own (9.10.3, Adobe Technical Note 5014)."""
    entries = []
    for glyph, text in glyphs.items():
        shown = text if glyph else "\ufffd"
        entries.append(f"<{font.code(glyph):04X}> <{shown.encode('utf-16-be').hex().upper()}>")
    lines = [
        "/CIDInit /ProcSet findresource begin",
        "12 dict begin",
        "begincmap",
        "/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def",
        "/CMapName /Adobe-Identity-UCS def",
        "/CMapType 2 def",
        "1 begincodespacerange",
        "<0000> <FFFF>",
        "endcodespacerange",
    ]
    for start in range(0, len(entries), _ENTRIES):
        section = entries[start : start + _ENTRIES]
        lines += [f"{len(section)} beginbfchar", *section, "endbfchar"]
    lines += ["endcmap", "CMapName currentdict /CMap defineresource pop", "end", "end"]
    return "\n".join(lines).encode("ascii")
