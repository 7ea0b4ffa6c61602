"""What a document is made of, as the parser finds it and the layout draws it."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Align = Literal["start", "left", "center", "right"]
"""Where the text of a cell stands; "start" is where its script begins a line."""


class Span(NamedTuple):
    """A stretch of text of one kind. `link` is its address, or "" without one; `shift` is 1 for small text
    above the line, -1 for such below it."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    link: str = ""
    shift: int = 0


LINE_BREAK = Span("\n")

Spans = tuple[Span, ...]


@dataclass(slots=True)
class Paragraph:
    """A paragraph; `tight` ones stand close to what follows, as in the items of a short list."""

    spans: Spans
    tight: bool = False


@dataclass(slots=True)
class Heading:
    """A heading of level 1 to 6. Links find it by its `anchor`."""

    level: int
    spans: Spans
    anchor: str = ""


@dataclass(slots=True)
class Code:
    """Lines that keep their spaces; `language` as the author named it."""

    text: str
    language: str = ""


@dataclass(slots=True)
class Rule:
    """A line across the page."""


@dataclass(slots=True)
class Quote:
    blocks: "list[Block]"


@dataclass(slots=True)
class Item:
    """An item of a list; `checked` is None for one that has no check box. Links find it by its `anchor`."""

    blocks: "list[Block]"
    checked: bool | None = None
    anchor: str = ""


@dataclass(slots=True)
class ItemList:
    """A list, numbered from `start`, or with bullets where that is None."""

    items: list[Item]
    start: int | None = None


@dataclass(slots=True)
class Definition:
    """Words and what they mean, each meaning as blocks of its own."""

    term: Spans
    meanings: "list[list[Block]]"


@dataclass(slots=True)
class Cell:
    """A cell of a table; `heads` where it was written as the head of its column or row."""

    spans: Spans
    align: Align = "start"
    heads: bool = False


@dataclass(slots=True)
class Table:
    """Rows of cells; the header's rows stand first, and again on each page. Rows may differ in length."""

    header: list[list[Cell]] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)


Block = Paragraph | Heading | Code | Rule | Quote | ItemList | Definition | Table


def plain_spans(text: str) -> Spans:
    """A text of several lines as spans."""
    return tuple(span for line in text.split("\n") for span in (Span(line), LINE_BREAK))[:-1]


def plain_text(block: Block | Item) -> str:
    """The bare text of a block, a line for each of its parts."""
    match block:
        case Paragraph(spans) | Heading(_, spans):
            return _text(spans)
        case Code(text):
            return text
        case Quote(blocks) | Item(blocks):
            return "\n".join(plain_text(inner) for inner in blocks)
        case Definition(term, meanings):
            return "\n".join([_text(term), *(plain_text(inner) for each in meanings for inner in each)])
        case ItemList(items):
            return "\n".join(plain_text(item) for item in items)
        case Table(header, rows):
            return "\n".join(" | ".join(_text(cell.spans) for cell in row) for row in header + rows)
    return ""


def _text(spans: Spans) -> str:
    return "".join(span.text for span in spans)
