"""Pages as lists of drawing operators (ISO 32000-1, 8 and 9). They stay lists until the file is written,
so that what is known late, such as the number of pages, is added without laying out twice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tools.helper.pdf import look
from tools.helper.pdf.bidi import visual_order
from tools.helper.pdf.blocks import Align
from tools.helper.pdf.font import Font
from tools.helper.pdf.typeset import Box, Line, Style

_ROUND = 0.5523
"""Where the control points of a quarter circle lie, as a part of its radius."""


@dataclass(frozen=True, slots=True)
class Link:
    """A place on a page that leads somewhere: an address, or "#" and the name of an anchor."""

    left: float
    top: float
    width: float
    height: float
    target: str


@dataclass(slots=True)
class Page:
    operators: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


class Pages:
    """The pages of a document; what is drawn goes to the last one unless a page is named.

    In a document of an `rtl` script the pages are mirrored: `start` counts from the right edge. Letters and
    the order of words in a line are not mirrored, of course.

    `font_numbers` gives each font the number under which the operators name it; `anchors` are the places
    that links lead to, as a page's number from 0 and the distance from its top.
    """

    def __init__(self, rtl: bool = False, paper: look.Paper = look.A4) -> None:
        self.rtl = rtl
        self.paper = paper
        self.pages = [Page()]
        self.font_numbers: dict[Font, int] = {}
        self.anchors: dict[str, tuple[int, float]] = {}

    def add(self) -> None:
        """Begin a new page."""
        self.pages.append(Page())

    def draw(self, operators: str, page: int = -1) -> None:
        """Put operators on a page."""
        self.pages[page].operators.append(operators)

    def font_name(self, font: Font) -> str:
        """The name of a font in the operators."""
        return f"/F{self.font_numbers.setdefault(font, len(self.font_numbers) + 1)}"

    def up(self, y: float) -> str:
        """A distance from the top of the page as PDF counts it, from the bottom."""
        return f"{self.paper.height - y:.2f}"

    def left(self, start: float, end: float) -> float:
        """The left edge of what lies between two distances."""
        return self.paper.width - end if self.rtl else start

    def fill(self, start: float, end: float, top: float, bottom: float, ink: str, page: int = -1) -> None:
        """A filled rectangle."""
        left = self.left(start, end)
        self.draw(f"{ink} rg {left:.2f} {self.up(bottom)} {end - start:.2f} {bottom - top:.2f} re f", page)

    def fill_rounded(
        self, start: float, end: float, top: float, bottom: float, ink: str, radius: float
    ) -> None:
        """A filled rectangle with round corners."""
        left = self.left(start, end)
        self.draw(f"{ink} rg {self._rounded(left, left + end - start, top, bottom, radius)} f")

    def rule(self, start: float, end: float, y: float, ink: str, thickness: float) -> None:
        """A horizontal line with its middle at `y`."""
        left = self.left(start, end)
        self.draw(
            f"{ink} RG {thickness:g} w {left:.2f} {self.up(y)} m {left + end - start:.2f} {self.up(y)} l S"
        )

    def grid(self, edges: Sequence[float], top: float, bottom: float, ink: str, thickness: float) -> None:
        """The lines around a row of cells: above, below, and at each of the edges."""
        places = [f"{self.left(edge, edge):.2f}" for edge in edges]
        across = " ".join(f"{places[0]} {self.up(y)} m {places[-1]} {self.up(y)} l" for y in (top, bottom))
        down = " ".join(f"{x} {self.up(top)} m {x} {self.up(bottom)} l" for x in places)
        self.draw(f"{ink} RG {thickness:g} w 2 J {across} {down} S 0 J")

    def text(
        self,
        line: Line,
        start: float,
        end: float,
        baseline: float,
        *,
        align: Align = "start",
        rtl: bool = False,
        page: int = -1,
    ) -> None:
        """A line of text between two edges; `rtl`: the paragraph it belongs to runs from right to left."""
        boxes = visual_order(line) if any(box.level for box in line) else line
        left = self.left(start, end)
        if align == "center":
            left += (end - start - width_of(line)) / 2
        elif align == "right" or (align == "start" and rtl):
            left += end - start - width_of(line)
        drawn: list[str] = []
        x = left
        for run in _runs(boxes):
            width = width_of(run)
            drawn.append(self._run(run, x, baseline))
            drawn += self._decorations(run[0].style, x, baseline, width, page)
            x += width
        self._shade(boxes, left, baseline, page)
        self.pages[page].operators += drawn

    def _run(self, boxes: list[Box], x: float, baseline: float) -> str:
        """Text of one style in one font, as a text object."""
        style, font = boxes[0].style, boxes[0].font
        body = "".join([box.body for box in boxes]).replace("><", "")
        size = f"{style.size:g}"
        slant = f"{style.size * 0.2:.2f}" if font.slanted else "0"
        thicker = (f"{style.ink} RG 2 Tr {style.size * 0.03:.2f} w ", " 0 Tr") if font.thickened else ("", "")
        return (
            f"BT {style.ink} rg {thicker[0]}{self.font_name(font)} 1 Tf"
            f" {size} 0 {slant} {size} {x:.2f} {self.up(baseline - style.rise)} Tm [{body}]TJ{thicker[1]} ET"
        )

    def _decorations(self, style: Style, x: float, baseline: float, width: float, page: int) -> Iterator[str]:
        """The line through struck text; a link is noted on the page."""
        if style.link:
            self.pages[page].links.append(
                Link(x, baseline - style.size, width, style.size * 1.25, style.link)
            )
        if style.strike:
            y = self.up(baseline - style.size * 0.3)
            yield f"{style.ink} RG {style.size / 16:.2f} w {x:.2f} {y} m {x + width:.2f} {y} l S"

    def _shade(self, boxes: Line, left: float, baseline: float, page: int) -> None:
        """The grey behind code in a line of text."""
        x = left
        for shaded, group in groupby(boxes, key=lambda box: box.style.shaded):
            run = list(group)
            right = x + width_of(run)
            if shaded:
                size = run[0].style.size
                top = baseline - 0.93 * size - look.CODE_PAD_Y
                bottom = baseline + 0.24 * size + look.CODE_PAD_Y
                path = self._rounded(x, right, top, bottom, look.CODE_RADIUS)
                self.draw(f"{look.CODE_FILL} rg {path} f", page)
            x = right

    def _rounded(self, left: float, right: float, top: float, bottom: float, radius: float) -> str:
        """The path of a rectangle with round corners, anticlockwise from the lower left."""
        low, high, bend = self.paper.height - bottom, self.paper.height - top, radius * (1 - _ROUND)
        points = (
            (left + radius, low, "m"),
            (right - radius, low, "l"),
            (right - bend, low, right, low + bend, right, low + radius, "c"),
            (right, high - radius, "l"),
            (right, high - bend, right - bend, high, right - radius, high, "c"),
            (left + radius, high, "l"),
            (left + bend, high, left, high - bend, left, high - radius, "c"),
            (left, low + radius, "l"),
            (left, low + bend, left + bend, low, left + radius, low, "c"),
        )
        return " ".join(" ".join(f"{n:.2f}" for n in point[:-1]) + f" {point[-1]}" for point in points)


def width_of(line: Line) -> float:
    """The width of a line, in points."""
    return sum([box.width for box in line])


def _runs(boxes: Line) -> Iterator[Line]:
    """The boxes in runs of one style and one font, which one text object can draw."""
    start = 0
    for at in range(1, len(boxes) + 1):
        first = boxes[start]
        if at == len(boxes) or boxes[at].style is not first.style or boxes[at].font is not first.font:
            yield boxes[start:at]
            start = at
