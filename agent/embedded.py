"""The built-in model, for machines where no Ollama answers: the panel's side of `agent.embedded_worker`."""

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.capabilities import ModelInfo
from agent.chat import LONGEST_STRUCTURE, ChatRequest, End, Piece
from agent.chat_errors import ModelFailure
from tools.cancel import Cancel

PREFIX = "built-in/"
"""How the names of built-in models begin; the rest is the name of the file."""

_SAMPLING = {
    "temperature": 0.2,
    "top_p": 0.9,
    "repeat_penalty": 1.1,
    "dry_multiplier": 0.8,  # a very small model goes round in circles without this
    "dry_allowed_length": 3,
    "dry_penalty_last_n": 4096,
}
_SHARE_OF_WINDOW = 8
"""A text may take up this part of the window: a very small model may never find an end."""

_HEARS_STOP = 0.5
"""Seconds in which a stop is heard, between two tokens; in a long prompt it is not, then the process ends."""

_DONE: dict[str, Any] = {}
"""Follows the last chunk of a turn."""

_ROOT = Path(__file__).parent.parent


class EmbeddedModel:
    """A model on this machine, as a `ChatServer`. It answers one request at a time.

    Every method may be called from any thread. The worker process is started by the first `prepare`, ends
    with the panel, and is started anew if it died.
    """

    def __init__(self, weights: Path) -> None:
        self.weights = weights
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    @property
    def info(self) -> ModelInfo:
        """What is known of the model: its window and size once it was loaded."""
        told: Mapping[str, int] = self._worker.told if self._worker else {}
        parameters = told.get("parameters")
        return ModelInfo(
            name=PREFIX + self.weights.stem,
            size=self.weights.stat().st_size,
            tools="no",
            context_length=told.get("context_length"),
            parameter_size=f"{parameters / 1e6:.0f}M" if parameters else "",
            loaded=self._worker is not None and self._worker.alive,
            built_in=True,
        )

    def prepare(self, num_ctx: int, cancel: Cancel) -> ModelInfo:
        """Have the model in memory, with a window of `num_ctx` tokens.

        Raises ModelFailure "built_in_unsuitable" where it can't be loaded, "stopped" when cancelled.
        """
        with _held(self._lock, cancel):
            if self._worker is None or not self._worker.alive or self._worker.num_ctx != num_ctx:
                if self._worker:
                    self._worker.end()
                self._worker = _Worker(self.weights, num_ctx, cancel)
        return self.info

    def close(self) -> None:
        """Give the memory back; the next `prepare` loads the model again."""
        with self._lock:
            if self._worker:
                self._worker.end()

    def stream(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece | End]:
        """One turn, as `ChatServer.stream` describes it."""
        began = time.monotonic()
        try:
            with _held(self._lock, cancel):
                worker = self._worker
                if worker is None:
                    raise self._failure("it was not loaded")
                with worker.asked(_body(request)), cancel.calling(worker.wake):
                    yield from self._turn(worker, began, cancel)
        except ModelFailure as failure:
            if failure.kind != "stopped":
                raise

    def _turn(self, worker: "_Worker", began: float, cancel: Cancel) -> Iterator[Piece | End]:
        reason = ""
        while not cancel.is_set():
            chunk = worker.chunks.get()
            if cancel.is_set():
                return
            if chunk is None:
                raise self._failure(worker.last_words)
            if chunk is _DONE:
                raise self._failure("it ended without a word")
            if error := chunk.get("error"):
                raise self._told(error)
            for choice in chunk.get("choices") or ():
                delta = choice.get("delta") or {}
                text, thinking = delta.get("content") or "", delta.get("reasoning_content") or ""
                if text or thinking:
                    yield Piece(text, thinking)
                reason = choice.get("finish_reason") or reason
            if usage := chunk.get("usage"):
                seconds = time.monotonic() - began
                yield End(reason or "stop", usage["prompt_tokens"], usage["completion_tokens"], seconds)
                return

    def _told(self, error: Mapping[str, Any]) -> ModelFailure:
        """The failure behind an error of llama.cpp's server (tools/server/server-common.cpp)."""
        message = str(error.get("message") or error)
        if error.get("type") == "exceed_context_size_error":
            return ModelFailure("context_overflow", detail=message)
        return self._failure(message)

    def _failure(self, detail: str) -> ModelFailure:
        return ModelFailure("built_in_failed", model=self.weights.stem, detail=detail)


class _Worker:
    """The process, and what it says. Raises ModelFailure as `EmbeddedModel.prepare` does."""

    def __init__(self, weights: Path, num_ctx: int, cancel: Cancel) -> None:
        self.num_ctx = num_ctx
        self.chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._log: list[str] = []
        self._idle = threading.Event()
        command = [sys.executable, "-m", "agent.embedded_worker", str(weights.resolve()), str(num_ctx)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=_ROOT, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace"
        )
        for listen in (self._hear, self._note):
            threading.Thread(target=listen, name="built-in model", daemon=True).start()
        with cancel.calling(self._process.kill):
            first = self.chunks.get()
        if cancel.is_set():
            self.end()
            raise ModelFailure("stopped")
        if first is None:
            self.end()
            raise ModelFailure("built_in_unsuitable", weights=weights.name, detail=self.last_words)
        self.told: Mapping[str, int] = first

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def last_words(self) -> str:
        """Why the process ended."""
        code = self._process.wait()
        said = [line for line in self._log if line.strip()]
        return f"exit code {code}: {said[-1].strip()}" if said else f"exit code {code}"

    @contextlib.contextmanager
    def asked(self, body: Mapping[str, Any]) -> Iterator[None]:
        """Within the block the model writes; it is stopped where the block is left before the end."""
        self._idle.clear()
        self._say(body)
        try:
            yield
        finally:
            if not self._idle.is_set():
                self._say(None)
                if not self._idle.wait(_HEARS_STOP):
                    self.end()
            while not self.chunks.empty():
                self.chunks.get()

    def wake(self) -> None:
        """Wake who waits for a chunk."""
        self.chunks.put(_DONE)

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):  # what could not be said any more
            self._process.stdin.close()

    def _say(self, value: Any) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):  # it died; its end is heard on the other pipe
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()

    def _hear(self) -> None:
        """Take the chunks; None is its end."""
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                chunk = json.loads(line)
                if chunk is None:
                    self._idle.set()
                self.chunks.put(_DONE if chunk is None else chunk)
        self._idle.set()
        self.chunks.put(None)

    def _note(self) -> None:
        """Keep the end of what it prints: there it says why it ends."""
        assert self._process.stderr
        with self._process.stderr as lines:
            for line in lines:
                self._log = [*self._log[-20:], line]


@contextlib.contextmanager
def _held(lock: threading.Lock, cancel: Cancel) -> Iterator[None]:
    """The lock. Raises ModelFailure "stopped" when cancelled while somebody else has it."""
    while not lock.acquire(timeout=0.1):
        if cancel.is_set():
            raise ModelFailure("stopped")
    try:
        yield
    finally:
        lock.release()


def _body(request: ChatRequest) -> dict[str, Any]:
    messages = [{"role": message["role"], "content": message["content"]} for message in request.messages]
    body: dict[str, Any] = {
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.format is None:
        return body | _SAMPLING | {"max_tokens": request.num_ctx // _SHARE_OF_WINDOW}
    schema = {"name": "action", "schema": request.format}
    structure = {"type": "json_schema", "json_schema": schema}
    return body | {"temperature": 0, "max_tokens": LONGEST_STRUCTURE, "response_format": structure}
