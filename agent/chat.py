"""One streamed turn with a model server: what is asked, and the pieces that come back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent.events import Message
from tools.cancel import Cancel

Think = bool | str | None
"""Whether to think aloud: None leaves it to the server; a str is a level such as "low"."""


@dataclass(frozen=True)
class ChatRequest:
    """One request to /api/chat. `tools` are in Ollama's wire form; empty = plain chat."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    num_ctx: int = 16384
    think: Think = None
    keep_alive: str = "5m"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model made, with the arguments as it wrote them. `id` is unique in a run."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one chunk of the stream carries."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    bad_line: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """The server said `done`. Counts are tokens, None where it gave none."""

    reason: str = "stop"
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


class ChatServer(Protocol):
    """What the loop needs of a model server; Ollama's client and the built-in model both are one."""

    def stream(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece | End]:
        """The turn as it arrives: pieces, then one End.

        Ends without an End only when `cancel` was set. Raises ModelFailure for everything else.
        """
        ...
