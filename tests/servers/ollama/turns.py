"""What a scripted model says in one turn, and how its bytes go out.

A turn is made of steps that are joined by `+`:

    say("I look it up.") + call("web_search", {"query": "x"})
    hang(2) + say("Sorry, that took long.")
    say("The first point is") + error_line("model runner has unexpectedly stopped")

A turn that is not ended by `cut`, `reset`, `raw`, `fail` or `error_line` ends by `finish()`.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

Shape = Literal["R1", "R2", "native", "harmony", "old"]
"""How a server sends calls: R1 = one chunk for each, as its built-in parsers do; R2 = one chunk for all,
as behind a Go template; native = all on the `done` chunk, with llama-server's ids; harmony = gpt-oss, on
the `done` chunk; old = R2 without id and index."""


@dataclass(frozen=True)
class Tokens:
    """Pieces of text, or of thinking; `rate` is tokens a second, None = as fast as they go."""

    pieces: tuple[str, ...]
    thinking: bool = False
    rate: float | None = None


@dataclass(frozen=True)
class Calls:
    """Tool calls as (name, arguments); the arguments go out as they are, whatever they are."""

    calls: tuple[tuple[str, Any], ...]
    shape: Shape = "R2"


@dataclass(frozen=True)
class Hang:
    """No byte for so many seconds, as while a model loads."""

    seconds: float


@dataclass(frozen=True)
class Line:
    """A line of the stream, byte for byte."""

    line: bytes


@dataclass(frozen=True)
class Error:
    """A failure where the stream stands: the line `{"error": …}` and no `done`."""

    error: Any


@dataclass(frozen=True)
class Finish:
    """The `done` chunk. `prompt_tokens` None = an estimate; `metrics` False = none at all."""

    reason: str = "stop"
    prompt_tokens: int | None = None
    metrics: bool = True


@dataclass(frozen=True)
class Answer:
    """A whole answer, byte for byte, sent in `pieces`."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "application/x-ndjson"


@dataclass(frozen=True)
class Break:
    """No `done`: the answer ends ("eof"), or the connection does, in the middle ("drop") or by "reset"."""

    how: Literal["eof", "drop", "reset"] = "eof"


Step = Tokens | Calls | Hang | Line | Error | Finish | Answer | Break


@dataclass(frozen=True)
class Turn:
    """The steps of one turn, in order."""

    steps: tuple[Step, ...]

    def __add__(self, other: "Turn") -> "Turn":
        return Turn(self.steps + other.steps)


def say(
    text: str | Sequence[str] = "",
    thinking: str | Sequence[str] = "",
    *,
    tokens_per_second: float | None = None,
) -> Turn:
    """Thinking, then text, each in tokens; a list of strings says where the tokens are cut."""
    parts = ((thinking, True), (text, False))
    return Turn(tuple(Tokens(tokens(part), kind, tokens_per_second) for part, kind in parts if part))


def call(name: str, arguments: Any = None, *, shape: Shape = "R2") -> Turn:
    """One tool call."""
    return calls((name, {} if arguments is None else arguments), shape=shape)


def calls(*made: tuple[str, Any], shape: Shape = "R2") -> Turn:
    """Several tool calls of one turn."""
    return Turn((Calls(made, shape),))


def finish(reason: str = "stop", *, prompt_tokens: int | None = None, metrics: bool = True) -> Turn:
    """A `done` chunk that is unlike the usual one."""
    return Turn((Finish(reason, prompt_tokens, metrics),))


def hang(seconds: float) -> Turn:
    """Silence; ends at once when the client hangs up."""
    return Turn((Hang(seconds),))


def line(text: str | bytes) -> Turn:
    """A line of the stream as it is, such as one that is not JSON."""
    return Turn((Line(text.encode() if isinstance(text, str) else text),))


def error_line(error: Any) -> Turn:
    """A failure in the middle of the stream, where the status was sent long ago."""
    return Turn((Error(error),))


def cut() -> Turn:
    """The answer ends without `done`, as after a loop of one token."""
    return Turn((Break(),))


def drop() -> Turn:
    """The connection closes in the middle of the answer, as when the server is stopped."""
    return Turn((Break("drop"),))


def reset() -> Turn:
    """The connection ends by a TCP reset, as when the server dies."""
    return Turn((Break("reset"),))


def fail(status: int, error: Any, **fields: Any) -> Turn:
    """An HTTP error with the JSON body that Ollama sends."""
    return raw(encode({"error": error, **fields}).encode(), status=status, content_type=JSON)


def raw(
    body: bytes,
    *,
    split_at: Iterable[int] = (),
    one_byte: bool = False,
    status: int = 200,
    content_type: str = "application/x-ndjson",
) -> Turn:
    """A recorded body, whole, cut at the given offsets, or byte by byte."""
    cuts = range(1, len(body)) if one_byte else sorted(split_at)
    edges = [0, *cuts, len(body)]
    pieces = tuple(body[start:end] for start, end in pairwise(edges))
    return Turn((Answer(pieces, status, content_type),))


JSON = "application/json; charset=utf-8"


def encode(value: Any) -> str:
    """JSON as Go's encoder writes it: compact, UTF-8, with `<`, `>` and `&` escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def tokens(text: str | Sequence[str]) -> tuple[str, ...]:
    """Text in pieces of about the size of a token; joined they are the text."""
    return tuple(re.findall(r"\s*\S{1,6}|\s+", text) if isinstance(text, str) else text)
