"""Tool calls written as text: where they begin and end, and which can be run."""

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from agent import markup
from agent.call_shapes import UNDECIDED, UnreadableCall, read_shape
from agent.literals import Unreadable, read_value
from agent.offered import Offered, plain_name

Broken = Literal["cut", "malformed"]


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call that was written as text."""

    name: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Found:
    """Calls that stand together in a text, up to `end`.

    `unknown` are calls of tools that are not offered. With `broken`, what follows the calls is one that
    can't be used; `begun` is its name, "" where the text does not get as far as that.
    """

    end: int
    calls: list[TextCall] = field(default_factory=list)
    unknown: list[TextCall] = field(default_factory=list)
    broken: Broken | None = None
    begun: str = ""


_BETWEEN = re.compile(
    rf"""(?: {markup.OPENING} | [{markup.BLANK},;] | \[(?=\s*\{{) | (?:```|~~~)\w* | {markup.LOOSE_TAG}
           | (?!{markup.CALL_TOKENS}) (?: {markup.CLOSING} | {markup.ROLE} ) )*+""",
    markup.FLAGS,
)
_STRAY = re.compile(r"(?:\s*(?!\]<\]minimax)[)\]}])*+")
_INVENTED = re.compile(
    rf"""(?:\s*(?:{markup.CLOSING}))* \s*
         (?-i:Observation:(?s:.*) | <tool_response>(?s:.*?)(?:</tool_response>|\Z))""",
    markup.FLAGS,
)
"""What a model makes up as the result of its call, instead of waiting for it."""
_LOOSE_END = re.compile(r"(?:\s*</(?:tools?|response|json|xml)>)?")
_FENCE_END = re.compile(r"\s*(?:`{3,}|~{3,})")
_OPEN = markup.compiled(markup.OPENING)
_CLOSE = markup.compiled(markup.CLOSING)
_EDGE = markup.compiled(markup.OPENING, markup.CLOSING)

_FENCE = re.compile(
    r"(?:`{3,}|~{3,})[ \t]*(?P<language>json|xml|python|py|tool_?calls?|tool_code|)[ \t]*\n", re.IGNORECASE
)
_MAY_BEGIN_CALL = re.compile(r"[{\[]|```|~~~|\w[\w.]*(?:\(|\s*\{)")
_CLOSED = re.compile(r"[)\]}](?:\s|```|~~~|<[^<>]*>)*\Z")
_SCALARS = ("string", "integer", "number", "boolean")


def read_calls(text: str, start: int, offered: Offered, *, strict: bool = False) -> Found | None:
    """The calls that stand from `start` on, behind whatever marks; None where there is no call.

    A text that ends before that is clear counts as a cut call. `strict` is for where no mark says that
    there is a call.
    """
    found, fenced = Found(end=start), False
    while True:
        at = end_of_separators(text, found.end)
        mark = _last_mark(text, found.end, at)
        if mark == "closing":
            break
        try:
            written, end = read_shape(text, at, offered, strict=strict, opened=mark == "opening")
            for name, arguments in written:
                _take(found, name, arguments, offered)
        except UnreadableCall as error:
            found.broken, found.end = _breach(error, text, at, marked=not strict)
            found.begun = error.name
            return found
        if end == at:
            break
        fenced = fenced or "```" in text[found.end : at] or "~~~" in text[found.end : at]
        found.end = _end(_STRAY, text, end)
        if fenced and (close := _FENCE_END.match(text, found.end)):
            found.end, fenced = close.end(), False
        found.end = _end(_INVENTED, text, _end(_LOOSE_END, text, found.end))
    if found.end > start:
        return found
    if _CLOSE.search(text, start, at):
        return Found(end=at, broken="malformed") if at == len(text) else None
    return Found(end=len(text), broken="cut") if UNDECIDED.match(text, at) else None


def read_turn(text: str, start: int, offered: Offered, end: int, *, final: bool) -> Found | None:
    """The calls without any mark, if they are all that stands in `text` from `start` to `end`.

    Unless `final`, a broken call stands for one that more text may complete.
    """
    if not _MAY_BEGIN_CALL.match(text, start):
        return None
    fence = _FENCE.match(text, start)
    if fence is None and text.startswith(("```", "~~~"), start):
        return Found(end, broken="cut") if not final and UNDECIDED.match(text, start, end) else None
    found = read_calls(text, start, offered, strict=True)
    if found is None and fence and fence["language"].lower() == "tool_code":
        return Found(end, broken="malformed", begun=fence["language"])
    if found is None or found.unknown or (found.begun and not offered.known(found.begun)):
        return None
    is_call = bool(found.begun or found.calls)
    if not found.broken:
        is_whole = is_call and end_of_separators(text, found.end) >= end
    elif not final:
        is_whole = is_call or found.broken == "cut" or UNDECIDED.match(text, start, end) is not None
    else:
        is_closed = _CLOSED.search(text, max(start, end - 60), end)
        is_whole = is_call and (found.broken == "cut" or is_closed is not None)
    found.end = end
    return found if is_whole else None


def undecided(text: str, start: int, end: int) -> bool:
    """Whether what stands from `start` to `end` is no more than marks and the beginning of a call."""
    at = end_of_separators(text, start)
    return at >= end or UNDECIDED.match(text, at, end) is not None


def end_of_separators(text: str, start: int) -> int:
    """The end of what may stand between one call and the next."""
    return _end(_BETWEEN, text, start)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def _last_mark(text: str, start: int, end: int) -> Literal["opening", "closing"] | None:
    """What the last mark in this stretch does; behind a closing one, nothing is marked as a call."""
    last = None
    for mark in _EDGE.finditer(text, start, end):
        last = mark
    if last is None:
        return None
    return "opening" if _OPEN.match(text, last.start()) else "closing"


def _breach(error: UnreadableCall, text: str, start: int, *, marked: bool) -> tuple[Broken, int]:
    """What is wrong with the call at `start`, and where the text goes on behind it."""
    edge = (_CLOSE if error.cut else _EDGE).search(text, start) if marked else None
    if edge is None:
        return ("cut" if error.cut else "malformed"), len(text)
    return "malformed", edge.start() if _OPEN.match(text, edge.start()) else edge.end()


def _take(found: Found, name: str, arguments: Any, offered: Offered) -> None:
    """Sort a call into known and unknown. Raises UnreadableCall where it can't be meant so."""
    known = offered.known(name)
    given = _as_object(arguments, known, offered)
    if known is None:
        found.unknown.append(TextCall(plain_name(name), given))
        return
    for key, schema in offered.properties(known).items():
        if schema.get("type") in _SCALARS and isinstance(given.get(key), (dict, list)):
            raise UnreadableCall(name, cut=False)
    found.calls.append(TextCall(known, given))


def _as_object(arguments: Any, known: str | None, offered: Offered) -> dict[str, Any]:
    """The arguments as an object; some models write it as a string, or one value without its key."""
    if isinstance(arguments, str):
        arguments = _decoded(arguments.strip(), known, offered)
    if isinstance(arguments, dict):
        return arguments
    if arguments in ([], ""):
        return {}
    raise UnreadableCall(known or "", cut=False)


def _decoded(string: str, known: str | None, offered: Offered) -> Any:
    if string.startswith(("{", "[")):
        try:
            value, end = read_value(string, 0)
        except Unreadable:
            return None
        return value if end == len(string) else None
    required = offered.required(known) if known else ()
    return {required[0]: string} if string and len(required) == 1 else string
