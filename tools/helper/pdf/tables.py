"""Tables: columns as wide as their words want, smaller letters before any word is cut, rows over several
pages, the header on each of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

from tools.helper.pdf import look
from tools.helper.pdf.bidi import levelled
from tools.helper.pdf.blocks import Align, Cell, Table
from tools.helper.pdf.flow import Flow, baseline_in
from tools.helper.pdf.lines import break_lines
from tools.helper.pdf.typeset import Box, Kind, Line, Style, Typesetter

_NARROWEST = 24.0
"""Points that a column needs at least. A table with more columns is drawn in several parts."""

_LONGEST_WORD = 11.0
"""A word in a cell longer than this many times the font size may be cut."""


@dataclass(slots=True)
class _Set:
    """A cell as boxes, with the least width it needs and the width that it would like."""

    boxes: list[Box]
    align: Align
    rtl: bool
    least: float
    ideal: float


@dataclass(slots=True)
class _Broken:
    """A cell as lines of its column's width; `drawn` counts those that stand on the page already."""

    lines: list[Line]
    align: Align
    rtl: bool
    drawn: int = 0


_Row = list[_Broken]


def draw_table(table: Table, flow: Flow, typesetter: Typesetter, style: Style) -> None:
    """Draw a table, in several parts under each other if it has more columns than a page can hold."""
    for part in _parts(table, int(flow.width / _NARROWEST)):
        _Drawing(part, flow, typesetter, style).draw()


def _parts(table: Table, most: int) -> Iterator[Table]:
    """The table in parts of at most so many columns; each begins with the first one."""
    columns = max((len(row) for row in table.header + table.rows), default=0)
    if not columns:
        return
    most = max(2, most)
    if columns <= most:
        yield table
        return
    for start in range(1, columns, most - 1):
        end = start + most - 1
        header, rows = ([row[:1] + row[start:end] for row in part] for part in (table.header, table.rows))
        yield Table(header, rows)


