"""Raw HTML in Markdown -> blocks: what people write into READMEs. Other elements stay as they are written."""

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import NamedTuple

from tools.helper.pdf.blocks import (
    LINE_BREAK,
    Block,
    Cell,
    Code,
    Heading,
    Item,
    ItemList,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    plain_spans,
)
from tools.helper.pdf.links import image_span, usable_link

_NOTHING = Span("")
_BLANKS = re.compile(r"\s+")

_MARKS: dict[str, Callable[[Span], Span]] = {
    **dict.fromkeys(("b", "strong", "dt", "summary"), lambda span: span._replace(bold=True)),
    **dict.fromkeys(("i", "em", "cite", "var", "dfn"), lambda span: span._replace(italic=True)),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), lambda span: span._replace(code=True)),
    **dict.fromkeys(("s", "del", "strike"), lambda span: span._replace(strike=True)),
    "sup": lambda span: span._replace(shift=1),
    "sub": lambda span: span._replace(shift=-1),
    "a": lambda span: span,
}
"""Elements that change how text looks, and how."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = ("ul", "ol")
_NESTING = frozenset({*_LISTS, "li", "blockquote", "table"})
_CELLS = ("td", "th")
_LINES = frozenset(
    {
        *("p", "div", "center", "section", "article", "main", "header", "footer", "nav", "aside", "details"),
        *("figure", "figcaption", "dl", "dd", "dt", "summary", "caption", "tr", "pre"),
    }
)
"""Elements that begin a line of their own, and are nothing else here."""
_UNSEEN = frozenset(
    {
        *(
            "span",
            "font",
            "u",
            "ins",
            "mark",
            "small",
            "big",
            "abbr",
            "q",
            "time",
            "label",
            "picture",
            "source",
        ),
        *("thead", "tbody", "tfoot", "colgroup", "col", "wbr", "html", "body", "img", "br", "hr"),
    }
)


class Marks:
    """How text looks at a place, by the inline elements that are open there."""

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []

    def start(self, tag: str, href: str = "") -> None:
        """An element begins; `href` is where a link leads."""
        self._open.append((tag, href))

    def end(self, tag: str) -> None:
        """The last element of this name ends, if one is open."""
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place][0] == tag:
                del self._open[place]
                return

    def of(self, span: Span) -> Span:
        """The span as it looks here."""
        for tag, href in self._open:
            span = _MARKS[tag](span)
            span = span._replace(link=href) if href else span
        return span


class InlineTag(NamedTuple):
    """A tag within a line: it begins or ends an element, or stands for a span."""

    tag: str
    ends: bool = False
    href: str = ""
    span: Span | None = None


def inline_tag(source: str) -> InlineTag | None:
    """What a tag within a line of Markdown means; None where it is shown as it is written."""
    reader = _TagReader()
    reader.feed(source)
    return reader.found


class _TagReader(HTMLParser):
    found: InlineTag | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "br":
            self.found = InlineTag(tag, span=LINE_BREAK)
        elif tag == "img":
            self.found = InlineTag(tag, span=image_span(given.get("alt") or "", given.get("src") or ""))
        elif tag in _MARKS:
            self.found = InlineTag(tag, href=usable_link(given.get("href") or ""))
        elif tag in _UNSEEN:
            self.found = InlineTag(tag, span=_NOTHING)

    def handle_endtag(self, tag: str) -> None:
        if tag in _MARKS:
            self.found = InlineTag(tag, ends=True)
        elif tag in _UNSEEN:
            self.found = InlineTag(tag, span=_NOTHING)

    def handle_comment(self, data: str) -> None:
        self.found = InlineTag("", span=_NOTHING)


def html_blocks(source: str) -> list[Block]:
    """The blocks of a piece of HTML. It may begin or end in the middle of an element: Markdown parts it at
    empty lines."""
    if source.count("<!--") > source.count("-->"):
        return [Paragraph(plain_spans(source.strip("\n")))]  # or all that follows would be lost
    reader = _Reader()
    reader.feed(source)
    reader.close()
    reader.finish()
    return reader.blocks


class _Reader(HTMLParser):
    """Builds blocks from tags. What is open is a stack of names, each with the blocks that go into it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._open: list[tuple[str, list[Block]]] = [("", self.blocks)]
        self._lists: list[ItemList] = []
        self._tables: list[Table] = []
        self._marks = Marks()
        self._spans: list[Span] = []
        self._level = 0
        self._pre = 0
        self._inner_tables = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "br":
            self._spans.append(LINE_BREAK)
        elif tag == "img":
            self._spans.append(self._marks.of(image_span(given.get("alt") or "", given.get("src") or "")))
        elif tag in _MARKS and tag not in _LINES and tag not in _CELLS:
            self._marks.start(tag, usable_link(given.get("href") or ""))
        elif tag in _NESTING or tag in _CELLS or tag in _LINES or tag in _HEADINGS or tag == "hr":
            self.flush()
            self._begin(tag, given)
        elif tag not in _UNSEEN:
            self.handle_data(self.get_starttag_text() or "")

    def _begin(self, tag: str, given: dict[str, str | None]) -> None:
        if self._tables and self._begin_in_table(tag):
            return
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag == "hr":
            self._add(Rule())
        elif tag == "pre":
            self._pre += 1
        elif tag in _LISTS:
            start = given.get("start") or "1"
            self._lists.append(
                ItemList([], (int(start) if start.isdecimal() else 1) if tag == "ol" else None)
            )
            self._add(self._lists[-1])
            self._open.append((tag, self._open[-1][1]))
        elif tag == "li" and self._lists:
            self._close("li", above=_LISTS)
            item = Item([])
            self._lists[-1].items.append(item)
            self._open.append((tag, item.blocks))
        elif tag == "blockquote":
            quote = Quote([])
            self._add(quote)
            self._open.append((tag, quote.blocks))
        elif tag == "table":
            self._tables.append(Table())
            self._open.append((tag, self._open[-1][1]))
        elif tag in ("dt", "summary"):
            self._marks.start(tag)

    def _begin_in_table(self, tag: str) -> bool:
        """Rows and cells; what else stands in a cell is lines of it. False where the tag is none of these."""
        rows = self._tables[-1].rows
        if tag == "table":
            self._inner_tables += 1
        elif tag == "tr" and not self._inner_tables:
            rows.append([])
        elif tag in _CELLS and not self._inner_tables:
            if not rows:
                rows.append([])
            rows[-1].append(Cell((), heads=tag == "th"))
        elif tag == "li":
            self._spans.append(Span("• "))
        return tag not in ("dt", "summary")

    def handle_endtag(self, tag: str) -> None:
        if tag in _MARKS and tag not in _LINES and tag not in _CELLS:
            self._marks.end(tag)
        elif tag in _NESTING:
            self.flush()
            if tag == "table" and self._inner_tables:
                self._inner_tables -= 1
            elif tag == "table" or not self._tables:
                self._close(tag)
        elif tag in _HEADINGS or tag in _LINES or tag in _CELLS:
            self.flush()
            self._level = 0
            self._pre -= tag == "pre" and self._pre > 0
            if tag in ("dt", "summary"):
                self._marks.end(tag)
        elif tag not in _UNSEEN:
            self.handle_data(f"</{tag}>")

    def _close(self, tag: str, above: tuple[str, ...] = ()) -> None:
        """Close the innermost element of this name, and what is open in it; none beyond those `above`."""
        names = [name for name, _ in self._open]
        while names and names[-1] not in (tag, *above):
            names.pop()
        if not names or names[-1] != tag:
            return
        while len(self._open) >= len(names):
            name, _ = self._open.pop()
            if name in _LISTS:
                self._lists.pop()
            elif name == "table":
                self._add(_with_header(self._tables.pop()))

    def finish(self) -> None:
        """Close what is open still."""
        self.flush()
        for table in self._tables:
            self.blocks.append(_with_header(table))

    def handle_data(self, data: str) -> None:
        text = data if self._pre else _BLANKS.sub(" ", data)
        if text and (self._pre or text != " " or self._spans):
            self._spans.append(self._marks.of(Span(text)))

    def flush(self) -> None:
        """End the line: what was written becomes a block, or goes on in the cell that is open."""
        spans, self._spans = self._spans, []
        if self._pre:
            if code := "".join(span.text for span in spans).strip("\n"):
                self._add(Code(code))
            return
        spans = list(_trimmed(spans))
        if not spans:
            return
        if self._tables and self._tables[-1].rows and self._tables[-1].rows[-1]:
            cell = self._tables[-1].rows[-1][-1]
            cell.spans = (*cell.spans, *((LINE_BREAK,) if cell.spans else ()), *spans)
        else:
            in_item = self._open[-1][0] == "li"
            text = tuple(spans)
            self._add(Heading(self._level, text) if self._level else Paragraph(text, tight=in_item))

    def _add(self, block: Block) -> None:
        self._open[-1][1].append(block)


def _with_header(table: Table) -> Table:
    """The rows of nothing but headings that a table begins with are its header."""
    while table.rows and table.rows[0] and all(cell.heads for cell in table.rows[0]):
        table.header.append(table.rows.pop(0))
    table.rows = [row for row in table.rows if row]
    return table


def _trimmed(spans: list[Span]) -> Iterator[Span]:
    """The spans without blanks and line ends around them."""
    shown = [at for at, span in enumerate(spans) if span.text.strip()]
    for at in range(shown[0], shown[-1] + 1) if shown else ():
        text = spans[at].text
        text = text.lstrip(" ") if at == shown[0] else text
        yield spans[at]._replace(text=text.rstrip(" ") if at == shown[-1] else text)
