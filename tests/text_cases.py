"""Turns that hold calls as text, with the right reading of each, and how the two are compared."""

import json
import re
from collections.abc import Iterable
from typing import Any

from agent.events import Text, Thinking, TurnRewritten
from tests.conftest import DATA

_FOLDER = DATA / "tool_text"
TOOLS: list[dict[str, Any]] = json.loads((_FOLDER / "tools.json").read_text(encoding="utf-8"))
NAMES = [tool["function"]["name"] for tool in TOOLS]
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (_FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()
]

_PROPERTIES = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in TOOLS}


def coerced(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments without nulls, and whole numbers where the schema says so."""
    types = {key: schema["type"] for key, schema in _PROPERTIES.get(name, {}).items()}
    given = {key: value for key, value in arguments.items() if value is not None}
    return {key: _whole(value) if types.get(key) == "integer" else value for key, value in given.items()}


def _whole(value: Any) -> Any:
    return int(float(value)) if re.fullmatch(r"-?\d+(\.0)?", str(value)) else value


def pairs(calls: Iterable[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Calls, or what is expected of them, ready to be compared."""
    entries = [
        call if isinstance(call, dict) else {"name": call.name, "arguments": call.arguments} for call in calls
    ]
    return [(entry["name"], coerced(entry["name"], entry["arguments"])) for entry in entries]


def squeezed(text: str) -> str:
    """Text without white space."""
    return re.sub("[\\s\u200b\ufeff]", "", text)


class Screen:
    """What a person sees of a turn: events applied as they come."""

    def __init__(self) -> None:
        self.text = self.thinking = ""
        self.rewritten = 0

    def show(self, events: Iterable[Text | Thinking | TurnRewritten]) -> None:
        for event in events:
            match event:
                case Text(text):
                    self.text += text
                case Thinking(text):
                    self.thinking += text
                case TurnRewritten(text, thinking):
                    self.text, self.thinking = text, thinking
                    self.rewritten += 1
