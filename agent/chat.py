"""One streamed turn with a model server: what is asked, and the pieces that come back."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import httpx

from agent.chat_errors import TRANSPORT_ERRORS, cut_failure, line_failure, page_failure, transport_failure
from agent.chat_errors import ModelFailure as ModelFailure
from agent.connection import Connection, shut_down, version_numbers
from agent.events import Message
from agent.ndjson import Line, read_lines
from agent.wire import arguments_object, wire_keep_alive, wire_messages
from tools.cancel import Cancel

Think = bool | str | None
"""Whether to think aloud: None leaves it to the server; a str is a level such as "low"."""


@dataclass(frozen=True)
class ChatRequest:
    """One request to /api/chat. `tools` are in Ollama's wire form; empty = plain chat.

    With `format`, a JSON schema, the model can write nothing but JSON that fits it; not beside tools,
    whose calls it would forbid.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    num_ctx: int = 16384
    think: Think = None
    keep_alive: str = "5m"
    format: dict[str, Any] | None = None


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


LONGEST_STRUCTURE = 1024
"""Tokens that an answer under a schema may have."""


class ChatServer(Protocol):
    """What the loop needs of a model server; Ollama's client and the built-in model both are one."""

    def stream(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece | End]:
        """The turn as it arrives: pieces, then one End.

        Ends without an End only when `cancel` was set. Raises ModelFailure for everything else.
        """
        ...


