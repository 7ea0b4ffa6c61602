"""What may be chosen for a document: paper, contents, page numbers, header, author; and colours of code."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader
from pypdf.generic import Destination

from tests.panel import squeezed
from tests.pdf_reading import texts
from tools.helper.pdf import look
from tools.helper.pdf.blocks import Heading, Span
from tools.helper.pdf.contents import name_headings
from tools.helper.pdf.highlight import coloured
from tools.helper.pdf.render import RenderedPdf, render_pdf

WORDS = "Some words of a report that goes on for a while. " * 12
REPORT = "".join(
    f"## Chapter {number}\n\n{WORDS}\n\n### Part {number}\n\n{WORDS}\n\n" for number in range(1, 8)
)


def reader(pdf: RenderedPdf) -> PdfReader:
    return PdfReader(io.BytesIO(pdf.bytes), strict=True)


def outline(pdf: RenderedPdf) -> list[tuple[str, int]]:
    """The titles in the outline, each with its page from 1."""
    opened, found = reader(pdf), []
    entries = list(opened.outline)
    while entries:
        entry = entries.pop(0)
        if isinstance(entry, list):
            entries[:0] = entry
        else:
            assert isinstance(entry, Destination)
            page = opened.get_destination_page_number(entry)
            found.append((str(entry.title), 1 + (-1 if page is None else page)))
    return found


def test_a_document_of_many_sections_has_an_outline_and_a_table_of_contents() -> None:
    pdf = render_pdf("A report", REPORT)
    titles = outline(pdf)
    assert [title for title, _ in titles] == [
        f"{kind} {n}" for n in range(1, 8) for kind in ("Chapter", "Part")
    ]
    opened = reader(pdf)
    for title, page in titles:
        assert title in opened.pages[page - 1].extract_text()
    lines = [squeezed(line) for line in opened.pages[0].extract_text().split("\n")]
    for title, page in titles:
        assert f"{title} {page}" in lines
    internal = [link for link in opened.pages[0]["/Annots"] if "/A" not in link.get_object()]
    assert len(internal) == 14
    without = render_pdf("A report", REPORT, toc=False)
    assert outline(without) and without.pages < pdf.pages
    assert outline(render_pdf("Short", "## One\n\n## Two\n\n## Three\n\n## Four")) == []


@pytest.mark.parametrize(("paper", "size"), [("a4", (595.28, 841.89)), ("letter", (612, 792))])
def test_the_paper_is_of_the_wished_size_and_nothing_leaves_it(paper: str, size: tuple[float, float]) -> None:
    pdf = render_pdf(
        "Paper", f"{REPORT}\n\n> {WORDS}\n\n```\n{WORDS}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |", paper=paper
    )
    for page in reader(pdf).pages:
        assert (float(page.mediabox.width), float(page.mediabox.height)) == pytest.approx(size)
        spots: list[tuple[float, float]] = []

        def visit(text: str, _: object, matrix: list[float], *others: object, spots=spots) -> None:  # type: ignore[no-untyped-def]
            if text.strip():
                spots.append((matrix[4], matrix[5]))

        page.extract_text(visitor_text=visit)
        assert all(look.MARGIN - 12 <= x <= size[0] - look.MARGIN and 20 < y < size[1] for x, y in spots)


def test_page_numbers_and_header_are_a_choice() -> None:
    pages = reader(render_pdf("My title", REPORT, header=True)).pages
    assert "My title" in pages[1].extract_text() and f"2 / {len(pages)}" in pages[1].extract_text()
    assert pages[0].extract_text().count("My title") == 1
    plain = reader(render_pdf("My title", REPORT, page_numbers=False)).pages
    assert not any(" / " in page.extract_text() for page in plain)
    assert "My title" not in plain[1].extract_text()


def test_the_author_stands_below_the_title_and_in_the_file() -> None:
    pdf = render_pdf("A title", "Text.", author="Zoë  Ōta")
    metadata = reader(pdf).metadata
    assert metadata is not None and metadata.author == "Zoë Ōta"
    for text in texts(pdf):
        assert "Zoë Ōta · 20" in squeezed(text)


def test_equal_headings_have_names_of_their_own() -> None:
    headings = [Heading(2, (Span(text),)) for text in ("What's new?", "What's new?", "Été 日本", "")]
    name_headings(headings)
    assert [heading.anchor for heading in headings] == ["whats-new", "whats-new-1", "été-日本", ""]


@pytest.mark.parametrize(
    ("language", "code", "kinds"),
    [
        (
            "python",
            'def f():  # why\n    return "x" + 42',
            {"Keyword", "Comment", "Literal.String", "Literal.Number"},
        ),
        ("json", '{"a": null}', {"Name.Tag", "Keyword.Constant"}),
        ("diff", "- old\n+ new", {"Generic.Deleted", "Generic.Inserted"}),
        ("nosuch", "def f(): 42", set()),
        ("", "def f(): 42", set()),
    ],
)
def test_code_is_coloured_where_its_language_is_named(language: str, code: str, kinds: set[str]) -> None:
    inks = {ink for line in coloured(code, language) for ink, text in line if text.strip()}
    assert {look.CODE_INKS[kind] for kind in kinds} <= inks
    assert bool(kinds) or inks == {look.INK}


@given(st.sampled_from(["python", "json", "html", "bash", "c", "diff", "x"]), st.text(max_size=200))
def test_colours_lose_no_character_of_the_code(language: str, code: str) -> None:
    lines = ["".join(text for _, text in line) for line in coloured(code, language)]
    assert lines == code.split("\n")


def test_long_coloured_lines_are_wrapped_and_whole() -> None:
    line = "value = " + " + ".join(f'"text {number}"' for number in range(60))
    for text in texts(render_pdf("Code", f"```python\n{line}\n```")):
        assert squeezed(line).replace(" ", "") in text.replace("\n", "").replace(" ", "")
