"""Newline-delimited JSON, read as it arrives (github.com/ndjson/ndjson-spec), forgiving what servers do."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

_decode = json.JSONDecoder(parse_constant=lambda name: None).raw_decode  # NaN could not be sent back


Line = dict[str, Any] | str
"""The object of a line; the text of one that is none."""


def read_lines(pieces: Iterable[bytes]) -> Iterator[list[Line]]:
    """The lines of the stream, those together that one piece completed.

    Pieces may be cut anywhere, inside a character too. Bytes that are no UTF-8 become U+FFFD. Blank
    lines are skipped, and so is an unreadable last line without its line feed: the stream was cut there.
    """
    rest = bytearray()
    for piece in pieces:
        rest += piece
        if b"\n" in piece:
            *lines, rest = rest.split(b"\n")
            texts = (line.decode("utf-8", "replace").strip() for line in lines)
            yield [_object(text) for text in texts if text]
    last = _object(rest.decode("utf-8", "replace").strip())
    if isinstance(last, dict):
        yield [last]


def _object(text: str) -> Line:
    try:
        value, end = _decode(text)
        if "\\ud" in text or "\\uD" in text:
            value = without_lone_surrogates(value)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) and end == len(text) else text


def without_lone_surrogates(value: Any) -> Any:
    """A value of JSON in which half a surrogate pair, which no UTF-8 can hold, is U+FFFD."""
    text = json.dumps(value, ensure_ascii=False)
    value, _ = _decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value
