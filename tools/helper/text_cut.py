"""Where a long text may be cut: at the end of something, and never inside what a reader sees as one sign."""

import re
import unicodedata

_ENDS = tuple(
    re.compile(pattern)
    for pattern in (r"\n[ \t]*\n+", r"\n", r"[.!?…][\"'”’»)\]]*\s+|[。！？][”』」）]*", r"\s+|[、，；]")
)
"""The ends that a reader would choose, best first: of a paragraph, a line, a sentence, a word."""

_JOINER = "\u200d"
_ENCLOSED = re.compile(
    "[\u0e33\u0eb3\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\uff9e\uff9f\u200c]"
)
"""Signs that belong to the one before them beside the combining ones: vowels, variants, skin tones, tags."""
_PREPENDED = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
_HANGUL_PAIR = re.compile(
    "[\u1100-\u115f\ua960-\ua97c][\u1100-\u11ff\ua960-\ua97c\uac00-\ud7ff]"
    "|[\u1100-\u11ff\uac00-\ud7ff][\u1160-\u11ff\ud7b0-\ud7ff]"
)
"""A lead with what follows it, and a syllable or letter with the vowel or tail after it."""
_VIRAMA = 9
"""The combining class of the signs that tie two consonants of Indic scripts together."""
_LONGEST_SIGN = 64


def cut_end(text: str, start: int, room: int) -> int:
    """The best end, after `start`, of a part of at most `room` characters (at least 1)."""
    last = start + room
    if last >= len(text):
        return len(text)
    for pattern in _ENDS:
        ends = [match.end() for match in pattern.finditer(text, start + room // 2, last)]
        good = next((end for end in reversed(ends) if not is_inside_sign(text, end)), None)
        if good is not None:
            return good
    return _sign_boundary(text, start, last)


def is_inside_sign(text: str, index: int) -> bool:
    """Whether a cut before `text[index]` would part what is seen as one sign (Unicode annex 29)."""
    if not 0 < index < len(text):
        return False
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":
        return before == "\r" and after == "\n"
    if before in "\r\n":
        return False
    return bool(
        _ENCLOSED.match(after)
        or after == _JOINER
        or unicodedata.category(after) in ("Mn", "Mc", "Me")
        or _PREPENDED.match(before)
        or (before == _JOINER and not after.isspace())
        or (after.isalpha() and _ends_in_virama(text, index))
        or _HANGUL_PAIR.match(before + after)
        or _is_flag(text, index)
    )


def _ends_in_virama(text: str, index: int) -> bool:
    """Whether a virama, and nothing but marks after it, stands before `index`."""
    for sign in reversed(text[max(index - 4, 0) : index]):
        if unicodedata.combining(sign) == _VIRAMA:
            return True
        if not (unicodedata.category(sign) in ("Mn", "Mc", "Cf") or _ENCLOSED.match(sign)):
            return False
    return False


def _is_flag(text: str, index: int) -> bool:
    """Two regional indicators make a flag; of several, each pair does."""
    first = index
    while first > 0 and _is_indicator(text[first - 1]):
        first -= 1
    return _is_indicator(text[index]) and (index - first) % 2 == 1


def _is_indicator(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def _sign_boundary(text: str, start: int, last: int) -> int:
    """The end of the last whole sign; within an endless one, of the last code point that fits."""
    for end in range(last, max(start, last - _LONGEST_SIGN), -1):
        if not is_inside_sign(text, end):
            return end
    return last
