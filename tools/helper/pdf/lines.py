"""Boxes -> lines of a given width, each as full as it can be."""

import re
from collections.abc import Iterable, Iterator

from tools.helper.pdf.typeset import BREAK, Box, Kind, Line, Typesetter

_SEPARATORS = re.compile(r"[^/?&=._,;:+\-]*[/?&=._,;:+\-]+|[^/?&=._,;:+\-]+")
_SLACK = 0.01


def break_lines(boxes: list[Box], width: float, typesetter: Typesetter) -> list[Line]:
    """The boxes as lines. A word wider than the line is cut, after a separator if it has one."""
    lines: list[Line] = []
    line: Line = []
    used = 0.0
    chunk: list[Box] = []
    chunk_width = 0.0
    for box in [*boxes, BREAK]:
        if box.kind == Kind.WORD:
            chunk.append(box)
            chunk_width += box.width
            continue
        if chunk:
            if line and used + chunk_width > width + _SLACK:
                lines.append(_trimmed(line))
                line, used = [], 0.0
            if chunk_width > width + _SLACK:
                *full, line = fill_lines(_pieces(chunk, width, typesetter), width)
                lines += full
                used = sum(piece.width for piece in line)
            else:
                line += chunk
                used += chunk_width
            chunk, chunk_width = [], 0.0
        if box.kind == Kind.SPACE:
            if line:
                line.append(box)
                used += box.width
        elif box.kind == Kind.NEWLINE:
            lines.append(_trimmed(line))
            line, used = [], 0.0
    if line := _trimmed(line):
        lines.append(line)
    return lines


def _trimmed(line: Line) -> Line:
    while line and line[-1].kind == Kind.SPACE:
        line.pop()
    return line


def fill_lines(pieces: Iterable[Box], width: float) -> list[Line]:
    """Pieces that may be parted anywhere, as lines."""
    lines: list[Line] = [[]]
    used = 0.0
    for piece in pieces:
        if lines[-1] and used + piece.width > width + _SLACK:
            lines.append([])
            used = 0.0
        lines[-1].append(piece)
        used += piece.width
    return lines


def _pieces(chunk: list[Box], width: float, typesetter: Typesetter) -> Iterator[Box]:
    """The smallest parts of a chunk that has no place to break."""
    for box in chunk:
        if box.width <= width / 4 or not box.text:
            yield box
            continue
        for part in _SEPARATORS.findall(box.text):
            boxes = typesetter.word(part, box.style, box.level)
            if sum(piece.width for piece in boxes) <= width / 2:
                yield from boxes
            else:
                for piece in boxes:
                    yield from typesetter.pieces(piece)