class _Drawing:
    """One table on its way to the page."""

    def __init__(self, table: Table, flow: Flow, typesetter: Typesetter, style: Style) -> None:
        self._flow = flow
        self._typesetter = typesetter
        self._columns = max(len(row) for row in table.header + table.rows)
        header, rows = self._set(table, style)
        widths = _widths(header + rows, self._columns, self._inner_width())
        self._edges = [flow.start + look.CELL_BORDER / 2]
        for width in widths:
            self._edges.append(self._edges[-1] + width + 2 * self._pad)
        self._line_height = self._size * look.LEADING
        self._header = [self._broken(row) for row in header]
        self._rows = (self._broken(row) for row in rows)  # broken when drawn: a table may be long

    def _inner_width(self) -> float:
        """What is left for text when every cell has its padding."""
        return self._flow.width - look.CELL_BORDER - 2 * self._pad * self._columns

    def _set(self, table: Table, style: Style) -> tuple[list[list[_Set]], list[list[_Set]]]:
        """The header and the rows, set at the largest size at which every word fits its column."""
        self._size, self._pad = style.size, look.CELL_PAD
        header, rows = self._set_at(table, style)
        needed = sum(_largest(header + rows, self._columns, lambda cell: cell.least))
        if needed > self._inner_width():
            whole = needed + 2 * look.CELL_PAD * self._columns
            shrink = max(look.SMALLEST_CELL_SIZE / style.size, (self._flow.width - look.CELL_BORDER) / whole)
            self._size, self._pad = int(style.size * shrink * 10) / 10, look.CELL_PAD * shrink
            header, rows = self._set_at(table, style._replace(size=self._size))
        return header, rows

    def _set_at(self, table: Table, style: Style) -> tuple[list[list[_Set]], list[list[_Set]]]:
        bold = style._replace(bold=True)
        return (
            [[self._set_cell(cell, bold) for cell in row] for row in table.header],
            [[self._set_cell(cell, style) for cell in row] for row in table.rows],
        )

    def _set_cell(self, cell: Cell, style: Style) -> _Set:
        boxes, rtl = levelled(self._typesetter.boxes(cell.spans, style), self._typesetter)
        least, ideal = _wishes(boxes)
        return _Set(boxes, cell.align, rtl, min(least, _LONGEST_WORD * style.size), ideal)

    def _broken(self, row: list[_Set]) -> _Row:
        return [
            _Broken(
                break_lines(cell.boxes, end - start - 2 * self._pad, self._typesetter), cell.align, cell.rtl
            )
            for cell, (start, end) in zip(row, pairwise(self._edges), strict=False)
        ]

    def draw(self) -> None:
        flow = self._flow
        header_height = sum(self._height(row) for row in self._header)
        repeated = header_height < flow.whole_page / 3
        first = next(self._rows, [])
        flow.begin(min(header_height + self._height(first), flow.whole_page / 2), before=look.PARAGRAPH_GAP)
        flow.draw_marker(flow.y + self._pad + baseline_in(self._line_height, self._size))
        for row in self._header:
            self._draw_row(row, shaded=True, repeated=False)
        for row in chain([first] if first else [], self._rows):
            self._draw_row(row, shaded=False, repeated=repeated)
        flow.done(look.PARAGRAPH_GAP)

    def _draw_row(self, row: _Row, *, shaded: bool, repeated: bool) -> None:
        """Draw a row; one that does not fit goes to the next page, or is parted if it is a long one."""
        flow = self._flow
        height = self._height(row)
        if height > flow.room and (height < flow.whole_page / 2 or self._lines_in_room() < 2):
            self._new_page(repeated)
        while True:
            self._draw_part(row, max(1, self._lines_in_room()), shaded)
            if all(cell.drawn >= len(cell.lines) for cell in row):
                return
            self._new_page(repeated)

    def _new_page(self, repeated: bool) -> None:
        if self._flow.at_top:
            return
        self._flow.new_page()
        for row in self._header if repeated else ():
            for cell in row:
                cell.drawn = 0
            self._draw_part(row, 1 + max(len(cell.lines) for cell in row), shaded=True)

    def _lines_in_room(self) -> int:
        return int((self._flow.room - 2 * self._pad) / self._line_height + 1e-6)

    def _height(self, row: _Row) -> float:
        """The height of what is left to draw of a row."""
        lines = max((len(cell.lines) - cell.drawn for cell in row), default=0)
        return max(1, lines) * self._line_height + 2 * self._pad

    def _draw_part(self, row: _Row, most: int, shaded: bool) -> None:
        """Draw the next lines of a row, at most so many of each cell."""
        flow, top = self._flow, self._flow.y
        parts = [cell.lines[cell.drawn : cell.drawn + most] for cell in row]
        bottom = top + max([1, *map(len, parts)]) * self._line_height + 2 * self._pad
        if shaded:
            flow.pages.fill(self._edges[0], self._edges[-1], top, bottom, look.HEADER_FILL)
        for cell, lines, (start, end) in zip(row, parts, pairwise(self._edges), strict=False):
            baseline = top + self._pad + baseline_in(self._line_height, self._size)
            for line in lines:
                flow.pages.text(
                    line, start + self._pad, end - self._pad, baseline, align=cell.align, rtl=cell.rtl
                )
                baseline += self._line_height
            cell.drawn += len(lines)
        flow.pages.grid(self._edges, top, bottom, look.CELL_BORDER_INK, look.CELL_BORDER)
        flow.y = bottom


def _wishes(boxes: list[Box]) -> tuple[float, float]:
    """The width of the longest word, and of the longest line when none is broken."""
    longest = word = ideal = line = 0.0
    for box in boxes:
        line += box.width
        if box.kind == Kind.WORD:
            word += box.width
            longest = max(longest, word)
        else:
            word = 0.0
        if box.kind == Kind.NEWLINE:
            line = 0.0
        ideal = max(ideal, line)
    return longest, ideal


def _largest(rows: list[list[_Set]], columns: int, of: Callable[[_Set], float]) -> list[float]:
    """The largest of a figure in each column."""
    figures = [0.0] * columns
    for row in rows:
        for column, cell in enumerate(row[:columns]):
            figures[column] = max(figures[column], of(cell))
    return figures


def _widths(rows: list[list[_Set]], columns: int, available: float) -> list[float]:
    """The widths of the columns, which fill the page together (CSS 2.2, 17.5.2.2).

    Each gets what its longest word needs, and of the rest a share by what its lines would like. Where not
    even the words fit, narrow columns keep their width and the wide ones share what is left.
    """
    least = _largest(rows, columns, lambda cell: cell.least)
    ideal = _largest(rows, columns, lambda cell: max(cell.ideal, cell.least))
    if sum(ideal) <= available:
        spare = (available - sum(ideal)) / max(1.0, sum(ideal))
        return [width * (1 + spare) for width in ideal] if sum(ideal) else [available / columns] * columns
    if sum(least) <= available:
        share = (available - sum(least)) / (sum(ideal) - sum(least))
        return [low + (high - low) * share for low, high in zip(least, ideal, strict=True)]
    widths = [0.0] * columns
    left = available
    for done, column in enumerate(sorted(range(columns), key=least.__getitem__)):
        widths[column] = min(least[column], left / (columns - done))
        left -= widths[column]
    return widths
