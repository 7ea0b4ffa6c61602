"""Markdown -> blocks. CommonMark with tables, strikethrough and check boxes; a line end is a line break.

Raw HTML is text like any other, but for `<br>`.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, cast

from tools.helper.pdf import markdown_rules
from tools.helper.pdf.blocks import (
    LINE_BREAK,
    Align,
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
    Spans,
    Table,
)
from tools.helper.pdf.notes import Note

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BARE_URL = re.compile(r"https?://[^\s<>\"'`\\^{|}、。「」（）]{1,1900}")
_URL_END = re.compile(r"[.,;:!?*_~'\"\])]+$")
_USABLE_LINK = re.compile(r"(?:https?|mailto|ftp|tel):|#.", re.IGNORECASE)
_CHECK_BOX = re.compile(r"\[([ xX])\](?:[ \n]|$)")
_ALIGN = re.compile(r"text-align:(left|center|right)")


def parse(markdown: str) -> tuple[list[Block], list[Note]]:
    """The blocks of a document, and what could not be read as it was meant."""
    env: dict[str, list[Note]] = {"notes": []}
    tokens = _parser().parse(markdown, env)
    return _Reader(tokens).blocks(), env["notes"]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "breaks": True, "maxNesting": markdown_rules.DEEPEST + 20}
    parser = MarkdownIt("commonmark", options)
    parser.enable(["table", "strikethrough"])
    markdown_rules.extend(parser)
    return parser


class _Reader:
    """Walks once over markdown-it's tokens: blocks in a flat list, each opened and closed."""

    def __init__(self, tokens: "list[Token]") -> None:
        self._tokens = iter(tokens)
        self._tight = False

    def blocks(self, end: str = "") -> list[Block]:
        """The blocks up to the token of type `end`."""
        found: list[Block] = []
        for token in self._tokens:
            if token.type == end:
                break
            block = self._block(token)
            if block is not None:
                found.append(block)
        return found

    def _block(self, token: "Token") -> Block | None:
        match token.type:
            case "paragraph_open":
                self._tight = token.hidden
            case "inline" | markdown_rules.PLAIN_INLINE:
                return Paragraph(_spans(token), self._tight)
            case "heading_open":
                return Heading(int(token.tag[1]), self._inline("heading_close"))
            case "fence" | "code_block":
                return Code(token.content.rstrip("\n"), token.info.strip().split(" ")[0])
            case "hr":
                return Rule()
            case "blockquote_open":
                return Quote(self.blocks("blockquote_close"))
            case "bullet_list_open":
                return self._list(None, "bullet_list_close")
            case "ordered_list_open":
                return self._list(int(token.attrs.get("start", 1)), "ordered_list_close")
            case "table_open":
                return self._table()
        return None  # the ends of paragraphs and items

    def _inline(self, end: str) -> Spans:
        spans: Spans = ()
        for token in self._tokens:
            if token.type == end:
                break
            spans = _spans(token)
        return spans

    def _list(self, start: int | None, end: str) -> ItemList:
        result = ItemList([], start)
        for token in self._tokens:
            if token.type == end:
                break
            if token.type == "list_item_open":
                item = Item(self.blocks("list_item_close"))
                _take_check_box(item)
                result.items.append(item)
        return result

    def _table(self) -> Table:
        table = Table()
        rows = table.header
        align: Align = "start"
        for token in self._tokens:
            match token.type:
                case "table_close":
                    break
                case "tbody_open":
                    rows = table.rows
                case "tr_open":
                    rows.append([])
                case "th_open" | "td_open":
                    found = _ALIGN.search(str(token.attrs.get("style", "")))
                    align = cast(Align, found[1]) if found else "start"
                case "inline" | markdown_rules.PLAIN_INLINE:
                    rows[-1].append(Cell(_spans(token), align))
        return table


def _take_check_box(item: Item) -> None:
    """Take the `[x]` that begins an item out of its text."""
    first = item.blocks[0] if item.blocks else None
    if isinstance(first, Paragraph) and first.spans and (box := _CHECK_BOX.match(first.spans[0].text)):
        item.checked = box[1] != " "
        rest = first.spans[0]._replace(text=first.spans[0].text[box.end() :])
        first.spans = (rest, *first.spans[1:])


def _spans(token: "Token") -> Spans:
    if token.type == markdown_rules.PLAIN_INLINE:
        return tuple(_lines(token.content))
    return tuple(_inline_spans(token.children or []))


def _lines(text: str) -> Iterator[Span]:
    for number, line in enumerate(text.split("\n")):
        if number:
            yield LINE_BREAK
        yield Span(line)


def _inline_spans(tokens: "list[Token]") -> Iterator[Span]:
    bold = italic = strike = 0
    links: list[str] = []
    for token in tokens:
        link = links[-1] if links else ""
        match token.type:
            case "text":
                span = Span(token.content, bold > 0, italic > 0, False, strike > 0, link)
                yield from (span,) if link or "://" not in span.text else _linked(span)
            case "code_inline":
                yield Span(token.content, bold > 0, italic > 0, True, strike > 0, link)
            case "softbreak" | "hardbreak":
                yield LINE_BREAK
            case "strong_open" | "strong_close":
                bold += token.nesting
            case "em_open" | "em_close":
                italic += token.nesting
            case "s_open" | "s_close":
                strike += token.nesting
            case "link_open":
                href = str(token.attrs.get("href", ""))
                links.append(href if _USABLE_LINK.match(href) else "")
            case "link_close":
                links.pop()
            case "image":
                yield _image(token, link)


def _image(token: "Token", link: str) -> Span:
    """An image as the text that stands for it, linked to where it is."""
    source = str(token.attrs.get("src", ""))
    web = source if source.startswith(("http://", "https://")) else ""
    return Span(f"[{token.content or source[:80] or '?'}]", italic=True, link=link or web)


def _linked(span: Span) -> Iterator[Span]:
    """The span in pieces: a bare address in it is a link of its own."""
    done = 0
    for found in _BARE_URL.finditer(span.text):
        url = _without_tail(found[0])
        if found.start() > done:
            yield span._replace(text=span.text[done : found.start()])
        yield span._replace(text=url, link=url)
        done = found.start() + len(url)
    if done < len(span.text):
        yield span._replace(text=span.text[done:])


def _without_tail(url: str) -> str:
    """The address without the signs that end a sentence; a bracket that it opened itself is its own."""
    tail = _URL_END.search(url)
    if not tail:
        return url
    kept = tail.start()
    if tail[0].startswith(")") and url.count("(", 0, kept) > url.count(")", 0, kept):
        kept += 1
    return url[:kept]
