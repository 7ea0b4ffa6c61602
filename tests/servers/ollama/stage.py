"""Plays a turn: the chunks of /api/chat as Ollama writes them (api/types.go, ChatResponse)."""

import random
import string
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from tests.servers.http import Reply
from tests.servers.ollama.turns import (
    Answer,
    Break,
    Calls,
    Error,
    Finish,
    Hang,
    Line,
    Step,
    Tokens,
    Turn,
    encode,
)

BATCH = 65_536
"""Bytes written at a time when nothing paces the stream: few system calls for many tokens."""


_NONE: Mapping[str, int] = {}


class HungUp(ConnectionError):
    """The client has gone; the server notes when."""


class Stage:
    """One answer of /api/chat in the making."""

    def __init__(self, request: Mapping[str, Any], reply: Reply, version: tuple[int, ...]) -> None:
        self._request = request
        self._reply = reply
        self._version = version
        self._streams = request.get("stream", True)
        self._began = time.monotonic_ns()
        self._started = False
        self._tokens = 0
        self._message: dict[str, Any] = {"role": "assistant", "content": ""}
        self._last_calls: list[dict[str, Any]] = []

    def play(self, turn: Turn) -> None:
        """The whole answer. Raises HungUp when the client goes before its end."""
        ended = False
        for step in turn.steps:
            ended = self._step(step) or ended
        if not ended:
            self._finish(Finish())

    def _step(self, step: Step) -> bool:
        """One step; True if it ends the answer."""
        match step:
            case Tokens():
                self._say(step)
            case Calls():
                self._call(step)
            case Hang(seconds):
                self._pause(seconds)
            case Line(line):
                self._write(line + b"\n")
            case Error(error):
                self._fail(encode({"error": error}).encode())
            case Finish():
                self._finish(step)
            case Answer():
                self._answer(step)
            case Break():
                self._break(step)
        return isinstance(step, Error | Finish | Answer | Break)

    def _say(self, step: Tokens) -> None:
        self._tokens += len(step.pieces)
        kind = "thinking" if step.thinking else "content"
        if not self._streams:
            self._message[kind] = self._message.get(kind, "") + "".join(step.pieces)
        elif step.rate is None:
            self._write(_encoded(self._request["model"], step.pieces, step.thinking))
        else:
            began = time.monotonic()
            for number, piece in enumerate(step.pieces):
                self._pause(began + number / step.rate - time.monotonic())
                self._write(_encoded(self._request["model"], (piece,), step.thinking))

    def _call(self, step: Calls) -> None:
        made = [self._shaped(number, *call, step) for number, call in enumerate(step.calls)]
        self._tokens += 12 * len(made)
        if self._streams and self._version < (0, 4, 6):  # never parsed in a stream: the model's own text
            written = [{"name": name, "parameters": arguments} for name, arguments in step.calls]
            self._say(Tokens(tuple(encode(call) for call in written)))
        elif step.shape in ("native", "harmony") or not self._streams:
            self._last_calls += made
        else:
            groups = [[call] for call in made] if step.shape == "R1" else [made]
            for group in groups:
                message = {"role": "assistant", "content": "", "tool_calls": group}
                self._write(chunk(self._request["model"], message))

    def _shaped(self, number: int, name: str, arguments: Any, step: Calls) -> dict[str, Any]:
        function: dict[str, Any] = {"name": name, "arguments": arguments}
        if step.shape == "old" or self._version < (0, 4, 7):
            return {"function": function}
        function = {"index": number, **function}
        if self._version < (0, 12, 10):
            return {"function": function}
        native = step.shape == "native"
        alphabet = string.ascii_letters + string.digits if native else string.ascii_lowercase + string.digits
        mark = "".join(random.choices(alphabet, k=32 if native else 8))
        return {"id": mark if native else f"call_{mark}", "function": function}

    def _finish(self, step: Finish) -> None:
        message = self._message
        if self._last_calls:
            message["tool_calls"] = self._last_calls
        line = chunk(self._request["model"], message, done=step.reason, metrics=self._metrics(step))
        if self._streams:
            self._write(line)
            self._reply.end()
        else:
            self._reply.send(200, line.rstrip())

    def _metrics(self, step: Finish) -> dict[str, int]:
        if not step.metrics:
            return {}
        spent = time.monotonic_ns() - self._began
        prompt = step.prompt_tokens
        if prompt is None:
            prompt = len(encode([self._request["messages"], self._request.get("tools")])) // 4
        return {
            "total_duration": spent,
            "load_duration": spent // 10,
            "prompt_eval_count": prompt,
            "prompt_eval_duration": spent // 5,
            "eval_count": max(self._tokens, 1),
            "eval_duration": spent // 2,
        }

    def _answer(self, step: Answer) -> None:
        if len(step.pieces) == 1 and step.status != 200:
            self._reply.send(step.status, step.pieces[0], step.content_type)
            return
        self._start(step.status, step.content_type)
        self._reply.write_all(step.pieces)
        self._reply.end()

    def _fail(self, body: bytes) -> None:
        if self._streams:
            self._write(body)
            self._reply.end()
        else:
            self._reply.send(500, body)

    def _break(self, step: Break) -> None:
        if step.how != "eof":
            self._reply.hang_up(reset=step.how == "reset")
        elif self._streams:
            self._start()
            self._reply.end()
        else:
            self._reply.send(200, chunk(self._request["model"], self._message).rstrip())

    def _write(self, piece: bytes) -> None:
        self._start()
        for start in range(0, len(piece), BATCH):
            self._reply.write(piece[start : start + BATCH])

    def _start(self, status: int = 200, content_type: str = "application/x-ndjson") -> None:
        """The headers, which Ollama sends with the first byte and not before."""
        if not self._started:
            self._reply.start(status, content_type)
            self._started = True

    def _pause(self, seconds: float) -> None:
        if not self._reply.pause(seconds):
            raise HungUp


def chunk(
    model: str,
    message: Mapping[str, Any],
    *,
    done: str | None = None,
    metrics: Mapping[str, int] = _NONE,
) -> bytes:
    """One line of the stream."""
    body: dict[str, Any] = {"model": model, "created_at": now(), "message": message, "done": done is not None}
    if done is not None:
        body |= {"done_reason": done, **metrics}
    return encode(body).encode() + b"\n"


def now() -> str:
    """The time as Go prints it: RFC 3339 in nanoseconds."""
    nanoseconds = time.time_ns()
    second = datetime.fromtimestamp(nanoseconds // 10**9, UTC)
    return f"{second:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 10**9:09d}Z"


@lru_cache(maxsize=64)
def _encoded(model: str, pieces: Iterable[str], thinking: bool) -> bytes:
    """The chunks of these tokens; kept, so that a turn that is played often costs no encoding."""
    head = f'{{"model":{encode(model)},"created_at":"{now()}","message":{{"role":"assistant","content":'
    if thinking:
        head += '"","thinking":'
    return "".join(f'{head}{encode(piece)}}},"done":false}}\n' for piece in pieces).encode()
