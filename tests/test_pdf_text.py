"""The text of PDFs: odd ones of other people, and ones that are made here to be difficult."""

import io
import time
from pathlib import Path

import pytest
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from tests.panel import ROOT
from tools.failure import Failure
from tools.helper.pdf.render import render_pdf
from tools.helper.pdf_repair import repaired
from tools.helper.pdf_text import PdfPages, read_pdf

ODD = ROOT.parent / "shared" / "cases" / "pdfs"
"""PDFs from the resources of pypdf (BSD-3-Clause), which are not part of this project."""

PASSWORD = "pdf encryption test"
SCAN = "no_text_layer"

EXPECTED = {
    "AutoCad_Diagram.pdf": "Strip the cable",
    "FormTestFromOo.pdf": "Text1 (single line)",
    "SF424_page2.pdf": "MBL-SF424Family-AllForms",
    "Seige_of_Vicksburg_Sample_OCR-crazyones-merged.pdf": "THE SIEGE OF VICKSBURG",
    "attachment.pdf": "The Crazy Ones",
    "bytes.pdf": "This is a test for a PDF with bytes title",
    "commented.pdf": "The Crazy Ones",
    "crazyones.pdf": "The ones who see things differently.",
    "encrypted_doc_no_id.pdf": "",
    "example.pdf": "Beautiful is better than ugly.",
    "form_acrobatReader.pdf": "Bar",
    "git.pdf": SCAN,
    "imagemagick-ASCII85Decode.pdf": SCAN,
    "imagemagick-images.pdf": SCAN,
    "indirect-rotation.pdf": "International Council of Containership Operators",
    "issue-297.pdf": "test example",
    "issue-3850-1bit-indexed-flate.pdf": SCAN,
    "jpeg.pdf": "A PDF with a JPEG image.",
    "libreoffice-form.pdf": "Alice",
    "metadata.pdf": "Whatever",
    "multilang.pdf": "مرحبا بالعالم",
    "outlines-with-invalid-destinations.pdf": "Hello, here is some text without a meaning.",
    "pdflatex-outline.pdf": "Hello, here is some text without a meaning.",
    "r2-owner-password.pdf": PASSWORD,
    "r3-empty-password.pdf": PASSWORD,
    "r4-aes-user-password.pdf": "password_needed",
    "r4-owner-password.pdf": PASSWORD,
    "r5-empty-password.pdf": PASSWORD,
    "r5-user-password.pdf": PASSWORD,
    "r6-empty-password.pdf": PASSWORD,
    "r6-user-password.pdf": PASSWORD,
    "selenium-pypdf-issue-177.pdf": "Fichier : Document 1 sans titre",
    "test Orient.pdf": "This is box text",
    "two-different-pages.pdf": "2",
}
"""For each: a text that stands in it, or the reason why there is none."""


@pytest.mark.skipif(not ODD.is_dir(), reason="these PDFs are other people's and not part of the project")
@pytest.mark.parametrize("name", EXPECTED)
def test_odd_pdfs(name: str) -> None:
    expected, began = EXPECTED[name], time.monotonic()
    if expected == "password_needed":
        assert failure(data_of(name)).kind == expected
    else:
        read = read_pdf(data_of(name))
        assert len(read.pages) == read.count
        if expected == SCAN:
            assert {page.state for page in read.pages} == {SCAN}
        else:
            assert expected in unbroken(text_of(read))
            assert "damaged" not in {page.state for page in read.pages}
    assert time.monotonic() - began < 30


@pytest.mark.skipif(not ODD.is_dir(), reason="these PDFs are other people's and not part of the project")
def test_every_odd_pdf_is_expected() -> None:
    assert sorted(path.name for path in ODD.glob("*.pdf")) == sorted(EXPECTED)


def data_of(name: str) -> bytes:
    return (ODD / name).read_bytes()


def text_of(read: PdfPages) -> str:
    return "\n".join(page.text for page in read.pages)


def unbroken(text: str) -> str:
    """The text without its line ends."""
    return " ".join(text.split())


def failure(data: bytes) -> Failure:
    with pytest.raises(Failure) as raised:
        read_pdf(data)
    return raised.value


def pdf(*pages: str, size: int = 11) -> bytes:
    made = FPDF()
    made.set_font("Helvetica", size=size)
    for text in pages:
        made.add_page()
        made.multi_cell(0, 6, text)
    return bytes(made.output())


def test_pages_are_numbered_and_counted() -> None:
    read = read_pdf(pdf("One.", "Two.", "Three."))
    assert [(page.number, page.text) for page in read.pages] == [(1, "One."), (2, "Two."), (3, "Three.")]
    assert read.count == 3


def test_parts_are_the_whole() -> None:
    data = pdf(*(f"Page {number} begins.\n" + "Some words follow it. " * 30 for number in range(1, 121)))
    whole = read_pdf(data, 0, 1000).pages
    assert len(whole) == 120
    parts = [page for first in range(0, 120, 25) for page in read_pdf(data, first, 25).pages]
    assert tuple(parts) == whole
    assert read_pdf(data, 120, 25).pages == ()
    assert read_pdf(data, 96, 1).pages[0].text.startswith("Page 97 begins.")


def test_title_of_the_document_but_not_of_its_program() -> None:
    for given_title, title in (("My report", "My report"), ("Untitled", ""), ("report_final.docx", "")):
        writer = PdfWriter(clone_from=io.BytesIO(pdf("Text.")))
        writer.add_metadata({"/Title": given_title})
        assert read_pdf(written(writer)).title == title


