"""Blocks -> pages: headings, paragraphs, lists, quotes and rules. Code and tables have their own modules."""

import logging
from collections.abc import Iterable

from tools.helper.pdf import look
from tools.helper.pdf.bidi import levelled
from tools.helper.pdf.blocks import (
    Block,
    Code,
    Definition,
    Heading,
    ItemList,
    Paragraph,
    Quote,
    Rule,
    Spans,
    Table,
    plain_spans,
    plain_text,
)
from tools.helper.pdf.code import draw_code
from tools.helper.pdf.flow import Flow, Marker, baseline_in
from tools.helper.pdf.lines import break_lines
from tools.helper.pdf.notes import Note
from tools.helper.pdf.pages import width_of
from tools.helper.pdf.tables import draw_table
from tools.helper.pdf.typeset import Line, Style, Typesetter

log = logging.getLogger(__name__)


class Layout:
    """Draws blocks one after the other. `notes` tells which of them it could only draw as plain text."""

    def __init__(self, flow: Flow, typesetter: Typesetter) -> None:
        self.notes: list[Note] = []
        self._flow = flow
        self._typesetter = typesetter
        self._style = Style()
        self._lists: tuple[ItemList, ...] = ()

    def draw(self, blocks: Iterable[Block]) -> None:
        """Draw blocks. One that fails is drawn as plain text: the others must not be lost with it."""
        style, lists = self._style, self._lists
        for block in blocks:
            place = self._flow.place()
            try:
                self._draw(block)
            except Exception as error:
                log.exception("a block of a document could not be drawn")
                self._flow.go_back(place)
                self._style, self._lists = style, lists
                text = plain_text(block)
                self.notes.append(Note("plain_block", {"start": text[:40], "error": repr(error)}))
                self._paragraph(Paragraph(plain_spans(text)))

    def _draw(self, block: Block) -> None:
        match block:
            case Paragraph():
                self._paragraph(block)
            case Heading():
                self._heading(block)
            case Code():
                draw_code(block, self._flow, self._typesetter)
            case Table():
                draw_table(block, self._flow, self._typesetter, self._style)
            case ItemList():
                self._list(block)
            case Definition():
                self._definition(block)
            case Quote(blocks):
                self._quote(blocks)
            case Rule():
                self._rule()
            case _:
                raise TypeError(f"no way to draw {block!r}")

    def _paragraph(self, paragraph: Paragraph) -> None:
        lines, rtl = self._lines(paragraph.spans, self._style)
        gap = 0.0 if paragraph.tight else look.PARAGRAPH_GAP
        self._place(lines, rtl, self._style.size, look.LEADING, gap)
        self._flow.done(gap)

    def _heading(self, heading: Heading) -> None:
        """A heading waits for the block after it: see `Flow.hold`."""
        shape = look.HEADINGS[heading.level - 1]
        style = self._style._replace(size=shape.size, ink=shape.ink, bold=True)
        lines, rtl = self._lines(heading.spans, style)
        line_height = shape.size * look.HEADING_LEADING
        height = len(lines) * line_height + shape.rule_pad + shape.rule
        if height > self._flow.whole_page / 2:  # a heading by its mark alone
            self._flow.begin(line_height, shape.before)
            self._flow.pages.anchors[heading.anchor] = (len(self._flow.pages.pages) - 1, self._flow.y)
            self._place(lines, rtl, shape.size, look.HEADING_LEADING, 0.0)
            self._flow.done(shape.after)
            return
        pages, start, end = self._flow.pages, self._flow.start, self._flow.end
        marker, self._flow.marker = self._flow.marker, None

        def draw(top: float) -> None:
            pages.anchors[heading.anchor] = (len(pages.pages) - 1, top)
            baseline = top + baseline_in(line_height, shape.size)
            if marker:
                marker.draw(pages, baseline)
            for line in lines:
                pages.text(line, start, end, baseline, rtl=rtl)
                baseline += line_height
            if shape.rule:
                pages.rule(start, end, top + height - shape.rule / 2, shape.ink, shape.rule)

        self._flow.hold(shape.before, height, shape.after, draw)

    def _list(self, items: ItemList) -> None:
        outer, self._lists = self._lists, (*self._lists, items)
        markers = [self._marker(items, number) for number in range(len(items.items))]
        widest = max([width_of(marker) for marker in markers], default=0.0)
        with self._flow.indented(max(look.LIST_INDENT, widest + look.MARKER_GAP)):
            for item, marker in zip(items.items, markers, strict=True):
                self._flow.marker = Marker(marker, self._flow.start - look.MARKER_GAP, item.anchor)
                self.draw(item.blocks)
                if self._flow.marker:  # an item with nothing in it
                    self._place([[]], False, self._style.size, look.LEADING, 0.0)
        self._lists = outer
        self._flow.done(0.0 if outer else look.PARAGRAPH_GAP)

    def _marker(self, items: ItemList, number: int) -> Line:
        """What stands before an item: its check box, its number, or the bullet of its depth."""
        checked = items.items[number].checked
        if checked is not None:
            text = look.CHECKED if checked else look.UNCHECKED
        elif items.start is not None:
            count = str(items.start + number)
            text = f".{count}" if self._flow.pages.rtl else f"{count}."
        else:
            depth = sum(outer.start is None for outer in self._lists)
            text = look.BULLETS[(depth - 1) % len(look.BULLETS)]
        return self._typesetter.line(text, self._style._replace(italic=False))

    def _definition(self, definition: Definition) -> None:
        style = self._style._replace(bold=True)
        lines, rtl = self._lines(definition.term, style)
        self._place(lines, rtl, style.size, look.LEADING, look.PARAGRAPH_GAP)
        self._flow.done(0.0)
        with self._flow.indented(look.LIST_INDENT):
            for meaning in definition.meanings:
                self.draw(meaning)
        self._flow.done(look.PARAGRAPH_GAP)

    def _quote(self, blocks: list[Block]) -> None:
        style, lists = self._style, self._lists
        self._style, self._lists = style._replace(italic=True, ink=look.QUOTE_INK), ()
        with self._flow.barred():
            self.draw(blocks)
        self._style, self._lists = style, lists

    def _rule(self) -> None:
        self._flow.begin(look.RULE_WIDTH, before=look.PARAGRAPH_GAP)
        self._flow.pages.rule(self._flow.start, self._flow.end, self._flow.y, look.RULE_INK, look.RULE_WIDTH)
        self._flow.y += look.RULE_WIDTH
        self._flow.done(look.PARAGRAPH_GAP)

    def _lines(self, spans: Spans, style: Style) -> tuple[list[Line], bool]:
        """The lines of a paragraph, and whether it runs from right to left."""
        boxes, rtl = levelled(self._typesetter.boxes(spans, style), self._typesetter)
        return break_lines(boxes, self._flow.width, self._typesetter), rtl

    def _place(self, lines: list[Line], rtl: bool, size: float, leading: float, before: float) -> None:
        """Draw lines over as many pages as they take, never one alone at the foot or the head of a page."""
        flow, height, count = self._flow, size * leading, len(lines)
        if not count:
            return
        flow.begin(height * (count if count <= 3 else 2), before)
        for number, line in enumerate(lines):
            needed = 2 if number == count - 2 and count > 3 else 1
            if flow.room < needed * height and not flow.at_top:
                flow.new_page()
            baseline = flow.y + baseline_in(height, size)
            flow.draw_marker(baseline)
            flow.pages.text(line, flow.start, flow.end, baseline, rtl=rtl)
            flow.y += height
