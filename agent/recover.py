"""Tool calls that a model wrote as text, told from those that it only talks about.

Marked calls (tags, special tokens) count anywhere outside code, quotes and quotation marks. JSON, Python
calls and fenced calls without a mark count only where they are the whole turn, with names that are offered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.offered import Offered
from agent.text_calls import Broken, TextCall
from agent.visible import TurnText


@dataclass(frozen=True)
class Recovered:
    """What a turn holds besides structured calls.

    `calls` can be run, `unknown` are calls of tools that are not offered. With `broken`, there is also the
    beginning of a call that is cut off, or one that can't be read; it is in neither.
    """

    calls: tuple[TextCall, ...]
    visible: str
    thinking: str
    unknown: tuple[TextCall, ...]
    broken: Broken | None


def recover(content: str, thinking: str, tools: Iterable[Mapping[str, Any]]) -> Recovered:
    """Read a whole turn; `tools` are those of the request, in Ollama's wire form. Linear in the text."""
    turn = TurnText(Offered(tools))
    turn.feed(content, thinking)
    turn.close()
    return Recovered(turn.calls, turn.visible, turn.thinking, turn.unknown, turn.broken)
