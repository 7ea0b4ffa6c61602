"""The text of a PDF as its author wrote it: a PDF holds what was printed, line by line and sign by sign."""

import re
import unicodedata

from tools.helper.plain_text import without_unseen

_LIGATURE = re.compile("[\ufb00-\ufb06]")
BULLET = re.compile("[\uf0a7\uf0b7\uf0fc\uf076\uf0d8]")
"""Bullets of Symbol and Wingdings, which have no other code than one for private use."""

_PRIVATE = re.compile("[\U000f0000-\U0010ffff]")
"""Signs of a font that says nothing of what they mean; those of the first plane go with what is unseen."""

_MARKED_HYPHEN = re.compile("[\x02\ufffe\u00ad]\r?\n?")
"""pdfium's own marks for a hyphen that is only there because the line ends; and the soft hyphen."""

_LINE_END_HYPHEN = re.compile(r"([^\W\d_]+)[-\u2010]\n([^\W\d_]+)")
_BLANKS = " \t\u00a0"
_EMPTY_LINES = re.compile(r"\n{3,}")


def repaired(text: str) -> str:
    """Ligatures as letters, words that a line end parted in one piece, and nothing that nobody sees."""
    if "\x02" in text or not text.isascii():
        text = _MARKED_HYPHEN.sub("", text)
        text = _LIGATURE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
        text = _PRIVATE.sub("", BULLET.sub("•", text))
    lines = without_unseen(text).split("\n")
    text = _joined("\n".join([line.rstrip(_BLANKS) for line in lines]))
    return (_EMPTY_LINES.sub("\n\n", text) if "\n\n\n" in text else text).strip("\n")


def _joined(text: str) -> str:
    """Words joined where a line ends in a hyphen: without it where both halves are in small letters, unless
    the page has the same word with it elsewhere."""
    if "-\n" not in text and "\u2010\n" not in text:
        return text
    with_hyphen = set(re.findall(r"[^\W\d_]+-[^\W\d_]+", text))

    def join(found: re.Match[str]) -> str:
        before, after = found[1], found[2]
        if not (before[-1].islower() and after[0].islower()) or f"{before}-{after}" in with_hyphen:
            return f"{before}-{after}"
        return before + after

    return _LINE_END_HYPHEN.sub(join, text)