class OllamaChat(Connection):
    """The chat of an Ollama server: one streaming method beside those of `ollama.Client`.

    A run has a client of its own, and each of its turns a connection of its own, which Stop can cut.
    """

    def __init__(self, host: str, *, silence: float = 600.0, connect: float = 5.0) -> None:
        super().__init__(host, silence=silence, connect=connect, keep_alive=False)
        self._ids: set[str] = set()
        self._streams_calls: bool | None = None

    def stream(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece | End]:
        """One turn, as `ChatServer.stream` describes it (api/types.go, ChatRequest and ChatResponse).

        A line that can't be read is a Piece with `bad_line`. Closing the iterator ends the request.
        """
        try:
            response = self._opened(request, cancel)
            if response is None:
                return
            own = partial(shut_down, response.extensions["network_stream"])
            with closing(response), cancel.calling(own):
                yield from self._turn(response, request.model, cancel)
        except TRANSPORT_ERRORS as error:
            if not cancel.is_set():
                raise transport_failure(
                    error, host=self.host, model=request.model, silence=self.silence
                ) from error
        except ModelFailure:
            if not cancel.is_set():
                raise

    def _opened(self, request: ChatRequest, cancel: Cancel) -> httpx.Response | None:
        """The response with its headers; None when cancelled before.

        Looking up a name and connecting can't be interrupted, so that happens in a thread, which is
        left to itself when the run is cancelled.
        """
        if cancel.is_set():
            return None
        future: Future[httpx.Response] = Future()
        connections: list[Any] = []
        send = partial(self._send, request, partial(_note, connections, cancel))
        waiting = threading.Event()
        future.add_done_callback(lambda _: waiting.set())
        threading.Thread(target=_settle, args=(future, send), daemon=True).start()
        with cancel.calling(waiting.set):
            waiting.wait()
        if cancel.is_set():
            for connection in connections:
                shut_down(connection)
            future.add_done_callback(_close)
            return None
        return future.result()

    def _send(self, request: ChatRequest, trace: Callable[..., None]) -> httpx.Response:
        streamed = not request.tools or self._can_stream_calls()
        body = _body(request, streamed)
        post = self._client.build_request("POST", "/api/chat", content=body, extensions={"trace": trace})
        return self._client.send(post, stream=True)

    def _can_stream_calls(self) -> bool:
        """Whether the server finds calls in a stream: before 0.4.6 it did so in a whole answer only."""
        if self._streams_calls is None:
            self._streams_calls = version_numbers(self.version()) >= (0, 4, 6)
        return self._streams_calls

    def _turn(self, response: httpx.Response, model: str, cancel: Cancel) -> Iterator[Piece | End]:
        kind = response.headers.get("content-type", "")
        if response.status_code != 200:
            raise self.status_failure(response, _beginning(response), model)
        if "html" in kind:
            raise page_failure(kind, host=self.host, model=model)
        for lines in read_lines(response.iter_bytes()):
            for item in _joined(self._items(lines, model)):
                if cancel.is_set():
                    return
                yield item
                if isinstance(item, End):
                    return
        raise cut_failure(host=self.host, model=model)

    def _items(self, lines: list[Line], model: str) -> Iterator[Piece | End]:
        """What the lines say. Raises ModelFailure for one that tells a failure."""
        for line in lines:
            if isinstance(line, str):
                yield Piece(bad_line=line)
                continue
            message, done = line.get("message"), line.get("done")
            if message is None and done:
                message = {}
            if not isinstance(message, dict) or line.get("error"):
                raise line_failure(line, host=self.host, model=model)
            text, thinking = _said(message.get("content")), _said(message.get("thinking"))
            if text or thinking:
                yield Piece(text, thinking)
            if made := message.get("tool_calls"):
                yield from self._calls(made)
            if done:
                yield _end(line)
                return

    def _calls(self, made: Any) -> Iterator[Piece]:
        """Each entry is a call of its own: some servers give all of them the index 0, or no id."""
        for entry in made if isinstance(made, list) else [made]:
            function = entry.get("function") if isinstance(entry, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if not isinstance(function, dict) or not isinstance(name, str):
                yield Piece(bad_line=json.dumps(entry, ensure_ascii=False))
                continue
            arguments = arguments_object(function.get("arguments"))
            if arguments is None:  # the call is answered with what is missing, and the notice says why
                yield Piece(bad_line=json.dumps(function, ensure_ascii=False))
            yield Piece(calls=(Call(self._own_id(entry.get("id")), name, arguments or {}),))

    def _own_id(self, given: Any) -> str:
        """The server's id, or a new one where it gave none or the same again."""
        chosen = given if isinstance(given, str) and given and given not in self._ids else ""
        chosen = chosen or f"call_{secrets.token_hex(4)}"
        self._ids.add(chosen)
        return chosen


def _body(request: ChatRequest, streamed: bool) -> bytes:
    """The request as JSON. Nothing is to be lost without a word: a prompt that is too long is refused
    (`truncate`), and a full window ends the answer (`shift`)."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": wire_messages(request.messages),
        "stream": streamed,
        "options": {"num_ctx": request.num_ctx},
        "keep_alive": wire_keep_alive(request.keep_alive),
        "truncate": False,
        "shift": False,
    }
    if request.tools:
        body["tools"] = request.tools
    if request.think is not None:
        body["think"] = request.think
    if request.format is not None:
        body["format"] = request.format
        # A choice, not prose; and a model that never closes a string is stopped.
        body["options"] |= {"temperature": 0, "num_predict": LONGEST_STRUCTURE}
    return json.dumps(body).encode()  # ASCII, so that half a surrogate pair in a text does no harm


def _joined(items: Iterator[Piece | End]) -> Iterator[Piece | End]:
    """Neighbouring pieces of text as one: what came in one read need not be told token by token."""
    texts: list[str] = []
    try:
        for item in items:
            if isinstance(item, Piece) and item.text and not item.thinking:
                texts.append(item.text)
                continue
            if texts:
                yield Piece("".join(texts))
                texts = []
            yield item
    except ModelFailure:
        if texts:
            yield Piece("".join(texts))
        raise
    if texts:
        yield Piece("".join(texts))


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""


def _end(line: Mapping[str, Any]) -> End:
    counts = {key: value for key, value in line.items() if key.endswith(("_count", "_duration"))}
    reason = line.get("done_reason")
    return End(
        reason=reason if isinstance(reason, str) and reason else "stop",
        prompt_tokens=_whole(counts.get("prompt_eval_count")),
        answer_tokens=_whole(counts.get("eval_count")),
        seconds=(_whole(counts.get("total_duration")) or 0) / 1e9,
        details=counts,
    )


def _whole(value: Any) -> int | None:
    """A count as the wire has it: a 64-bit integer (api/types.go, Metrics)."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return value if is_count else None


def _beginning(response: httpx.Response) -> bytes:
    """The body of an error, or as much of it as makes sense to read."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > 65_536:
            break
    return bytes(body)


def _note(connections: list[Any], cancel: Cancel, event: str, info: Mapping[str, Any]) -> None:
    """Keep a connection as soon as it stands; httpcore shows it to a `trace` only. None stands for long
    after the end of the run."""
    if event.endswith(("connect_tcp.complete", "start_tls.complete")):
        connections.append(info["return_value"])
        if cancel.is_set():
            shut_down(info["return_value"])


def _settle(future: Future[httpx.Response], work: Callable[[], httpx.Response]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)


def _close(future: Future[httpx.Response]) -> None:
    if future.exception() is None:
        future.result().close()
