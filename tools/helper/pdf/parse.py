"""Markdown -> blocks. CommonMark with tables, strikethrough, check boxes, footnotes and definition lists.

A line end is a line break, except in a paragraph that was wrapped at a fixed width.
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
    Definition,
    Heading,
    Item,
    ItemList,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Table,
    plain_spans,
)
from tools.helper.pdf.html_blocks import Marks, html_blocks, inline_tag
from tools.helper.pdf.links import image_span, linked, usable_link
from tools.helper.pdf.notes import Note
from tools.helper.pdf.wrapping import is_hard_wrapped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_NOTE = "footnote-"
"""What the anchors of footnotes begin with."""
_SPACE = Span(" ")
_CHECK_BOX = re.compile(r"\[([ xX])\](?:[ \n]|$)")
_ALIGN = re.compile(r"text-align:(left|center|right)")


def parse(markdown: str) -> tuple[list[Block], list[Note]]:
    """The blocks of a document, and what could not be read as it was meant."""
    env: dict[str, list[Note]] = {"notes": []}
    tokens = _parser().parse(markdown, env)
    return list(_Reader(tokens).blocks()), env["notes"]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    options = {"html": True, "breaks": True, "maxNesting": markdown_rules.DEEPEST + 20}
    parser = MarkdownIt("commonmark", options)
    parser.enable(["table", "strikethrough"]).use(footnote_plugin).use(deflist_plugin)
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
            if token.type == "html_block":
                found += html_blocks(token.content)
            elif token.type == "footnote_block_open":
                found += self._footnotes()
            elif token.type == "dl_open":
                found += self._definitions()
            elif block := self._block(token):
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

    def _footnotes(self) -> list[Block]:
        """What stands at the end, below a rule."""
        notes = ItemList([], 1)
        for token in self._tokens:
            if token.type == "footnote_block_close":
                break
            if token.type == "footnote_open":
                anchor = f"{_NOTE}{int(token.meta['id']) + 1}"
                notes.items.append(Item(self.blocks("footnote_close"), anchor=anchor))
        return [Rule(), notes]

    def _definitions(self) -> list[Block]:
        found: list[Block] = []
        for token in self._tokens:
            match token.type:
                case "dl_close":
                    break
                case "dt_open":
                    found.append(Definition(self._inline("dt_close"), []))
                case "dd_open":
                    meaning = self.blocks("dd_close")
                    if meaning and isinstance(meaning[0], Paragraph):
                        meaning[0].tight = True  # it stands close to its term
                    if found and isinstance(found[-1], Definition):
                        found[-1].meanings.append(meaning)
        return found

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
        return plain_spans(token.content)
    line_end = _SPACE if is_hard_wrapped(token.content) else LINE_BREAK
    return tuple(_inline_spans(token.children or [], line_end))


def _inline_spans(tokens: "list[Token]", line_end: Span = LINE_BREAK) -> Iterator[Span]:
    marks = Marks()
    for token in tokens:
        match token.type:
            case "text":
                span = marks.of(Span(token.content))
                yield from (span,) if span.link or "://" not in span.text else linked(span)
            case "code_inline":
                yield marks.of(Span(token.content, code=True))
            case "softbreak":
                yield line_end
            case "hardbreak":
                yield LINE_BREAK
            case "strong_open" | "em_open" | "s_open":
                marks.start(token.tag)
            case "link_open":
                marks.start("a", usable_link(str(token.attrs.get("href", ""))))
            case "strong_close" | "em_close" | "s_close" | "link_close":
                marks.end(token.tag)
            case "image":
                yield marks.of(image_span(token.content, str(token.attrs.get("src", ""))))
            case "html_inline":
                yield from _html_spans(token.content, marks)
            case "footnote_ref":
                number = int(token.meta["id"]) + 1
                yield marks.of(Span(str(number), link=f"#{_NOTE}{number}", shift=1))


def _html_spans(source: str, marks: Marks) -> Iterator[Span]:
    tag = inline_tag(source)
    if tag is None:
        yield marks.of(Span(source))
    elif tag.span is not None:
        yield tag.span if tag.span is LINE_BREAK else marks.of(tag.span)
    elif tag.ends:
        marks.end(tag.tag)
    else:
        marks.start(tag.tag, tag.href)
