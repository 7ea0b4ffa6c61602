"""What the renderer takes from fpdf2 without a promise: when one of these fails, tools/helper/pdf/embed.py
has to be read again before the pinned version is changed."""

import inspect
from importlib.metadata import version
from pathlib import Path

import pytest
from fpdf import FPDF
from fpdf.fonts import PDFFontDescriptor
from fpdf.output import CIDSystemInfo, OutputProducer, PDFFont, PDFFontStream
from fpdf.syntax import Name, PDFArray, PDFContentStream

ROOT = Path(__file__).parent.parent


def test_the_pinned_version_is_the_one_that_runs():
    assert (
        f"fpdf2=={version('fpdf2')}" in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    )


def test_the_output_calls_the_hook_for_fonts_once_and_names_them_by_its_keys():
    calls = []

    class Producer(OutputProducer):
        def _add_fonts(self, *resources):
            calls.append(resources)
            objects = super()._add_fonts(*resources)
            font = PDFFont(subtype="Type0", base_font="ABCDEF+Test", encoding="Identity-H")
            self._add_pdf_obj(font, "fonts")
            return objects | {7: font}

    pdf = FPDF(unit="pt", format=(100, 100))
    pdf.single_resources_object = True
    pdf.add_page()
    pdf.pages[1].contents.extend(b"BT /F7 1 Tf ET")
    content = bytes(pdf.output(output_producer_class=lambda document: Producer(document)))
    assert len(calls) == 1 and len(calls[0]) == 3
    assert b"/F7 " in content and b"/BaseFont /ABCDEF+Test" in content


def test_pages_take_raw_operators():
    pdf = FPDF(unit="pt", format=(100, 100))
    pdf.set_compression(False)
    pdf.add_page()
    assert isinstance(pdf.pages[1].contents, bytearray)
    pdf.pages[1].contents.extend(b"0 0 10 10 re f")
    assert b"0 0 10 10 re f" in bytes(pdf.output())


@pytest.mark.parametrize(
    ("member", "parameters"),
    [
        (PDFFont.__init__, ["subtype", "base_font", "encoding", "d_w", "w"]),
        (OutputProducer._add_pdf_obj, ["pdf_obj", "trace_label"]),
        (
            PDFFontDescriptor.__init__,
            [
                "ascent",
                "descent",
                "cap_height",
                "flags",
                "font_b_box",
                "italic_angle",
                "stem_v",
                "missing_width",
            ],
        ),
        (PDFFontStream.__init__, ["contents"]),
        (PDFContentStream.__init__, ["contents", "compress"]),
    ],
)
def test_the_objects_of_a_font_are_made_as_we_make_them(member, parameters):
    assert list(inspect.signature(member).parameters)[1:] == parameters


def test_objects_write_the_fields_that_we_set():
    font = PDFFont(subtype="CIDFontType0", base_font="X", d_w=1000, w="[1 [500]]")
    font.id = 1
    info = CIDSystemInfo()
    info.id = 2
    font.c_i_d_system_info = info
    font.descendant_fonts = PDFArray([info])
    written = font.serialize()
    for field in (
        "/CIDSystemInfo 2 0 R",
        "/DescendantFonts [2 0 R]",
        "/DW 1000",
        "/W [1 [500]]",
        "/Subtype /CIDFontType0",
    ):
        assert field in written
    stream = PDFFontStream(b"data")
    stream.id = 3
    stream.subtype = Name("CIDFontType0C")
    assert "/Subtype /CIDFontType0C" in stream.serialize() and "/Length1 4" in stream.serialize()
