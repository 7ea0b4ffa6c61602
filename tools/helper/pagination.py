"""Long texts given in parts, and the tokens by which the next part is asked for.

A token is base64url(JSON) without padding: it holds all that is needed to go on, so it survives a restart
and never expires. The JSON has `v`, `tool` and the tool's own fields, such as `url` and `offset`.
"""

import base64
import binascii
import json
import re
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from tools.failure import Failure
from tools.helper.text_cut import cut_end

VERSION = 2
_MARK = "---page-info---"
_FOOTER = f"\n\n{_MARK}\n"
_LONGEST_TOKEN = 8192
_MOST_ISSUED = 1000
_ALIKE = 0.9
"""How alike a retyped token must be to one that was issued; an edit or two in a token stays above it."""
_WRAPPING = "`'\"<>()[]{}.,;:="
_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_ALPHABET = re.compile(r"[A-Za-z0-9_-]+")
_SHORTEST_PART = 40
_PLACES = (
    *("offset", "page_index", "page_char_offset"),
    *("file_offset", "pdf_page_index", "pdf_page_char_offset"),
)
_FIELDS: Mapping[str, type] = {
    **dict.fromkeys(("url", "file_type"), str),
    **dict.fromkeys(("file_idx", *_PLACES), int),
    "matched": list,
}
"""The type of each field, in the tokens of every tool. Numbers count from 0."""


class InvalidTokenError(Failure):
    """A continuation token that can't be used: "invalid_token", "token_of_other_tool", "token_version"."""


@dataclass(frozen=True)
class Part:
    """A paged result: `result` is what the model reads, `text` the part of the whole text in it.

    `end` is where the next part begins; `next_token` is None when there is nothing more. It is part
    `number`, from 1, `of` so many of this size.
    """

    result: str
    text: str
    end: int
    next_token: str | None
    number: int
    of: int


@dataclass(frozen=True)
class PagedResult:
    """A paged result read back. `text` still has its header; `facts` are the footer's further lines."""

    text: str
    has_more: bool = False
    next_token: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


class _Issued:
    """The tokens that this process gave out, newest last. May be used from any thread."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, token: str) -> None:
        with self._lock:
            self._tokens[token] = None
            self._tokens.move_to_end(token)
            if len(self._tokens) > _MOST_ISSUED:
                self._tokens.popitem(last=False)

    def __contains__(self, token: str) -> bool:
        return token in self._tokens

    def nearest(self, token: str) -> list[str]:
        """The issued tokens that `token` may have been: those that are most like it, if any are like it."""
        with self._lock:
            candidates = [known for known in self._tokens if abs(len(known) - len(token)) < len(token) // 8]
        likeness = {known: _likeness(token, known) for known in candidates}
        most = max(likeness.values(), default=0.0)
        return [known for known in candidates if likeness[known] == most >= _ALIKE]


_issued = _Issued()


def make_token(tool: str, **fields: Any) -> str:
    """A token for the next part: `make_token("scrape_url", url=…, offset=…)`."""
    token = _encoded({"v": VERSION, "tool": tool, **fields})
    _issued.add(token)
    return token


def parse_token(token: str, tool: str, *fields: str) -> dict[str, Any]:
    """What a token of `tool` holds; each of `fields` is there.

    A token that this process did not issue, but that is an edit or two away from one that it did, is
    taken for that one: an edit in base64 may name another address, and that must not be fetched. Raises
    InvalidTokenError.
    """
    cleaned = _cleaned(token)
    if cleaned not in _issued:
        cleaned = _as_issued(cleaned, tool, fields)
    return _decoded(cleaned, tool, fields)


def was_repaired(token: str, parsed: Mapping[str, Any]) -> bool:
    """Whether what `parse_token` gave was another token's than the one that was given."""
    cleaned = _cleaned(token)
    return cleaned not in _issued and cleaned != _encoded(parsed)


def address_in(token: str) -> str:
    """The address that a token names as it stands, for people to see; "" where it names none."""
    try:
        payload = _payload(_cleaned(token))
        return str(payload["url"] if "url" in payload else payload["matched"][payload["file_idx"]]["href"])
    except (InvalidTokenError, LookupError, TypeError):
        return ""


