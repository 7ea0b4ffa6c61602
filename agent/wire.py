"""What goes over the wire to Ollama and back, put into the form that the other side takes (api/types.go)."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agent.events import Message

_KEYS = ("role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id")


def wire_messages(messages: Iterable[Message]) -> list[Message]:
    """Messages with nothing that a server refuses: content is a string, arguments are objects."""
    return [_wire_message(message) for message in messages]


def wire_keep_alive(value: str) -> str | int:
    """Ollama takes durations ("5m") as strings, but seconds (-1 = for ever) only as a number."""
    try:
        return int(value)
    except ValueError:
        return value.strip()


def arguments_object(given: Any) -> dict[str, Any] | None:
    """Arguments of a call as an object, also from JSON text, as compatible servers send it; None where
    they are no object. No arguments at all are {}."""
    for _ in range(2):  # some servers encode them twice
        if isinstance(given, str) and given.strip():
            try:
                given = json.loads(given)
            except (ValueError, RecursionError):
                return None
    if given is None or (isinstance(given, str) and not given.strip()):
        return {}
    return given if isinstance(given, dict) else None


def _wire_message(message: Message) -> Message:
    wire = {key: message[key] for key in _KEYS if message.get(key)}
    content = message.get("content") or ""
    wire["content"] = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if "tool_calls" in wire:
        wire["tool_calls"] = [_wire_call(made) for made in wire["tool_calls"]]
    return wire


def _wire_call(made: Mapping[str, Any]) -> dict[str, Any]:
    function = made["function"]
    return {**made, "function": {**function, "arguments": arguments_object(function.get("arguments")) or {}}}
