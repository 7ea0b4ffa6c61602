"""Code and quotations in a text: nothing in them is a call, however much it looks like one.

What code and block quotes are follows CommonMark (spec.commonmark.org, 0.31).
"""

import re

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")

_QUOTES = {"«": "»", "“": "”", "„": "“", "‹": "›", "「": "」", "『": "』", '"': '"', "'": "'"}
_QUOTE = re.compile(r"""(?P<open>[«“„‹「『]|(?<![\w"'])["'](?=\S|\Z))|[»”›」』"']""")
_QUOTE_REACH = 500


def end_of_fence(mark: str) -> re.Pattern[str]:
    """The line that closes the fence which this one opens."""
    sign = mark.strip()[0]
    count = len(mark.strip()) - len(mark.strip().lstrip(sign))
    return re.compile(rf"^[ \t]*{sign}{{{count},}}[ \t]*$", re.MULTILINE)


END_OF_LINE = re.compile(r"\n")
END_OF_INDENT = re.compile(r"\n(?![ ]{4}|\t|\n)")


class CodeSpan:
    """The code span that is open, in a text that is seen from left to right."""

    def __init__(self) -> None:
        self._close: re.Pattern[str] | None = None
        self._start = 0
        self._seen = 0  # up to here, the span has not ended

    def end(self) -> None:
        """A block ends here, and with it what was open."""
        self._close = None

    def see(self, text: str, mark: re.Match[str]) -> None:
        """A run of backticks, or a tag of code, begins or ends a span."""
        if self._close and _PARAGRAPH_END.search(text, self._seen, mark.start()):
            self._close = None
        if mark[0].startswith("</") or (self._close and self._close.fullmatch(mark[0])):
            self._close = None
        elif self._close is None:
            is_tag = mark[0].startswith("<")
            close = f"</{mark[0][1:]}" if is_tag else rf"(?<!`)`{{{len(mark[0])}}}(?!`)"
            self._close = re.compile(close, re.IGNORECASE)
            self._start = self._seen = mark.end()

    def reach(self, text: str, start: int, end: int, *, final: bool) -> int | None:
        """How far the span goes that `start` is in: no further if it is in none, None if more text may tell.

        The text is looked at as far as `end`. A backtick that no other closes is only a sign, unless it
        stands directly before this place.
        """
        if self._close is None:
            return start
        if not _PARAGRAPH_END.search(text, self._seen, start):
            self._seen = start
            paragraph = _PARAGRAPH_END.search(text, start, end)
            limit = paragraph.start() if paragraph else end
            close = self._close.search(text, start, limit)
            if not close and not paragraph and not final:
                return None
            if close or not text[self._start : start].strip():
                self._close = None
                return close.end() if close else limit
        self._close = None
        return start


def between_quotes(text: str, start: int, end: int, *, final: bool) -> bool | None:
    """Whether what stands from `start` to `end` is in quotation marks; None while the second may still come.

    Both are looked for in the same paragraph; the first is enough if it stands directly before `start`.
    """
    opening = _open_quote(text, start)
    if opening is None:
        return False
    closing = re.compile(rf"{re.escape(_QUOTES[opening[0]])}(?!\w)")
    paragraph = _PARAGRAPH_END.search(text, end)
    if closing.search(text, end, paragraph.start() if paragraph else len(text)):
        return True
    return not text[opening.end() : start].strip() if paragraph or final else None


def _open_quote(text: str, end: int) -> re.Match[str] | None:
    """The sign that begins the quotation which is open at `end`."""
    start = max(0, end - _QUOTE_REACH)
    start = max(start, text.rfind("\n\n", start, end))
    opening = None
    for sign in _QUOTE.finditer(text, start, end):
        if opening is None and sign["open"]:
            opening = sign
        elif opening and sign[0] == _QUOTES[opening[0]]:
            opening = None
    return opening
