"""Code in colours, by Pygments where its language is named."""

import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from tools.helper.pdf import look

log = logging.getLogger(__name__)

_LONGEST_BLOCK = 20_000
_LONGEST_LINE = 2_000
"""Characters beyond which code stays black: some lexers take time that grows faster than the text."""

Piece = tuple[str, str]
"""An ink, and the text in it."""


def coloured(code: str, language: str) -> list[list[Piece]]:
    """The lines of a block of code, each as its pieces of one colour."""
    lines = code.split("\n")
    lexer = _lexer(language.lower()) if language and len(code) <= _LONGEST_BLOCK else None
    if lexer is None or max(map(len, lines)) > _LONGEST_LINE:
        return [[(look.INK, line)] for line in lines]
    try:
        found = [list(line) for line in _lines(lexer, code)]
    except Exception:  # a lexer that trips must not cost the code itself
        log.warning("code in %s could not be coloured", language, exc_info=True)
        found = []
    whole = ["".join(text for _, text in line) for line in found]
    return found[:-1] if whole == [*lines, ""] else [[(look.INK, line)] for line in lines]


@lru_cache(maxsize=32)
def _lexer(language: str) -> Any:
    """None for a language that nobody knows."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None


def _lines(lexer: Any, code: str) -> Iterator[list[Piece]]:
    line: list[Piece] = []
    for kind, value in lexer.get_tokens(code):
        ink = _ink(kind)
        for number, text in enumerate(value.split("\n")):
            if number:
                yield line
                line = []
            if line and line[-1][0] == ink:
                line[-1] = (ink, line[-1][1] + text)
            elif text or not line:
                line.append((ink, text))
    yield line or [(look.INK, "")]


@lru_cache(maxsize=512)
def _ink(kind: Any) -> str:
    """The colour of a kind of token: that of its nearest ancestor that has one."""
    while kind.parent is not None:
        if ink := look.CODE_INKS.get(".".join(kind)):
            return ink
        kind = kind.parent
    return look.INK
