"""Text that runs from right to left: the levels of boxes, and their order in a line."""

from collections.abc import Iterator

from tools.helper.pdf.bidi_levels import levels
from tools.helper.pdf.characters import IS_RTL
from tools.helper.pdf.typeset import Box, Kind, Line, Typesetter


def _runs_right_to_left(text: str, otherwise: bool) -> bool:
    """Whether the first letter of a text is of a script that runs from right to left (rules P2, P3)."""
    first = next(filter(str.isalpha, text), None)
    return otherwise if first is None else IS_RTL.match(first) is not None


def levelled(boxes: list[Box], typesetter: Typesetter) -> tuple[list[Box], bool]:
    """The boxes of a paragraph with their levels, and whether the paragraph runs from right to left.

    Words are split where the level changes within them. Text of one direction comes back as it was.
    """
    text = "".join([box.text for box in boxes])
    if not typesetter.rtl and (text.isascii() or not IS_RTL.search(text)):
        return boxes, False
    rtl = _runs_right_to_left(text, otherwise=typesetter.rtl)
    level_of = levels(text, rtl)
    result: list[Box] = []
    start = 0
    for box in boxes:
        end = start + len(box.text)
        result += _with_levels(box, level_of[start:end] or [int(rtl)], typesetter)
        start = end
    return result, rtl


def visual_order(line: Line) -> Line:
    """The boxes of a line from left to right (rule L2)."""
    order = list(line)
    highest = max((box.level for box in order), default=0)
    for level in range(highest, 0, -1):
        for start, end in _runs(order, level):
            order[start:end] = order[start:end][::-1]
    return order


def _with_levels(box: Box, level_of: list[int], typesetter: Typesetter) -> list[Box]:
    if not any(level_of):
        return [box]
    if box.kind != Kind.WORD or not box.text:
        return [_at_level(box, level_of[0])]
    boxes: list[Box] = []
    start = 0
    for end in range(1, len(level_of) + 1):
        if end == len(level_of) or level_of[end] != level_of[start]:
            boxes += typesetter.word(box.text[start:end], box.style, level_of[start])
            start = end
    return boxes


def _at_level(box: Box, level: int) -> Box:
    return Box(box.kind, box.text, box.style, box.font, box.width, box.body, level)


def _runs(line: Line, level: int) -> Iterator[tuple[int, int]]:
    start = None
    for at, box in enumerate(line):
        if box.level >= level:
            start = at if start is None else start
        elif start is not None:
            yield start, at
            start = None
    if start is not None:
        yield start, len(line)