def _encoded(payload: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(_COMPACT.encode(payload).encode()).rstrip(b"=").decode()


def _cleaned(token: str) -> str:
    """The token without what models put around it."""
    return "".join(token.split()).strip(_WRAPPING).replace("+", "-").replace("/", "_")


def _as_issued(token: str, tool: str, fields: tuple[str, ...]) -> str:
    """The token that was meant: the one that was issued and is nearest to it.

    One for the same address as that, but for another place in it, is taken as it is: it may have been
    issued before a restart. Raises InvalidTokenError where it can't be known.
    """
    nearest = _issued.nearest(token)
    try:
        given = _decoded(token, tool, fields)
    except InvalidTokenError:
        given = {}
    known = [_payload(each) for each in nearest]
    if all(_address(each) == _address(given) for each in known):
        return token
    other_of_its_files = "matched" in given and given["matched"] == known[0].get("matched")
    if len(known) > 1 or other_of_its_files:
        raise InvalidTokenError("invalid_token")
    return nearest[0]


def _address(payload: Mapping[str, Any]) -> dict[str, Any]:
    """All that says where a text is to be had, without the place in it."""
    return {name: value for name, value in payload.items() if name not in _PLACES}


def _decoded(token: str, tool: str, fields: tuple[str, ...]) -> dict[str, Any]:
    payload = _payload(token)
    if payload.get("v") != VERSION:
        raise InvalidTokenError("token_version")
    if payload.get("tool") != tool:
        raise InvalidTokenError("token_of_other_tool", tool=str(payload.get("tool"))[:40])
    if not all(_is_sound(name, payload[name]) for name in payload.keys() & _FIELDS.keys()):
        raise InvalidTokenError("invalid_token")
    if not payload.keys() >= set(fields):
        raise InvalidTokenError("invalid_token")
    return payload


def _payload(token: str) -> dict[str, Any]:
    if len(token) > _LONGEST_TOKEN or not _ALPHABET.fullmatch(token):
        raise InvalidTokenError("invalid_token")
    try:
        payload = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise InvalidTokenError("invalid_token") from error
    if not isinstance(payload, dict):
        raise InvalidTokenError("invalid_token")
    return payload


def _is_sound(name: str, value: Any) -> bool:
    if isinstance(value, int) and not 0 <= value <= 10**9:
        return False
    return type(value) is _FIELDS[name]


def _likeness(one: str, other: str) -> float:
    """From 0 to 1. The quick bounds come first: the exact figure takes a tenth of a millisecond."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.quick_ratio() < _ALIKE:
        return 0.0
    return matcher.ratio()


def format_paged_result(text: str, next_token: str | None, facts: Mapping[str, str] | None = None) -> str:
    """The text with its footer; without one when there is nothing more. `facts` are further lines of it."""
    if next_token is None:
        return text
    lines = {"has_more": "true", "next_token": next_token, **(facts or {})}
    return text + _FOOTER + "\n".join(f"{name}: {value}" for name, value in lines.items())


def parse_paged_result(result: str) -> PagedResult:
    """A result of `format_paged_result` taken apart; any other text is a result with nothing more."""
    text, found, footer = result.rpartition(_FOOTER)
    lines = dict(line.split(": ", 1) for line in footer.split("\n") if ": " in line)
    token = lines.pop("next_token", None)
    if not found or lines.pop("has_more", None) != "true" or token is None:
        return PagedResult(result)
    return PagedResult(text, True, token, lines)


def format_page_to_limit(
    text: str,
    offset: int,
    limit: int,
    tool: str,
    fields_at: Callable[[int], Mapping[str, Any]],
    title: str = "",
    note: str = "",
    facts: Mapping[str, str] | None = None,
    following: Mapping[str, Any] | None = None,
) -> Part:
    """The part of `text` from `offset` on whose whole result, footer included, fits `limit`.

    `fields_at(end)` are the fields of the token for the part that begins at `end`. `title` stands before
    the first part, `note` before this one; neither belongs to the text, whose parts, joined, are whole.
    `following` are the fields of the token for what comes after the text, if anything does.
    Raises Failure "max_chars_too_small" where not even a short part fits.
    """
    room = limit - footer_length(tool, (fields_at(len(text)), following), facts)
    if len(title) > room // 3:
        title = ""  # it may take a third of the first part; a longer one gives way to the text
    header = (title if offset == 0 else "") + note
    if len(header) + len(text) - offset <= (limit if following is None else room):
        end, token = len(text), None if following is None else make_token(tool, **following)
    elif room - len(header) < _SHORTEST_PART:
        raise Failure("max_chars_too_small", needed=limit - room + len(header) + _SHORTEST_PART)
    else:
        end = cut_end(text, offset, room - len(header))
        token = make_token(tool, **fields_at(end))
    part = text[offset:end]
    number, of = _numbered(_cuts(_Same(text), limit, room, len(title)), offset, end)
    return Part(format_paged_result(header + part, token, facts), part, end, token, number, of)


def footer_length(
    tool: str, fields: Iterable[Mapping[str, Any] | None], facts: Mapping[str, str] | None
) -> int:
    """Characters of the longest footer among those with these fields in their token."""
    tokens = (_encoded({"v": VERSION, "tool": tool, **each}) for each in fields if each is not None)
    return max(len(format_paged_result("", token, facts)) for token in tokens)


class _Same:
    """A text as the key of a cache: the very same one, since comparing long ones takes long."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.text is self.text

    def __hash__(self) -> int:
        return id(self.text)


@lru_cache(maxsize=4)
def _cuts(of: _Same, limit: int, room: int, title: int) -> tuple[int, ...]:
    """Where the parts end that are read one after the other; the last has no footer. Kept for the next part,
    since all of a long text is gone through."""
    ends, start, text = [], 0, of.text
    while start < len(text):
        whole = len(text) - start + title <= limit
        start = len(text) if whole else cut_end(text, start, max(room - title, _SHORTEST_PART))
        title = 0
        ends.append(start)
    return tuple(ends)


def _numbered(cuts: Sequence[int], offset: int, end: int) -> tuple[int, int]:
    """Which part it is that goes from `offset` to `end`, of how many: not all begin where one did end."""
    before, after = bisect_right(cuts, offset), len(cuts) - bisect_right(cuts, end)
    return before + 1, before + 1 + after


def without_footer_mark(text: str) -> str:
    """The text of a source with the footer's own mark made harmless: a page could forge one."""
    return text.replace(_MARK, _MARK.replace("-page", "- page").replace("info-", "info -"))
