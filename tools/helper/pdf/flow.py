"""The place on the page where the next block goes, and what has to stay together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tools.helper.pdf import look
from tools.helper.pdf.font_search import main_font
from tools.helper.pdf.pages import Pages
from tools.helper.pdf.typeset import Line

_TOP = look.MARGIN
_NARROWEST = 140.0
"""Width that no list or quote makes narrower, however deep it is nested."""


@dataclass(slots=True)
class _Bar:
    """The bar beside a quote; it begins where the quote's first block does."""

    start: float
    page: int = -1
    top: float = 0.0
    has_room: bool = True


@dataclass(slots=True)
class _Held:
    """A heading that waits for what follows, so that both stand on one page."""

    before: float
    height: float
    after: float
    draw: Callable[[float], None]
    bars: list[_Bar]


@dataclass(slots=True)
class Marker:
    """The bullet or number of an item, which waits for the item's first line. `end` is where it ends; links
    find the item by its `anchor`."""

    line: Line
    end: float
    anchor: str = ""

    def draw(self, pages: Pages, baseline: float) -> None:
        """Draw it on a baseline, with its end at the text's side."""
        if self.anchor:
            pages.anchors[self.anchor] = (len(pages.pages) - 1, baseline - look.BODY_SIZE)
        pages.text(self.line, self.end, self.end, baseline, align="left" if pages.rtl else "right")


@dataclass(slots=True)
class _Place:
    """All that tells where a flow stands, for going back to it."""

    pages: int
    operators: int
    links: int
    fields: dict[str, object] = field(default_factory=dict)


class Flow:
    """Fills pages from top to bottom, between `start` and `end`, which lists and quotes move.

    Whoever draws asks `begin` for room, draws at `y`, and moves `y` on; `gap` is the space that the last
    block wants below it. Of two such spaces the larger one counts, and none at the top of a page.
    """

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.start = look.MARGIN
        self.end = pages.paper.width - look.MARGIN
        self.bottom = pages.paper.height - look.MARGIN
        self.y = _TOP
        self.gap = 0.0
        self.marker: Marker | None = None
        self._held: list[_Held] = []
        self._bars: list[_Bar] = []

    @property
    def width(self) -> float:
        return self.end - self.start

    @property
    def room(self) -> float:
        """What is left of the page."""
        return self.bottom - self.y

    @property
    def at_top(self) -> bool:
        return self.y <= _TOP

    @property
    def whole_page(self) -> float:
        """The height between the margins."""
        return self.bottom - _TOP

    def new_page(self) -> None:
        """Go on at the top of the next page."""
        self.pages.add()
        self.y = _TOP
        self.gap = 0.0

    def begin(self, height: float, before: float = 0.0) -> None:
        """Make room for the first `height` points of a block and for the headings that wait for it, on one
        page; `before` is the space that the block wants above it."""
        needed, gap = height, self.gap
        for held in self._held:
            needed += max(held.before, gap) + held.height
            gap = held.after
        if needed + max(before, gap) > self.room and not self.at_top:
            self.new_page()
        self._release()
        self._skip(before)
        self._start_bars(self._bars)

    def done(self, after: float) -> None:
        """A block is done; it wants `after` points below it."""
        self.gap = max(self.gap, after)

    def hold(self, before: float, height: float, after: float, draw: Callable[[float], None]) -> None:
        """Keep a heading back until the next block begins; `draw` gets the top of its place."""
        self._held.append(_Held(before, height, after, draw, [bar for bar in self._bars if bar.page < 0]))
        if sum(held.height for held in self._held) > self.whole_page / 2:
            self.begin(0.0)

    def _release(self) -> None:
        """Draw the headings that wait."""
        waiting, self._held = self._held, []
        for held in waiting:
            self._skip(held.before)
            self._start_bars(held.bars)
            held.draw(self.y)
            self.y += held.height
            self.gap = held.after

    def _skip(self, before: float) -> None:
        """Leave the space between two blocks."""
        if not self.at_top:
            self.y += max(before, self.gap)
        self.gap = 0.0

    def draw_marker(self, baseline: float) -> None:
        """Draw the marker that waits, if one does, on the baseline of a first line."""
        if self.marker:
            self.marker.draw(self.pages, baseline)
            self.marker = None

    @contextmanager
    def indented(self, by: float) -> Iterator[None]:
        """Within the block the start is moved in, as long as enough of the width is left."""
        start = self.start
        if self.width - by >= _NARROWEST:
            self.start += by
        try:
            yield
        finally:
            self.start = start

    @contextmanager
    def barred(self) -> Iterator[None]:
        """Within the block there is a bar at the start, on as many pages as it takes."""
        bar = _Bar(self.start)
        self._bars.append(bar)
        try:
            with self.indented(look.QUOTE_INDENT):
                bar.has_room = self.start > bar.start
                yield
        finally:
            self._bars.remove(bar)
        if self._held:
            self.begin(0.0)
        self._draw_bar(bar)

    def place(self) -> _Place:
        """Where the flow stands, for `go_back`."""
        page = self.pages.pages[-1]
        fields = {
            name: list(value) if isinstance(value, list) else value
            for name, value in vars(self).items()
            if name != "pages"
        }
        return _Place(len(self.pages.pages), len(page.operators), len(page.links), fields)

    def go_back(self, place: _Place) -> None:
        """Undo all that was drawn since."""
        del self.pages.pages[place.pages :]
        page = self.pages.pages[-1]
        del page.operators[place.operators :]
        del page.links[place.links :]
        vars(self).update(place.fields)

    def _start_bars(self, bars: list[_Bar]) -> None:
        for bar in bars:
            if bar.page < 0:
                bar.page, bar.top = len(self.pages.pages) - 1, self.y

    def _draw_bar(self, bar: _Bar) -> None:
        last = len(self.pages.pages) - 1
        for page in range(bar.page, last + 1) if bar.page >= 0 and bar.has_room else ():
            top = bar.top if page == bar.page else _TOP
            bottom = self.y if page == last else self.bottom
            if bottom > top:
                self.pages.fill(bar.start, bar.start + look.QUOTE_BAR, top, bottom, look.QUOTE_BAR_FILL, page)


def baseline_in(height: float, size: float) -> float:
    """How far below the top of a line of this height the baseline lies, for text of this size."""
    font = main_font(False, False, False)
    return height / 2 + (font.ascent - font.descent) * size / 2000
