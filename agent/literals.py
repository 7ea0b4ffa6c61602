"""Values as models write them: JSON, and what is nearly JSON.

Beyond JSON (RFC 8259) this reads real line feeds in strings, single, triple and typographic quotes,
Python's True, False and None, names without quotes, comments, a comma too many, and the strings of Gemma's
calls (`<|"|>…<|"|>`, ai.google.dev/gemma/docs). Nothing is evaluated, and nothing is guessed: where a text
has two readings it is malformed.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

_JSON = json.JSONDecoder(strict=False)
_DEPTH = 64
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w.-]*")
_KEYWORD = re.compile(r"([^\W\d]\w*)\s*=(?!=)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}

_STRINGS = (
    ('"""', re.compile(r'((?:[^"\\]++|\\.|"(?!""))*+)"""', re.DOTALL)),
    ("'''", re.compile(r"((?:[^'\\]++|\\.|'(?!''))*+)'''", re.DOTALL)),
    ('"', re.compile(r'((?:[^"\\]++|\\.)*+)"', re.DOTALL)),
    ("'", re.compile(r"((?:[^'\\]++|\\.)*+)'", re.DOTALL)),
    ("“", re.compile(r"((?:[^”\\]++|\\.)*+)”", re.DOTALL)),
)
_VERBATIM = ('<|"|>', "<escape>")
"""Quotes that are the same at both ends, with nothing escaped between them."""

_ESCAPE = re.compile(
    r"\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|U(000[\da-fA-F]{5}|0010[\da-fA-F]{4})|(.))", re.DOTALL
)
_ESCAPED = {
    **{"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""},
    **{sign: sign for sign in "\"'\\/"},
}


class Unreadable(ValueError):
    """No whole value: the text was `cut` inside it, or is malformed.

    `partial` is what was read until then; a key whose value was not read to its end has `...`.
    """

    def __init__(self, *, cut: bool, partial: Any = None) -> None:
        super().__init__("cut" if cut else "malformed")
        self.cut = cut
        self.partial = partial


def read_value(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start`, and where it ends. Raises Unreadable."""
    try:
        value, end = _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _Reader(text, start).read()
    if _SURROGATE.search(text, start, end):  # half a pair can't be encoded again
        return _Reader(text, start).read()
    if _too_deep(value):
        raise Unreadable(cut=False)
    return value, end


def read_arguments(text: str, start: int) -> tuple[dict[str | int, Any], int]:
    """The arguments of a Python call, from behind its bracket to behind the closing one.

    One without a name has its position as key. Raises Unreadable; also for anything but a literal.
    """
    reader = _Reader(text, start)
    return reader.arguments(), reader.at


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        containers = [each for each in level if isinstance(each, (dict, list))]
        level = [
            inner for each in containers for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._root: Any = None
        self.at = start

    def read(self) -> tuple[Any, int]:
        self._value(self._keep_root, 1)
        return self._root, self.at

    def arguments(self) -> dict[str | int, Any]:
        given = self._root = {}
        self._members(given, ")", 1)
        return given

    def _keep_root(self, value: Any) -> None:
        self._root = value

    def _malformed(self) -> Unreadable:
        return Unreadable(cut=False, partial=self._root)

    def _cut(self) -> Unreadable:
        return Unreadable(cut=True, partial=self._root)

    def _next(self) -> str:
        """The next sign that is not blank."""
        self.at = _BLANK.match(self._text, self.at).end()  # type: ignore[union-attr]
        if self.at >= len(self._text):
            raise self._cut()
        return self._text[self.at]

    def _value(self, keep: Callable[[Any], None], depth: int) -> None:
        """Read a value. `keep` gets a container while it is still empty, so that a cut leaves its part."""
        sign = self._next()
        if depth > _DEPTH:
            raise self._malformed()
        if sign == "{":
            self.at += 1
            members: dict[str | int, Any] = {}
            keep(members)
            self._members(members, "}", depth)
        elif sign == "[":
            self.at += 1
            items: list[Any] = []
            keep(items)
            self._items(items, depth)
        else:
            keep(self._scalar())

    def _items(self, items: list[Any], depth: int) -> None:
        while self._next() != "]":
            self._value(items.append, depth + 1)
            self._comma("]")
        self.at += 1

    def _members(self, members: dict[Any, Any], close: str, depth: int) -> None:
        """Keys and values until `close`: of an object, or the arguments of a Python call."""
        while self._next() != close:
            key = self._keyword(members) if close == ")" else self._key()
            members[key] = ...
            self._value(partial(members.__setitem__, key), depth + 1)
            if depth == 1 and close == "}" and self._next() == "<":
                return  # a tag where the last brace is missing: the values themselves are whole
            self._comma(close)
        self.at += 1

    def _key(self) -> Any:
        name = _NAME.match(self._text, self.at)
        if name and name.end() == len(self._text):
            raise self._cut()
        key = name[0] if name else self._string()
        if name:
            self.at = name.end()
        if key is None or self._next() != ":":
            raise self._malformed()
        self.at += 1
        return key

    def _keyword(self, members: dict[Any, Any]) -> str | int:
        keyword = _KEYWORD.match(self._text, self.at)
        if keyword is None:
            return len(members)
        self.at = keyword.end()
        return keyword[1]

    def _comma(self, close: str) -> None:
        sign = self._next()
        if sign == ",":
            self.at += 1
        elif sign != close:
            raise self._malformed()

    def _scalar(self) -> Any:
        string = self._string()
        if string is not None:
            return string
        found = _NUMBER.match(self._text, self.at) or _NAME.match(self._text, self.at)
        end = found.end() if found else self.at + 1
        if end == len(self._text):  # 1 may have become 10
            raise self._cut()
        if found is None:
            raise self._malformed()
        self.at = end
        if found.re is _NAME:
            if found[0] not in _WORDS:
                raise self._malformed()
            return _WORDS[found[0]]
        try:
            return float(found[0]) if set(found[0]) & set(".eE") else int(found[0])
        except ValueError:  # more digits than Python converts
            raise self._malformed() from None

    def _string(self) -> str | None:
        """The string at this place, None where there is none."""
        for quote in _VERBATIM:
            if self._text.startswith(quote, self.at):
                start = self.at + len(quote)
                end = self._text.find(quote, start)
                if end < 0:
                    raise self._cut()
                self.at = end + len(quote)
                return self._text[start:end]
        for quote, rest in _STRINGS:
            if self._text.startswith(quote, self.at):
                found = rest.match(self._text, self.at + len(quote))
                if found is None:
                    raise self._cut()
                self.at = found.end()
                return self._unescaped(found[1])
        return None

    def _unescaped(self, written: str) -> str:
        escapes = list(_ESCAPE.finditer(written))
        unknown = [escape for escape in escapes if escape[4] and escape[4] not in _ESCAPED]
        if not unknown:
            plain = _ESCAPE.sub(_sign, written)
            return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if any(escape not in unknown and escape[4] not in ('"', "'") for escape in escapes):
            raise self._malformed()  # C:\data\new: is \n a line feed here?
        return re.sub(r"\\([\"'])", r"\1", written)


def _sign(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    return chr(int(code, 16)) if code else _ESCAPED[escape[4]]
