"""What this panel reads otherwise than CommonMark does, as rules for markdown-it."""

import re
from typing import TYPE_CHECKING

from tools.helper.pdf.characters import IS_CJK
from tools.helper.pdf.notes import Note

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

PLAIN_INLINE = "plain_inline"
"""The type of a token whose content is text without any marks."""

DEEPEST = 60
"""Levels of nested lists and quotes; markdown-it goes one call deeper for each."""

_MANY_MARKS = 2000
_DEEPEST_BRACKETS = 20
"""Marks in one paragraph from which on the time to pair them grows with their square."""

_MARKS = "*_[]`<&~"
_BRACKETS = re.compile(r"[\[\]]")
_BR = re.compile(r"<br\s*/?>", re.IGNORECASE)


def extend(parser: "MarkdownIt") -> None:
    """Give a parser the rules of this module."""
    parser.block.ruler.before("table", "deepest", _deepest)
    parser.core.ruler.before("inline", "crowded", _crowded)
    parser.inline.ruler.before("autolink", "line_break_tag", _line_break_tag)
    parser.inline.ruler.at("emphasis", _emphasis)


def _deepest(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """Beyond the deepest level everything is plain text. (markdown-it would drop it.)"""
    if state.level < DEEPEST:
        return False
    state.push("paragraph_open", "p", 1)
    state.push(PLAIN_INLINE, "", 0).content = state.getLines(start, end, state.blkIndent, False).strip()
    state.push("paragraph_close", "p", -1)
    state.line = end
    return True


def _crowded(state: "StateCore") -> None:
    """A paragraph with thousands of marks is a mistake or an attack: its marks stay as they are written."""
    for token in state.tokens:
        if token.type == "inline" and _is_crowded(token.content):
            token.type = PLAIN_INLINE
            state.env["notes"].append(Note("crowded", {"start": token.content[:40]}))


def _is_crowded(text: str) -> bool:
    if sum(map(text.count, _MARKS)) > _MANY_MARKS:
        return True
    depth = deepest = 0
    if text.count("[") > _DEEPEST_BRACKETS:
        for bracket in _BRACKETS.findall(text):
            depth = depth + 1 if bracket == "[" else max(0, depth - 1)
            deepest = max(deepest, depth)
    return deepest > _DEEPEST_BRACKETS


def _line_break_tag(state: "StateInline", silent: bool) -> bool:
    """`<br>` breaks a line, which is how a cell of a table gets two."""
    found = _BR.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _emphasis(state: "StateInline", silent: bool) -> bool:
    """CommonMark's rule, but next to ideographs and kana punctuation does not count.

    Without that `**「強調」**の` and `**注意：**ここ` would show their stars: Chinese and Japanese write no
    space there (https://github.com/commonmark/commonmark-spec/issues/650).
    """
    from markdown_it.rules_inline.state_inline import Delimiter

    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    run = state.scanDelims(state.pos, marker == "*")
    can_open, can_close = run.can_open, run.can_close
    before = state.src[state.pos - 1 : state.pos]
    after = state.src[state.pos + run.length : state.pos + run.length + 1]
    if marker == "*" and before.strip() and after.strip() and (IS_CJK.match(before) or IS_CJK.match(after)):
        can_open = can_close = True
    for _ in range(run.length):
        state.push("text", "", 0).content = marker
        state.delimiters.append(
            Delimiter(ord(marker), run.length, len(state.tokens) - 1, -1, can_open, can_close)
        )
    state.pos += run.length
    return True
