"""Pages in two columns that were written line by line, across both: their text in reading order."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

_FEWEST = 24
"""Pieces of text below which a page has no columns worth looking for."""

_MIDDLE = (0.3, 0.75)
"""Where between the margins the second column may begin."""

_CROSSING = 0.15
_EACH_SIDE = 0.3
_SWITCHES = 0.5
"""Shares of all pieces: at most so many lie across the gutter, at least so many on each side, and at least
so many are followed by one of the other side."""


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


def columns_text(page: Any) -> str:
    """The text of a pdfium text page, column by column; "" where pdfium's own order is right."""
    count = page.count_rects()
    if count < _FEWEST:
        return ""
    boxes = [_Box(*page.get_rect(index)) for index in range(count)]
    gutter = _gutter(boxes)
    if gutter is None or not _alternates(boxes, gutter):
        return ""
    return "\n".join(_read(page, boxes, gutter))


def _gutter(boxes: Sequence[_Box]) -> float | None:
    """A place between two columns, by where the second one begins; None where there is none."""
    left, right = min(box.left for box in boxes), max(box.right for box in boxes)
    middle = [left + part * (right - left) for part in _MIDDLE]
    for start in sorted({box.left for box in boxes if middle[0] < box.left < middle[1]}):
        before = [box.right for box in boxes if box.right <= start]
        beside = sum(box.left >= start for box in boxes)
        across = len(boxes) - len(before) - beside
        if across <= _CROSSING * len(boxes) and min(len(before), beside) >= _EACH_SIDE * len(boxes):
            return (max(before) + start) / 2
    return None


def _alternates(boxes: Sequence[_Box], gutter: float) -> bool:
    sides = [box.left >= gutter for box in boxes if not box.left < gutter < box.right]
    switches = sum(one != other for one, other in pairwise(sides))
    return switches >= _SWITCHES * len(sides)


def _read(page: Any, boxes: Sequence[_Box], gutter: float) -> list[str]:
    """The parts in order: what lies across both columns parts the page into bands, each read by column."""
    across = sorted((box for box in boxes if box.left < gutter < box.right), key=lambda box: -box.top)
    top = max(box.top for box in boxes) + 1
    bottom = min(box.bottom for box in boxes) - 1
    left, right = min(box.left for box in boxes) - 1, max(box.right for box in boxes) + 1
    parts = []
    for box in [*across, None]:
        end = bottom if box is None else box.top
        if end < top:
            parts += [
                page.get_text_bounded(left, end, gutter, top),
                page.get_text_bounded(gutter, end, right, top),
            ]
        if box is not None:
            parts.append(page.get_text_bounded(left, box.bottom, right, min(box.top, top)))
            top = min(top, box.bottom)
    return [part for part in parts if part.strip()]
