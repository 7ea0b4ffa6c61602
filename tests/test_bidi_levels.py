"""Our bidirectional algorithm against fpdf2's, which is slow but passes the standard's own tests."""

from fpdf.bidi import BidiParagraph
from fpdf.enums import TextDirection
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.helper.pdf.bidi_levels import levels

TEXTS = st.text(alphabet="abאבابت12٣٤+-,.:%$€ ()[]{}〈〉!?\u0301\u064b\u200f\u200e", max_size=24)


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.booleans())
def test_levels_are_those_of_the_standard(text, rtl):
    direction = TextDirection.RTL if rtl else TextDirection.LTR
    expected = [
        char.embedding_level for char in BidiParagraph(text=text, base_direction=direction).characters
    ]
    assert levels(text, rtl) == expected


def test_each_line_is_a_paragraph_of_its_own():
    assert levels("אב (1\nab) ג", False) == [*levels("אב (1", False), 0, *levels("ab) ג", False)]
    assert levels("\n", True) == [1]


def test_many_open_brackets_pair_with_nothing():
    text = "א" + "(" * 70 + "a" + ")" * 70
    assert levels(text, True)[1] == 1 and levels(text, True)[71] == 2 and levels(text, True)[-1] == 1
