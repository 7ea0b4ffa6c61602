"""Where things stand on the pages: inside the margins, and together with what they belong to."""

import io
import re

import pytest
from pypdf import PdfReader

from tests.pdf_reading import (
    assert_within_margins,
    baseline_of,
    characters,
    squeezed,
    texts,
)
from tools.helper.pdf.render import render_pdf


def test_code_lines_that_are_too_long_are_wrapped_whole():
    line = "curl " + " ".join(f"--option-{number}=value" for number in range(40))
    pdf = render_pdf("T", f"```bash\n{line}\n```\n\n```\n{'x' * 700}é\n```")
    assert_within_margins(pdf)
    for text in texts(pdf):
        assert squeezed(line) in squeezed(text)
        assert "x" * 700 + "é" in squeezed(text)


def test_code_keeps_its_spaces():
    places = {char: left for _, char, left, _, _, _ in characters(render_pdf("", "```\nia\n    z\n\tw\n```"))}
    width = places["a"] - places["i"]
    assert places["z"] - places["i"] == pytest.approx(4 * width, abs=2)
    assert places["w"] - places["i"] == pytest.approx(4 * width, abs=2)


WIDE = {
    "long words": "x" * 300 + " " + "https://example.org/" + "path/" * 80,
    "word in a cell": f"| a | b |\n|---|---|\n| {'y' * 300} | z |",
    "twelve columns": "\n".join(
        ["|" + "|".join(f"Column {n} header" for n in range(12)) + "|", "|---" * 12 + "|"]
        + ["|" + "|".join(f"value {n * row} words" for n in range(12)) + "|" for row in range(30)]
    ),
    "sixty columns": "\n".join(
        [
            "|" + "|".join(f"C{n}" for n in range(60)) + "|",
            "|---" * 60 + "|",
            "|" + "|".join(f"{n}" for n in range(60)) + "|",
        ]
    ),
    "deep quotes": "> " * 200 + "deep",
    "deep lists": "".join("  " * depth + f"- level {depth}\n" for depth in range(120)),
    "list of all": "- a\n  > q\n  > - b\n  >   ```\n  >   code\n  >   ```\n"
    "  >   | x | y |\n  >   |---|---|\n  >   | 1 | 2 |\n",
    "long heading": "# " + "long heading word " * 60,
    "emoji": "😀" * 900,
    "ideographs in code": "```\n" + "日本語" * 200 + "\n```",
}


@pytest.mark.parametrize("case", WIDE)
def test_nothing_is_drawn_outside_the_margins(case):
    pdf = render_pdf("Title", WIDE[case])
    assert_within_margins(pdf)
    assert not [note for note in pdf.notes if note.kind == "plain_block"]


def test_all_cells_of_wide_tables_are_there():
    for text in texts(render_pdf("T", WIDE["sixty columns"])):
        assert {f"C{n}" for n in range(60)} <= set(text.split())
    for text in texts(render_pdf("T", WIDE["word in a cell"])):
        assert "y" * 300 in squeezed(text)


def test_a_header_stands_on_each_page_of_its_table():
    rows = "".join(f"| row{n} | {n} |\n" for n in range(200))
    pdf = render_pdf("T", f"| Zähler | Wert |\n|---|--:|\n{rows}")
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(pdf.bytes)).pages]
    assert len(pages) > 3
    assert all("Zähler" in page for page in pages)
    shown = re.findall(r"row\d+", " ".join(pages))
    assert shown == [f"row{n}" for n in range(200)]


def test_a_row_longer_than_a_page_is_parted():
    words = [f"w{n}" for n in range(3000)]
    pdf = render_pdf("T", f"| a | b |\n|---|---|\n| {' '.join(words)} | short |\n| last | row |")
    assert pdf.pages > 3
    assert_within_margins(pdf)
    assert re.findall(r"w\d+", texts(pdf)[0]) == words


@pytest.mark.parametrize(
    "follower", ["{}", "```\n{}\n{}\n{}\n```", "| {} |\n|---|\n| x |", "- {}", "> {}", "### {}\n\n{}"]
)
def test_a_heading_is_never_left_alone_at_the_foot_of_a_page(follower):
    moved = 0
    for lines in range(26, 36):
        before = "\n".join("filler" for _ in range(lines))
        pdf = render_pdf("", f"{before}\n\n## Ω\n\n{follower.replace('{}', 'Ψ text')}")
        heading, after = baseline_of(pdf, "Ω")[0], baseline_of(pdf, "Ψ")[0]
        assert heading == after, f"after {lines} lines"
        moved += heading == 1
    assert 0 < moved < 10  # the cases do lie around the end of the page


def test_the_header_of_a_table_is_never_left_alone():
    for lines in range(26, 38):
        before = "\n".join("filler" for _ in range(lines))
        pdf = render_pdf("", f"{before}\n\n| Ω |\n|---|\n| Ψ<br>b<br>c<br>d |\n| e |")
        assert baseline_of(pdf, "Ω")[0] == baseline_of(pdf, "Ψ")[0], f"after {lines} lines"


def test_headings_at_the_very_end_stay_on_the_page():
    for lines in range(30, 38):
        before = "\n".join("filler" for _ in range(lines))
        assert_within_margins(render_pdf("", f"{before}\n\n## One\n\n### Two"))


def test_no_line_of_a_paragraph_stands_alone():
    for filler in range(28, 36):
        before = "\n".join("filler" for _ in range(filler))
        pdf = render_pdf("", f"{before}\n\n" + "\n".join(f"§{n}" for n in range(6)))
        pages = [page.extract_text().count("§") for page in PdfReader(io.BytesIO(pdf.bytes)).pages]
        assert 1 not in pages
