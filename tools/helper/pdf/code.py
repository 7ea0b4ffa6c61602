"""Blocks of code: every space kept, long lines wrapped with a mark, over several pages if need be."""

from collections.abc import Iterator
from typing import NamedTuple

from tools.helper.pdf import look
from tools.helper.pdf.blocks import Code
from tools.helper.pdf.flow import Flow
from tools.helper.pdf.font_search import main_font
from tools.helper.pdf.highlight import Piece, coloured
from tools.helper.pdf.lines import fill_lines
from tools.helper.pdf.typeset import Box, Line, Style, Typesetter

_STYLE = Style(size=look.BLOCK_CODE_SIZE, mono=True)
_LINE_HEIGHT = look.BLOCK_CODE_SIZE * look.BLOCK_CODE_LEADING
_FEWEST_LINES = 3
"""Lines that stand together at the foot of a page, if there are as many."""


class _Row(NamedTuple):
    """A line as wide as the block: pieces in ASCII, or boxes. `wrapped`: it goes on from the row before."""

    pieces: list[Piece]
    boxes: Line
    wrapped: bool


def draw_code(code: Code, flow: Flow, typesetter: Typesetter) -> None:
    """Draw a block of code."""
    pad = look.BLOCK_CODE_PAD
    rows = _rows(code, flow.width - 2 * pad, typesetter)
    flow.begin(2 * pad + min(len(rows), _FEWEST_LINES) * _LINE_HEIGHT, before=look.PARAGRAPH_GAP)
    drawn = 0
    while drawn < len(rows):
        if drawn:
            flow.new_page()
        fitting = max(1, int((flow.room - 2 * pad) / _LINE_HEIGHT + 1e-6))
        shown = rows[drawn : drawn + fitting]
        bottom = flow.y + len(shown) * _LINE_HEIGHT + 2 * pad
        flow.pages.fill_rounded(flow.start, flow.end, flow.y, bottom, look.CODE_FILL, look.BLOCK_CODE_RADIUS)
        _draw_rows(shown, flow)
        flow.y = bottom
        drawn += len(shown)
    flow.done(look.PARAGRAPH_GAP)


def _rows(code: Code, width: float, typesetter: Typesetter) -> list[_Row]:
    font = main_font(True, False, False)
    columns = max(1, int(width * 1000 / (font.advance(font.glyph("0")) * _STYLE.size) + 1e-6))
    text = code.text.expandtabs(4)
    ascii_characters = [char for char in set(text) if " " <= char <= "~"]
    typesetter.mark_used(font, [(font.glyph(char), char) for char in ascii_characters])
    rows = []
    for pieces in coloured(text, code.language):
        if all(piece.isascii() for _, piece in pieces):
            rows += [_Row(part, [], number > 0) for number, part in enumerate(_parts(pieces, columns))]
        else:
            wrapped = _wrapped(pieces, width, typesetter)
            rows += [_Row([], part, number > 0) for number, part in enumerate(wrapped)]
    return rows


def _parts(pieces: list[Piece], columns: int) -> list[list[Piece]]:
    """A line in ASCII in parts of at most so many columns, parted after a space if there is one near."""
    line = "".join(text for _, text in pieces)
    if len(line) <= columns:
        return [pieces]
    ends, start = [], 0
    while len(line) - start > columns:
        space = line.rfind(" ", start + columns * 2 // 3, start + columns)
        start = space + 1 if space > 0 else start + columns
        ends.append(start)
    return list(_cut(pieces, ends))


def _cut(pieces: list[Piece], ends: list[int]) -> Iterator[list[Piece]]:
    """The pieces of a line cut at these places."""
    part: list[Piece] = []
    done, left = 0, list(ends)
    for ink, text in pieces:
        while left and done + len(text) >= left[0]:
            kept = left.pop(0) - done
            yield [*part, (ink, text[:kept])]
            part, done, text = [], done + kept, text[kept:]
        if text:
            part.append((ink, text))
            done += len(text)
    yield part


def _wrapped(pieces: list[Piece], width: float, typesetter: Typesetter) -> list[Line]:
    """A line that holds more than ASCII: whole words if it fits, else letter by letter."""
    words: list[Box] = []
    for ink, text in pieces:
        style = _STYLE._replace(ink=ink)
        for number, word in enumerate(text.split(" ")):
            if number:
                words += typesetter.word(" ", style)
            words += typesetter.word(word, style) if word else ()
    if sum(box.width for box in words) <= width:
        return [words]
    return fill_lines([piece for box in words for piece in typesetter.pieces(box)], width)


def _draw_rows(rows: list[_Row], flow: Flow) -> None:
    """Rows in ASCII go into one text object, line after line; rows of boxes are drawn upon it."""
    pages, font = flow.pages, main_font(True, False, False)
    left = pages.left(flow.start, flow.end) + look.BLOCK_CODE_PAD
    baseline = first = flow.y + look.BLOCK_CODE_PAD + _LINE_HEIGHT * 0.72
    flow.draw_marker(baseline)
    operators: list[str] = []
    drawn_in = look.INK
    for row in rows:
        if row.wrapped:
            _draw_wrap_mark(flow, left - look.BLOCK_CODE_PAD * 0.8, baseline)
        for ink, text in row.pieces:
            if codes := text.translate(font.hex_of):
                operators.append(f"{ink} rg <{codes}>Tj" if ink != drawn_in else f"<{codes}>Tj")
                drawn_in = ink
        operators.append("T*")
        if row.boxes:
            inner = flow.start + look.BLOCK_CODE_PAD, flow.end - look.BLOCK_CODE_PAD
            pages.text(row.boxes, *inner, baseline, align="left")
        baseline += _LINE_HEIGHT
    size = f"{_STYLE.size:g}"
    start = f"{size} 0 0 {size} {left:.2f} {pages.up(first)} Tm"
    pages.draw(
        f"BT {look.INK} rg {pages.font_name(font)} 1 Tf {look.BLOCK_CODE_LEADING:g} TL {start}\n"
        + "\n".join(operators)
        + "\nET"
    )


def _draw_wrap_mark(flow: Flow, left: float, baseline: float) -> None:
    """A small arrow, down and to the right. Drawn, not written: it is no part of the code one copies."""
    top, size = flow.pages.paper.height - baseline + 4.5, 3.5
    right, low = left + size, top - size
    flow.pages.draw(
        f"{look.WRAP_MARK} RG 0.7 w {left:.2f} {top:.2f} m {left:.2f} {low:.2f} l {right:.2f} {low:.2f} l"
        f" {right - 1.3:.2f} {low + 1.3:.2f} m {right:.2f} {low:.2f} l {right - 1.3:.2f} {low - 1.3:.2f} l S"
    )
