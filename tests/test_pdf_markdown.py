"""What Markdown means, as the PDF maker reads it: raw HTML, footnotes, definition lists, wrapped sources."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.panel import squeezed
from tests.pdf_reading import links_of, texts
from tools.helper.pdf.blocks import (
    Block,
    Code,
    Definition,
    Heading,
    ItemList,
    Paragraph,
    Quote,
    Rule,
    Table,
    plain_text,
)
from tools.helper.pdf.html_blocks import html_blocks
from tools.helper.pdf.parse import parse
from tools.helper.pdf.render import render_pdf


def blocks(markdown: str) -> list[Block]:
    found, notes = parse(markdown)
    assert notes == []
    return found


def test_the_head_of_a_readme_is_drawn_and_not_spelled_out() -> None:
    heading, paragraph = blocks(
        '<div align="center">\n  <h1>My <em>Project</em></h1>\n  <p><a href="https://a.example/x">'
        '<img src="https://a.example/b.svg" alt="build passing"></a> and <b>bold</b></p>\n</div>'
    )
    assert isinstance(heading, Heading) and heading.level == 1
    assert [(span.text, span.italic) for span in heading.spans] == [("My ", False), ("Project", True)]
    assert isinstance(paragraph, Paragraph)
    badge, between, bold = paragraph.spans
    assert (badge.text, badge.link) == ("[build passing]", "https://a.example/x")
    assert (between.text, bold.text, bold.bold) == (" and ", "bold", True)


def test_tables_lists_and_code_in_html() -> None:
    table, items, code, quote, rule = blocks(
        "<table>\n<tr><th>Name</th><th>Value</th></tr>\n<tr><td>alpha<br>beta</td>"
        "<td><ul><li>x</li><li>y</li></ul></td></tr>\n<tr><td>outer</td><td><table><tr><td>inner</td></tr>"
        "</table></td></tr>\n</table>\n\n"
        '<ul><li>first</li><li>second<ol start="3"><li>inner three</li></ol></li></ul>\n\n'
        "<pre>\ndef f():\n    return 1\n</pre>\n\n<blockquote>quoted</blockquote>\n\n<hr>"
    )
    assert isinstance(table, Table)
    assert plain_text(table) == "Name | Value\nalpha\nbeta | • x\n• y\nouter | inner"
    assert len(table.header) == 1
    assert isinstance(items, ItemList) and items.start is None
    inner = items.items[1].blocks[1]
    assert isinstance(inner, ItemList) and (inner.start, plain_text(inner)) == (3, "inner three")
    assert isinstance(code, Code) and code.text == "def f():\n    return 1"
    assert isinstance(quote, Quote) and isinstance(rule, Rule)


def test_markdown_between_the_tags_of_details_is_markdown() -> None:
    summary, text, items = blocks(
        "<details>\n<summary>More</summary>\n\nHidden *text*:\n\n- one\n\n</details>"
    )
    assert isinstance(summary, Paragraph) and summary.spans[0].bold and plain_text(summary) == "More"
    assert plain_text(text) == "Hidden text:"
    assert isinstance(items, ItemList)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("Press <kbd>Ctrl</kbd>+<kbd>C</kbd>", "Press Ctrl+C"),
        ("x<sup>2</sup> and H<sub>2</sub>O", "x2 and H2O"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("List<String> and <unknown a='b'>tag</unknown>", "List<String> and <unknown a='b'>tag</unknown>"),
        ("a < b and R&D, 5 &lt; 6", "a < b and R&D, 5 < 6"),
        ("seen <!-- unseen --> seen", "seen  seen"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("<!-- never closed\n\nand more", "<!-- never closed\n\nand more"),
        ("</div>", ""),
        ("<p>unclosed <b>bold", "unclosed bold"),
        ("<td>a cell without a table</td>", "a cell without a table"),
        ('<a href="javascript:alert(1)">click</a>', "click"),
    ],
)
def test_html_in_a_line(markdown: str, shown: str) -> None:
    found = blocks(markdown)
    assert "\n".join(map(plain_text, found)) == shown
    assert not any(span.link for block in found if isinstance(block, Paragraph) for span in block.spans)


def test_small_text_above_and_below_the_line() -> None:
    (paragraph,) = blocks("x<sup>2</sup>, H<sub>2</sub>O")
    assert isinstance(paragraph, Paragraph)
    assert [span.shift for span in paragraph.spans] == [0, 1, 0, -1, 0]


TAGS = [
    f"<{tag}>"
    for name in ("b", "p", "li", "ul", "ol", "table", "tr", "td", "th", "h2", "pre", "blockquote", "dt", "a")
    for tag in (name, f"/{name}")
] + ["<br>", "<details>", "<summary>", "</summary>", "<x-y>", "<hr>"]


@given(st.lists(st.sampled_from(TAGS) | st.from_regex(r"w[0-9]{3} ", fullmatch=True), max_size=40))
def test_no_heap_of_tags_loses_a_word(pieces: list[str]) -> None:
    shown = "\n".join(map(plain_text, html_blocks("".join(pieces))))
    assert sorted(re.findall(r"w\d{3}", shown)) == sorted(re.findall(r"w\d{3}", "".join(pieces)))


def test_footnotes_stand_at_the_end_and_are_linked() -> None:
    source = "Said so[^a], and so[^b].\n\n[^a]: The *first* source.\n[^b]: https://b.example/\n\nThe end."
    paragraph, end, rule, notes = blocks(source)
    assert isinstance(paragraph, Paragraph)
    marks = [(span.text, span.shift, span.link) for span in paragraph.spans if span.shift]
    assert marks == [("1", 1, "#footnote-1"), ("2", 1, "#footnote-2")]
    assert plain_text(end) == "The end."
    assert isinstance(rule, Rule) and isinstance(notes, ItemList)
    assert plain_text(notes) == "The first source.\nhttps://b.example/"
    pdf = render_pdf("Notes", source)
    assert all("The first source." in squeezed(text) for text in texts(pdf))
    assert len([target for target in links_of(pdf) if not str(target).startswith("http")]) == 2


def test_a_definition_list() -> None:
    one, two = blocks("Term\n: Its meaning\n: Another\n\nSecond\n: Meaning\n\n    - with a list\n")
    assert isinstance(one, Definition) and isinstance(two, Definition)
    assert (plain_text(one), len(one.meanings)) == ("Term\nIts meaning\nAnother", 2)
    assert isinstance(two.meanings[0][1], ItemList)
    for text in texts(render_pdf("Terms", "Term\n: Its meaning")):
        assert "Term Its meaning" in squeezed(text)


WRAPPED = """This is a paragraph that somebody wrapped at eighty columns in his editor, as
people do, and that has to be shown as one paragraph whose lines are as long as
the page allows."""


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (WRAPPED, 1),
        (WRAPPED.replace("\n", "  \n"), 3),
        ("Roses are red,\nviolets are blue,\nsugar is sweet.", 3),
        ("Name: Ada Lovelace, of London in the county of Middlesex\nBorn: 1815\nWork: notes", 3),
        ("Dear all, here is what we have planned for the day:\nMorning: a walk", 2),
        ("これは長い文章で、編集者が四十文字のところで改行したものなので、そのまま\n表示されるべきです。", 2),
    ],
)
def test_line_ends_count_but_in_a_source_that_was_wrapped(source: str, lines: int) -> None:
    assert len(plain_text(blocks(source)[0]).split("\n")) == lines
