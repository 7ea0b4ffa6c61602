"""The look of a document: every size and colour, in points (a CSS pixel is 0.75 of one)."""

from dataclasses import dataclass
from typing import NamedTuple

PX = 0.75


def _rgb(code: str) -> str:
    """A CSS colour as the operands of a PDF colour operator."""
    return " ".join(f"{int(code[at : at + 2], 16) / 255:.3f}" for at in (1, 3, 5))


class Paper(NamedTuple):
    """The size of a page."""

    width: float
    height: float


A4 = Paper(595.28, 841.89)
PAPERS = {"a4": A4, "letter": Paper(612.0, 792.0)}
MARGIN = 2 / 2.54 * 72

INK = _rgb("#222222")
LINK = _rgb("#1a5dc7")

BODY_SIZE = 12.0
LEADING = 1.6
"""Height of a line, as a multiple of the font size."""
PARAGRAPH_GAP = 12.0

CODE_SIZE = 0.85
"""Size of code in a line of text, as a multiple of the size around it."""
SHIFTED_SIZE = 0.7
SHIFTS = (0.0, 0.36, -0.16)
"""Size and place of text on, above and below (-1) the line, as multiples of the size around it."""

CODE_FILL = _rgb("#f4f4f4")
CODE_PAD_X, CODE_PAD_Y, CODE_RADIUS = 6 * PX, 2 * PX, 3 * PX

BLOCK_CODE_SIZE = 9.5
"""At this size eighty columns fit between the margins."""
BLOCK_CODE_LEADING = 1.45
BLOCK_CODE_PAD, BLOCK_CODE_RADIUS = BLOCK_CODE_SIZE, 4 * PX
CODE_INKS = {
    "Comment": _rgb("#5c6670"),
    "Keyword": _rgb("#7b2fa0"),
    "Keyword.Constant": _rgb("#a04000"),
    "Operator.Word": _rgb("#7b2fa0"),
    "Literal.String": _rgb("#0b6b3a"),
    "Literal.Number": _rgb("#a04000"),
    "Name.Function": _rgb("#1a5dc7"),
    "Name.Class": _rgb("#1a5dc7"),
    "Name.Decorator": _rgb("#7b2fa0"),
    "Name.Tag": _rgb("#1a5dc7"),
    "Name.Attribute": _rgb("#a04000"),
    "Generic.Deleted": _rgb("#b3261e"),
    "Generic.Inserted": _rgb("#0b6b3a"),
    "Generic.Heading": _rgb("#1a5dc7"),
}
"""Colours of code by the names of Pygments' tokens; each is readable on the grey below it."""
WRAP_MARK = _rgb("#999999")

QUOTE_INK = _rgb("#555555")
QUOTE_BAR, QUOTE_BAR_FILL = 4 * PX, _rgb("#cccccc")
QUOTE_INDENT = QUOTE_BAR + BODY_SIZE

LIST_INDENT = 22.0
MARKER_GAP = 6.0
BULLETS = "•◦▪"
CHECKED, UNCHECKED = "☑", "☐"

CELL_PAD = 8 * PX
CELL_BORDER, CELL_BORDER_INK = 1 * PX, _rgb("#cccccc")
HEADER_FILL = _rgb("#f0f0f0")
SMALLEST_CELL_SIZE = 6.0

RULE_INK, RULE_WIDTH = _rgb("#cccccc"), 1 * PX

FOOT_SIZE, FOOT_INK = 9.0, _rgb("#777777")

CONTENTS_LEADING = 1.5
CONTENTS_NUMBER = 34.0
"""Width that is kept free for the page number of an entry."""


@dataclass(frozen=True)
class HeadingLook:
    """How the headings of one level look; `rule` is the width of the line below."""

    size: float
    ink: str
    before: float
    after: float
    rule: float = 0.0
    rule_pad: float = 0.0


HEADING_LEADING = 1.3
HEADINGS = (
    HeadingLook(24.0, _rgb("#1a1a2e"), 16.0, 16.0, rule=2 * PX, rule_pad=6 * PX),
    HeadingLook(18.0, _rgb("#333333"), 27.0, 10.0),
    HeadingLook(14.0, _rgb("#444444"), 20.0, 8.0),
    HeadingLook(12.0, _rgb("#444444"), 16.0, 6.0),
    HeadingLook(11.0, _rgb("#444444"), 16.0, 6.0),
    HeadingLook(10.0, _rgb("#444444"), 16.0, 6.0),
)
