"""No text makes a document fail, take for ever, or lose its words."""

import re
import string
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pdf_reading import assert_within_margins, squeezed, texts
from tools.helper.pdf import look
from tools.helper.pdf.render import render_pdf

HOSTILE = {
    "nothing": "",
    "spaces": " \n \n",
    "NUL": "a\0b **c\0d**\n\n```\n\0\n```",
    "controls": "".join(map(chr, range(32))) + "x\x7f\x80\x9f",
    "surrogates": "bad \ud83d lone \udc00 and a pair \ud83d\ude00",
    "bidi controls": "abc \u202e evil \u202c def \u2066x\u2069 \u200f \u200e",
    "joiners alone": "\u200d\u200d\u200b \u2060 \ufeff a\u00adb \ufe0f `\u200d` **\u200c**",
    "unclosed fence": "text\n\n```python\nprint(1)\n" + "line\n" * 100,
    "unclosed marks": "**bold *it `code [link](http://x ![i](",
    "html": '<div align="center"><h1>Hi <b>x</b></h1>\n<script>alert(1)</script>\n<!-- never closed',
    "mathematics": "Inline $\\frac{a_1}{b_2}$ and\n\n$$\n\\sum_i i\n$$\n\nit costs $5 or $6",
    "ragged table": "| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |\n||\n\n| x |\n|--|",
    "empty table": "|  |  |\n|--|--|\n|  |  |",
    "empty items": "- \n-\n1.\n   - \n",
    "empty headings": "#\n##\n###### \n# ",
    "empty code": "```\n```\n\n    \n\n    indented\n",
    "entities": "&amp; &copy; &#0; &#x1F600; &bogus; &lt;b&gt; R&D a < b",
    "marks without a letter": "\u0301\u0301 e" + "\u0301" * 500,
    "numbers of lists": "999999999. x\n1000000000. y\n",
    "line separators": "a\u2028b\u2029c\x0bd\x0ce\x85f",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_no_text_makes_it_fail(case):
    pdf = render_pdf(
        HOSTILE[case][:60], HOSTILE[case], language="en", sources=[(HOSTILE[case], HOSTILE[case])]
    )
    texts(pdf)
    assert_within_margins(pdf)
    assert not [note for note in pdf.notes if note.kind == "plain_block"]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        (HOSTILE["NUL"], "a�bc�d"),
        (HOSTILE["surrogates"], "bad�lone�andapair😀"),
        (HOSTILE["bidi controls"], "abcevildefx"),
        (HOSTILE["html"], "<h1>Hi<b>x</b></h1>"),
        (HOSTILE["entities"], "<b>R&Da<b"),
        (HOSTILE["unclosed marks"], "**bold*it`code[link](http://x"),
        ("> " * 100 + "deep down", "deepdown"),
        ("![" * 3000 + " end", "end"),
    ],
)
def test_what_is_no_mark_is_shown_as_it_is_written(markdown, expected):
    for text in texts(render_pdf("T", markdown)):
        assert expected in squeezed(text)


SLOW = {
    "brackets": "![" * 60_000,
    "stars": "*a **a " * 20_000,
    "brackets in many paragraphs": ("[" * 19 + "a\n\n") * 5_000,
    "one word": "x" * 500_000,
    "one line of code": "```\n" + "x" * 500_000 + "\n```",
    "neutral signs between letters of Hebrew": "א" + "!(" * 30_000,
    "bare addresses": "https://a." * 20_000,
    "an endless address": "https://a.example/" + "b" * 200_000,
    "equal headings": "# same\n\n" * 3_000,
    "rows": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3_000,
    "quotes in quotes": ("> " * 100 + "x\n") * 300,
    "marks on one letter": "e" + "\u0301" * 50_000,
}


@pytest.mark.parametrize("case", SLOW)
def test_hostile_texts_take_no_longer_than_long_ones(case):
    """Each took minutes with a quadratic step somewhere; now all are done in about a second."""
    start = time.process_time()
    render_pdf("T", SLOW[case])
    assert time.process_time() - start < 20


def test_a_block_that_can_not_be_drawn_is_plain_text_and_the_others_stay(caplog):
    from tools.helper.pdf.blocks import Heading, Paragraph, Quote, Span
    from tools.helper.pdf.flow import Flow
    from tools.helper.pdf.layout import Layout
    from tools.helper.pdf.pages import Pages
    from tools.helper.pdf.typeset import Typesetter

    pages = Pages()
    flow = Flow(pages)
    layout = Layout(flow, Typesetter())
    broken = Heading(9, (Span("no such level"),))
    layout.draw([Paragraph((Span("before"),)), Quote([broken]), Paragraph((Span("after"),))])
    assert [note.kind for note in layout.notes] == ["plain_block"]
    assert layout.notes[0].values["start"] == "no such level"
    drawn = [operator for operator in pages.pages[0].operators if operator.startswith("BT")]
    assert len(drawn) == 3
    assert flow.start == look.MARGIN
    assert "could not be drawn" in caplog.text


WORDS = st.text(alphabet=string.ascii_letters, min_size=1, max_size=12)
PROSE = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
BLOCKS = st.one_of(
    PROSE,
    PROSE.map("## {}".format),
    st.lists(PROSE, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(PROSE, min_size=1, max_size=4).map(
        lambda items: "\n".join(f"{n}. {x}" for n, x in enumerate(items, 1))
    ),
    PROSE.map("> {}".format),
    PROSE.map("```\n{}\n```".format),
    st.lists(st.tuples(PROSE, PROSE), min_size=1, max_size=4).map(
        lambda rows: "\n".join(f"| {a} | {b} |" for a, b in [("1", "2"), ("---", "---"), *rows])
    ),
    PROSE.map("**{}**".format),
    PROSE.map("[{}](https://example.org)".format),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(BLOCKS, max_size=12))
def test_all_words_of_any_document_are_there_in_order(blocks):
    markdown = "\n\n".join(blocks)
    pdf = render_pdf("", markdown)
    assert pdf.notes == ()
    expected = squeezed("".join(re.findall(r"[A-Za-z]+", markdown.replace("](https://example.org)", "]"))))
    for text in texts(pdf):
        assert "".join(re.findall(r"[A-Za-z]+", text)) == expected


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text(
        alphabet=st.one_of(st.sampled_from("*_`[]()<>#|-+!\\~$^:&\n\n  >.0x\t\"'"), st.characters()),
        max_size=300,
    )
)
def test_no_markdown_makes_it_fail(markdown):
    pdf = render_pdf(markdown[:20], markdown)
    assert not [note for note in pdf.notes if note.kind == "plain_block"]
    texts(pdf)
