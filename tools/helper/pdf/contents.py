"""The headings of a document: the names under which links find them, and the table of contents."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tools.helper.pdf import look
from tools.helper.pdf.bidi import levelled
from tools.helper.pdf.blocks import Align, Block, Heading, ItemList, Quote, plain_text
from tools.helper.pdf.flow import Flow, baseline_in
from tools.helper.pdf.lines import break_lines
from tools.helper.pdf.pages import Pages
from tools.helper.pdf.typeset import Style, Typesetter

FEWEST = 5
"""Headings below the title from which on a document has an outline, and a table of contents if wished."""

_LEVELS = 2
_MOST_ENTRIES = 200


def name_headings(blocks: Iterable[Block]) -> None:
    """Give every heading its anchor, as the usual Markdown sites make it; equal ones are numbered."""
    seen: Counter[str] = Counter()
    for heading in _headings(blocks):
        name = re.sub(r"[^\w\- ]", "", plain_text(heading).strip().lower()).replace(" ", "-")
        number = seen[name]
        seen[name] += 1
        heading.anchor = f"{name}-{number}" if number else name


def _headings(blocks: Iterable[Block]) -> Iterator[Heading]:
    for block in blocks:
        match block:
            case Heading():
                yield block
            case Quote(inner):
                yield from _headings(inner)
            case ItemList(items):
                for item in items:
                    yield from _headings(item.blocks)


def sections(blocks: Sequence[Block]) -> list[Heading]:
    """The headings that an outline lists: those of the document itself, without its title."""
    found = [block for block in blocks if isinstance(block, Heading) and plain_text(block).strip()]
    if found and found[0] is blocks[0] and found[0].level == 1:
        found = found[1:]
    return found if len(found) >= FEWEST else []


@dataclass(frozen=True)
class _Entry:
    """Where the page number of an entry goes, once it is known: on which baseline of which page, and after
    how many of that page's operators, so that who copies the text finds it there."""

    anchor: str
    page: int
    baseline: float
    operators: int


class Contents:
    """A table of contents: drawn where it stands, and given its page numbers when all is laid out."""

    def __init__(self, headings: Sequence[Heading], typesetter: Typesetter) -> None:
        highest = min((heading.level for heading in headings), default=1)
        shown = [heading for heading in headings if heading.level < highest + _LEVELS]
        self._headings = [
            heading for heading in shown if len(shown) <= _MOST_ENTRIES or heading.level == highest
        ]
        self._highest = highest
        self._typesetter = typesetter
        self._entries: list[_Entry] = []

    def draw(self, flow: Flow) -> None:
        """Draw the entries; they stand together with nothing, so that they may fill many pages."""
        height = look.BODY_SIZE * look.CONTENTS_LEADING
        for heading in self._headings:
            style = Style(ink=look.INK, link=f"#{heading.anchor}", bold=heading.level == self._highest)
            with flow.indented(look.LIST_INDENT * (heading.level - self._highest)):
                spans = [span._replace(link="", bold=False) for span in heading.spans]
                boxes, rtl = levelled(self._typesetter.boxes(spans, style), self._typesetter)
                baseline = 0.0
                for line in break_lines(boxes, flow.width - look.CONTENTS_NUMBER, self._typesetter):
                    flow.begin(height)
                    baseline = flow.y + baseline_in(height, look.BODY_SIZE)
                    flow.pages.text(line, flow.start, flow.end, baseline, rtl=rtl)
                    flow.y += height
            drawn = len(flow.pages.pages[-1].operators)
            self._entries.append(_Entry(heading.anchor, len(flow.pages.pages) - 1, baseline, drawn))
        flow.done(look.PARAGRAPH_GAP)

    def number(self, pages: Pages) -> None:
        """Put the page number at the end of each entry."""
        end = pages.paper.width - look.MARGIN
        align: Align = "left" if pages.rtl else "right"
        for entry in reversed(self._entries):
            if entry.anchor in pages.anchors:
                line = self._typesetter.line(str(pages.anchors[entry.anchor][0] + 1), Style())
                operators = pages.pages[entry.page].operators
                later = operators[entry.operators :]
                del operators[entry.operators :]
                pages.text(line, look.MARGIN, end, entry.baseline, align=align, page=entry.page)
                operators += later
