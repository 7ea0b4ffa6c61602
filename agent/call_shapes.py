"""The shapes that a written call takes behind its mark: a name with JSON, tags around each argument, a Python
call, or JSON alone. Each reader gives names and arguments as they stand in the text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent import markup
from agent.literals import Unreadable, read_arguments, read_value
from agent.offered import Offered

Written = list[tuple[str, Any]]
"""Names and arguments as they stand in the text."""

UNDECIDED = re.compile(r"(?:[{\[`~\w][^\s>]{0,80}|<[^<>\n]{0,120})?\s*\Z")
"""The end of a text where a shape may have begun."""


class UnreadableCall(ValueError):
    """A call that is cut or malformed; `name` is "" where the text does not get that far."""

    def __init__(self, name: str, *, cut: bool) -> None:
        super().__init__(name)
        self.name = name
        self.cut = cut


def read_shape(text: str, at: int, offered: Offered, *, strict: bool, opened: bool) -> tuple[Written, int]:
    """The call, or list of calls, at this place, and its end; ends where it begins if there is none.

    With `strict`, JSON is a call only in the exact shape of one. `opened` tells that an opening mark stands
    directly before. Raises UnreadableCall.
    """
    found = (
        _read_named(text, at, bare=strict or opened)
        or _read_tagged(text, at, bare=opened and not strict)
        or _read_python(text, at, offered)
    )
    return found or _read_json(text, at, offered, strict)


# A name, then its arguments as JSON.

_NAMED = tuple(
    markup.compiled(head)
    for head in (
        markup.NAMED_CALL,
        r"(?:function)?<｜tool[_▁]sep｜>\s*(?P<name>\w[\w.-]*)",  # DeepSeek R1 and V3
        r"(?P<name>\w[\w.-]*)\s*<｜tool[_▁]sep｜>",  # DeepSeek V3.1
        r"(?P<name>\w[\w.:-]*)\s*<\|tool_call_argument_begin\|>",  # Kimi K2
        r"call:(?P<name>[\w.-]+)(?=\{)",  # Gemma
        markup.RECIPIENT,
        markup.REACT_CALL,
        markup.HARMONY_CALL,
    )
)
_BARE_NAME = markup.compiled(r"(?P<name>\w[\w.-]*)\s*(?=\{|```\w*\s*\{)")
_TO_JSON = re.compile(r"\s*((?:```|~~~)\w*\s*)?")
_FENCE_END = re.compile(r"\s*(?:```|~~~)|")


def _read_named(text: str, at: int, bare: bool) -> tuple[Written, int] | None:
    heads = (pattern.match(text, at) for pattern in ((*_NAMED, _BARE_NAME) if bare else _NAMED))
    head = next(filter(None, heads), None)
    if head is None:
        return None
    fence = _matched(_TO_JSON, text, head.end())
    if not text.startswith("{", fence.end()):
        if UNDECIDED.match(text, fence.end()):
            raise UnreadableCall(head["name"], cut=True)
        return None
    arguments, end = _read_object(text, fence.end(), head["name"])
    return [(head["name"], arguments)], _matched(_FENCE_END, text, end).end() if fence[1] else end


def _read_object(text: str, start: int, name: str) -> tuple[Any, int]:
    try:
        return read_value(text, start)
    except Unreadable as error:
        raise UnreadableCall(name, cut=error.cut) from None


# Tags around each argument.


@dataclass(frozen=True)
class _Tags:
    """The tags of a call: `close` ends an argument, unless its key is a tag of its own; `begun` is what may
    become a key."""

    head: re.Pattern[str]
    key: re.Pattern[str]
    close: re.Pattern[str]
    end: re.Pattern[str]
    begun: re.Pattern[str]


_BEFORE_TAG = r"(?=\s*(?:<|\]<|\Z))"  # a value may talk of the tag that ends it, so it must end there

_GLM = _Tags(
    re.compile(r"(?P<name>\w[\w.-]*)\s*(?=<arg_key>|</tool_call>)"),
    re.compile(r"<arg_key>(?P<key>[^<>]+)</arg_key>\s*<arg_value>"),
    re.compile(rf"</arg_value>{_BEFORE_TAG}"),
    re.compile(r"(?=</tool_call>)"),
    re.compile(r"(?:<(?!/)[^<>]*(?:>[^<>]*(?:<[^<>]*(?:>\s*(?:<[^<>]*)?)?)?)?)?\Z"),
)
_TAGGED = (
    _Tags(
        markup.compiled(markup.TAGGED_CALL),
        markup.compiled(markup.TAGGED_KEY),
        re.compile(rf"</[^<>]*param(?:eter)?>{_BEFORE_TAG}", re.IGNORECASE),
        re.compile(r"</[^<>]*(?:function|invoke|call)s?>", re.IGNORECASE),
        re.compile(rf"(?:{markup.begun(']<]minimax[>[')}|<[^<>\n]*)?\Z"),
    ),
    _Tags(
        markup.compiled(markup.OPENED_CALL),
        markup.compiled(markup.OPENED_KEY),
        re.compile(r"<\|close\|>argument<\|sep\|>"),
        re.compile(r"<\|close\|>call<\|sep\|>"),
        re.compile(r"(?:<[^<>]*(?:>[^<>]*(?:<[|\w]*)?)?)?\Z"),
    ),
    _GLM,
)
_GAP = re.compile(r"(?:\s|\]<\]minimax\[>\[)*+")
_EDGE_OF_VALUE = re.compile(r"\A\n|(?:\]<\]minimax\[>\[|\n)\Z")


def _read_tagged(text: str, at: int, bare: bool) -> tuple[Written, int] | None:
    for tags in _TAGGED:
        if head := tags.head.match(text, at):
            return _read_tags(text, head, tags, bare or tags is not _GLM)
    return None


def _read_tags(text: str, head: re.Match[str], tags: _Tags, may_be_empty: bool) -> tuple[Written, int] | None:
    name, at = head["name"].strip(), _after_gap(text, head.end())
    arguments: dict[str, Any] = {}
    if text.startswith("{", at):
        arguments, at = _read_object(text, at, name)
        at = _after_gap(text, at)
    while key := tags.key.match(text, at):
        tag = key.groupdict().get("tag")
        close = re.compile(f"</{tag}>") if tag else tags.close
        closed = close.search(text, key.end())
        if closed is None:
            raise UnreadableCall(name, cut=True)
        arguments[tag or key["key"].strip()] = _EDGE_OF_VALUE.sub("", text[key.end() : closed.start()])
        at = _after_gap(text, closed.end())
    if tags.begun.match(text, at):
        raise UnreadableCall(name, cut=True)
    end = tags.end.match(text, at)
    if not arguments and not (end and may_be_empty):
        return None  # a tag that is only talked about
    return [(name, arguments)], end.end() if end else at


def _after_gap(text: str, at: int) -> int:
    return _matched(_GAP, text, at).end()


# A Python call, alone or in a list.

_PYTHON = re.compile(
    r"\[?\s*(?:print\s*\(\s*)?(?P<name>(?!print\s*\()[^\W\d][\w.]*)\(\s*(?=\w*\s*(?:=|\Z)|[\"'){])"
)


def _read_python(text: str, at: int, offered: Offered) -> tuple[Written, int] | None:
    head = _PYTHON.match(text, at)
    if head is None:
        return None
    name = head["name"]
    try:
        given, end = read_arguments(text, head.end())
    except Unreadable as error:
        raise UnreadableCall(name, cut=error.cut) from None
    if list(given) == [0] and isinstance(given[0], dict):
        return [(name, given[0])], end
    known = offered.known(name)
    order = list(offered.properties(known)) if known else []
    if any(isinstance(key, int) and key >= len(order) for key in given):
        raise UnreadableCall(name, cut=False)
    arguments = {order[key] if isinstance(key, int) else key: value for key, value in given.items()}
    return [(name, arguments)], end


# JSON alone.

_WRAPPERS = ("tool_calls", "tool_call", "function_calls", "function_call", "function")
_NAMES = ("name", "tool_name", "tool", "function_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "tool_input", "input", "action_input", "params", "kwargs")
_BESIDE = ("id", "type", "index", "tool_call_id", "call_id", "role", "content")
_SHAPE = frozenset((*_WRAPPERS, *_NAMES, *_ARGUMENTS, *_BESIDE))


def _read_json(text: str, at: int, offered: Offered, strict: bool) -> tuple[Written, int]:
    if not text.startswith(("{", "["), at):
        return [], at
    try:
        value, end = read_value(text, at)
    except Unreadable as error:
        begun = _begun(error.partial)
        if strict and begun is None:
            return [], at
        raise UnreadableCall(begun or "", cut=error.cut) from None
    written = _calls_in(value, offered, strict)
    if written is None and not strict:
        raise UnreadableCall("", cut=False)
    return (written, end) if written is not None else ([], at)


def _calls_in(value: Any, offered: Offered, strict: bool) -> Written | None:
    """The calls in a JSON value; None where it is something else."""
    if isinstance(value, list):
        parts = [_calls_in(entry, offered, strict) for entry in value]
        is_other = None in parts or (strict and not parts)
        return None if is_other else [call for part in parts if part for call in part]
    if not isinstance(value, dict):
        return None
    wrapper = _wrapper(value)
    name = _name(value)
    key = next((key for key in _ARGUMENTS if key in value), None)
    if wrapper is None and (name is None or key is None):
        return _flat_call(name, value, offered, strict) if name else None
    if strict and not _SHAPE.issuperset(value):
        return None
    if wrapper is not None:
        return _calls_in(wrapper, offered, strict)
    arguments = _without_schema(value[key])
    return None if arguments is None else [(name or "", arguments)]


def _wrapper(value: Mapping[str, Any]) -> Any:
    return next((value[key] for key in _WRAPPERS if isinstance(value.get(key), (dict, list))), None)


def _name(value: Mapping[str, Any]) -> str | None:
    return next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)


def _flat_call(name: str, value: Mapping[str, Any], offered: Offered, strict: bool) -> Written | None:
    """A call whose arguments stand beside its name, or that has none at all."""
    rest = {key: given for key, given in value.items() if key not in _SHAPE}
    known = offered.known(name)
    if rest and known and set(offered.required(known)) <= set(rest) <= set(offered.properties(known)):
        return [(name, rest)]
    return None if rest or strict else [(name, {})]


def _without_schema(arguments: Any) -> Any:
    """The arguments out of a copied schema; None for a schema that holds no values."""
    inner = arguments.get("properties") if isinstance(arguments, dict) else None
    if not isinstance(inner, dict):
        return {} if arguments is None else arguments
    return None if any(isinstance(value, dict) for value in inner.values()) else inner


def _begun(partial: Any) -> str | None:
    """The name in a part of a JSON value: "" before it is there, None where this is no call."""
    if isinstance(partial, list):
        return _begun(partial[0]) if partial else ""
    if partial is None or partial is ...:
        return ""
    if not isinstance(partial, dict):
        return None
    wrapper = _wrapper(partial)
    if wrapper is not None:
        return _begun(wrapper)
    return _name(partial) or ("" if _SHAPE.issuperset(partial) else None)


def _matched(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    """The match of a pattern that also matches nothing, and so always does."""
    match = pattern.match(text, at)
    assert match
    return match
