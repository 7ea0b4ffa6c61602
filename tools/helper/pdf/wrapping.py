"""Paragraphs that were wrapped at a fixed width: their line ends mean nothing."""

from itertools import pairwise

from tools.helper.pdf.characters import IS_CJK

_NARROWEST, _WIDEST = 45, 130
"""Characters of the longest line of such a paragraph."""


def is_hard_wrapped(text: str) -> bool:
    """Whether each line is as full as the longest one allows: the first word of the next had no room there.

    Lines of a poem, an address or a list of facts end for reasons of their own, and so do those of scripts
    without spaces.
    """
    lines = [line.strip() for line in text.split("\n")]
    if len(lines) < 2 or IS_CJK.search(text):
        return False
    width = max(map(len, lines))
    if not _NARROWEST <= width <= _WIDEST or (len(lines) == 2 and width < _WIDEST // 2):
        return False
    return all(len(line) + 1 + len(following.split(" ", 1)[0]) > width for line, following in pairwise(lines))