def written(writer: PdfWriter) -> bytes:
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_passwords(algorithm: str) -> None:
    for user, owner, readable in (("", "secret", True), ("secret", "other", False), ("", "", True)):
        writer = PdfWriter(clone_from=io.BytesIO(pdf("Behind a lock.")))
        writer.encrypt(user, owner or None, algorithm=algorithm)
        if readable:
            assert text_of(read_pdf(written(writer))) == "Behind a lock."
        else:
            assert failure(written(writer)).kind == "password_needed"


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"%PDF-1.7\n%%EOF", b"<html>", bytes(5000)])
def test_what_is_no_pdf(data: bytes) -> None:
    assert failure(data).kind == "pdf_broken"


def test_a_pdf_that_was_cut_is_read_or_told() -> None:
    data = pdf(*(f"Page {number}. " + "word " * 300 for number in range(20)))
    for part in (3, 2, 1.2):
        try:
            read = read_pdf(data[: int(len(data) / part)])
        except Failure as failed:
            assert failed.kind == "pdf_broken"
        else:
            assert read.pages


def test_a_damaged_page_is_passed_over() -> None:
    reader = PdfReader(io.BytesIO(pdf("First page.", "Second page.", "Third page.")))
    writer = PdfWriter(clone_from=reader)
    del writer.pages[1]["/Contents"]
    second = writer.pages[1].indirect_reference
    data = written(writer)
    at = data.index(b"%d 0 obj" % second.idnum)
    data = data[:at] + data[at:].replace(b"/Type /Page\n", b"/Type /Pxge\n", 1)
    read = read_pdf(data)
    assert read.pages[0].text == "First page." and read.pages[-1].text == "Third page."


def test_a_scan_has_no_text_layer(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("L", (200, 200), 128).save(tmp_path / "scan.png")
    made = FPDF()
    made.set_font("Helvetica", size=11)
    made.add_page()
    made.image(tmp_path / "scan.png", w=150)
    made.add_page()
    made.multi_cell(0, 6, "A page with text beside its image, which is more than a stamp.")
    made.image(tmp_path / "scan.png", w=50)
    made.add_page()
    read = read_pdf(bytes(made.output()))
    assert [page.state for page in read.pages] == [SCAN, "text", "text"]
    assert read.pages[2].text == ""


def test_two_columns_written_across_are_read_one_after_the_other() -> None:
    made = FPDF()
    made.set_font("Helvetica", size=10)
    made.add_page()
    made.cell(0, 10, "A title that stands across both of the columns, and is long enough to cross them.")
    made.ln(12)
    for line in range(40):
        at = made.get_y()
        made.set_xy(10, at)
        made.cell(90, 5, f"Left line {line} tells something")
        made.set_xy(110, at)
        made.cell(90, 5, f"Right line {line} tells another thing")
        made.ln(5)
    lines = text_of(read_pdf(bytes(made.output()))).splitlines()
    assert lines[0].startswith("A title")
    assert lines[1:41] == [f"Left line {line} tells something" for line in range(40)]
    assert lines[41:] == [f"Right line {line} tells another thing" for line in range(40)]


def test_a_table_is_not_taken_for_columns() -> None:
    made = FPDF()
    made.set_font("Helvetica", size=10)
    made.add_page()
    for line in range(30):
        for cell in range(4):
            made.cell(45, 6, f"r{line}c{cell}")
        made.ln(6)
    text = text_of(read_pdf(bytes(made.output())))
    assert " ".join(text.split()).startswith("r0c0 r0c1 r0c2 r0c3 r1c0")


@pytest.mark.parametrize(
    ("language", "text"),
    [("ja", "吾輩は猫である。名前はまだ無い。"), ("el", "Καλημέρα κόσμε"), ("ru", "Привет, мир")],
)
def test_what_the_panel_writes_it_can_read(language: str, text: str) -> None:
    made = render_pdf("Essay", f"## Part\n\n{text}\n", language=language).bytes
    assert text in text_of(read_pdf(made)).replace("\n", "")


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("the \ufb01rst \ufb02oor, \ufb00 \ufb03 \ufb04", "the first floor, ff ffi ffl"),
        ("an ex-\nample of it", "an example of it"),
        ("a well-\nknown one, a well-known one", "a well-known one, a well-known one"),
        ("by Jean-\nPaul and in 1990-\n2000", "by Jean-Paul and in 1990-\n2000"),
        ("an ex\x02\nample", "an example"),
        ("soft\u00ad\nhyphen", "softhyphen"),
        ("a\x00b\ud800c", "abc"),
        ("\uf0b7 first\r\n\uf0b7 second", "• first\n• second"),
        ("end of line   \nnext", "end of line\nnext"),
        ("a\n\n\n\n\nb", "a\n\nb"),
    ],
)
def test_repair(printed: str, meant: str) -> None:
    assert repaired(printed) == meant


@given(st.text(max_size=300))
def test_repair_loses_no_letter_and_is_done_once(text: str) -> None:
    once = repaired(text)
    letters = [sign for sign in text if sign.isascii() and sign.isalnum()]
    assert [sign for sign in once if sign.isascii() and sign.isalnum()][: len(letters)] == letters or any(
        "\ufb00" <= sign <= "\ufb06" for sign in text
    )
    assert repaired(once) == once


@pytest.mark.long
def test_mutated_pdfs_end_in_text_or_a_failure() -> None:
    """Any byte may be wrong: nothing else than a Failure is raised, and nothing hangs."""
    import random

    chance = random.Random(7)
    data = pdf(*(f"Page {number}. " + "word " * 100 for number in range(5)))
    for _ in range(300):
        bad = bytearray(data)
        for _ in range(chance.randint(1, 40)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        try:
            read_pdf(bytes(bad))
        except Failure as failed:
            assert failed.kind in ("pdf_broken", "password_needed")
