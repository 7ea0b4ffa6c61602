"""Text from the web without the signs that nobody sees.

Invisible characters carry nothing for a reader, but a model reads them: whole sentences can be hidden in
tag characters or turned around by bidirectional controls.
"""

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls but tab, line feed, return, next line
    "\u00ad\u200b\u2060-\u2064\ufeff"  # soft hyphen, widths of zero
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embedding and override
    "\ud800-\udfff\ue000-\uf8ff"  # lone surrogates, private use
    "\U000e0000-\U000e007f]"  # tags
)
_LINE_END = re.compile("[\r\x85\u2028\u2029]")


def without_unseen(text: str) -> str:
    """The text with line feeds alone as line ends, and without invisible characters.

    Zero-width joiners and directional marks stay: emoji, Persian and Indic scripts need them.
    """
    return _UNSEEN.sub("", _LINE_END.sub("\n", text.replace("\r\n", "\n")))


def one_line(text: str, limit: int | None = None) -> str:
    """The text on one line, in at most `limit` characters; a cut one ends with an ellipsis."""
    joined = " ".join(without_unseen(text).split())
    return joined if limit is None or len(joined) <= limit else joined[: limit - 1].rstrip() + "…"
