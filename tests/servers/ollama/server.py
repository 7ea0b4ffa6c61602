"""A scripted Ollama: the endpoints that the panel uses, answered as a real one does, by a script."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.servers.http import LoopbackServer, Reply, Request
from tests.servers.ollama.checks import Refused, check_abilities, check_order, check_shape, parsed
from tests.servers.ollama.models import Model, presets
from tests.servers.ollama.openai import completion
from tests.servers.ollama.stage import Stage, now
from tests.servers.ollama.turns import Turn, encode, fail, say

Script = Turn | Sequence[Turn] | Callable[[dict[str, Any]], Turn]
"""One turn that is played again and again; turns that are played in order; or a function from the request
to the turn, called for one request at a time."""


class ScriptedOllama(LoopbackServer):
    """An Ollama of that `version` whose models say what the `chat` script tells them.

    `models` are names of presets, or models; `pullable` those that /api/pull finds. `latency` delays
    every answer but a chat's, in seconds; `pull_seconds` is how long a pull takes. Requests that a real
    server would refuse are refused, so that a client's mistakes show.
    """

    def __init__(
        self,
        models: Iterable[str | Model] | None = None,
        chat: Script | None = None,
        *,
        version: str | None = "0.33.0",
        latency: float = 0.0,
        pullable: Iterable[str | Model] = (),
        pull_seconds: float = 0.0,
        port: int = 0,
    ) -> None:
        super().__init__(port)
        self.version = version
        self._numbers = _numbers(version)
        known = {model.name: model for model in presets(self._numbers)}
        chosen = [*known.values()] if models is None else [_model(model, known) for model in models]
        self.models: dict[str, Model] = {model.name: model for model in chosen}
        self.loaded: dict[str, int] = {}
        """Loaded models and the context that each was loaded with."""
        self._pullable = {model.name: model for model in (_model(model, known) for model in pullable)}
        self._pulled: dict[str, int] = {}
        self._pull_seconds = pull_seconds
        self._latency = latency
        self._script = chat if chat is not None else say("Hello! How can I help you?")
        self._played = 0
        self._lock = threading.Lock()

    def play(self, chat: Script) -> None:
        """Go on with another script, from its first turn."""
        with self._lock:
            self._script, self._played = chat, 0

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of all requests to /api/chat, in order."""
        return [request.json() for request in list(self.requests) if request.path == "/api/chat"]

    def handle(self, request: Request, reply: Reply) -> None:
        routes: dict[str, tuple[str, Callable[[Request, Reply], None]]] = {
            "/": ("GET", self._hello),
            "/api/version": ("GET", self._version),
            "/api/tags": ("GET", self._tags),
            "/api/ps": ("GET", self._ps),
            "/api/show": ("POST", self._show),
            "/api/chat": ("POST", self._chat),
            "/v1/chat/completions": ("POST", self._completion),
            "/api/generate": ("POST", self._generate),
            "/api/pull": ("POST", self._pull),
            "/api/delete": ("DELETE", self._delete),
        }
        method, answer = routes.get(request.path, ("", self._hello))
        if not method or (request.path == "/api/version" and self.version is None):
            reply.send(404, b"404 page not found", "text/plain")
        elif method != request.method and not (method == "GET" and request.method == "HEAD"):
            reply.send(405, b"405 method not allowed", "text/plain")
        else:
            if self._latency and request.path != "/api/chat":
                time.sleep(self._latency)
            try:
                answer(request, reply)
            except Refused as refused:
                _send(reply, {"error": refused.error}, refused.status)

    def _hello(self, request: Request, reply: Reply) -> None:
        reply.send(
            200, b"" if request.method == "HEAD" else b"Ollama is running", "text/plain; charset=utf-8"
        )

    def _version(self, request: Request, reply: Reply) -> None:
        _send(reply, {"version": self.version})

    def _tags(self, request: Request, reply: Reply) -> None:
        _send(reply, {"models": [model.row for model in list(self.models.values())]})

    def _ps(self, request: Request, reply: Reply) -> None:
        running = [(self.models[name], context) for name, context in list(self.loaded.items())]
        _send(reply, {"models": [self._running(model, context) for model, context in running]})

    def _running(self, model: Model, context: int) -> dict[str, Any]:
        kept = {key: model.row[key] for key in ("name", "model", "size", "digest", "details")}
        return kept | {"expires_at": now(), "size_vram": model.row["size"], "context_length": context}

    def _show(self, request: Request, reply: Reply) -> None:
        body = parsed(request.body)
        model = self._found(body.get("model") or body.get("name"))
        _send(reply, model.show, model.show_status)

    def _chat(self, request: Request, reply: Reply) -> None:
        body = parsed(request.body)
        check_shape(body)
        model = self._found(body.get("model"))
        check_abilities(body, model)
        body.setdefault("messages", [])
        if not body["messages"]:
            self._load(body, model, reply, {"message": {"role": "assistant", "content": ""}})
            return
        check_order(body["messages"])
        self._keep(body, model)
        Stage(body, reply, self._numbers).play(self._next_turn(body))

    def _completion(self, request: Request, reply: Reply) -> None:
        body = parsed(request.body)
        model = self._found(body.get("model"))
        _send(reply, completion(model.name, self._next_turn(body)))

    def _next_turn(self, body: dict[str, Any]) -> Turn:
        with self._lock:
            number, self._played = self._played, self._played + 1
            if isinstance(self._script, Turn):
                return self._script
            if callable(self._script):
                return self._script(body)
            if number < len(self._script):
                return self._script[number]
            return fail(500, f"the script has {len(self._script)} turns, this is request {number + 1}")

    def _generate(self, request: Request, reply: Reply) -> None:
        """Loading and unloading only: nothing is generated here."""
        body = parsed(request.body)
        model = self._found(body.get("model"))
        if body.get("prompt"):
            raise Refused(500, "the script has no turns for /api/generate")
        self._load(body, model, reply, {"response": ""})

    def _load(self, body: Mapping[str, Any], model: Model, reply: Reply, said: dict[str, Any]) -> None:
        self._keep(body, model)
        reason = "load" if model.name in self.loaded else "unload"
        _send(
            reply, {"model": body["model"], "created_at": now(), **said, "done": True, "done_reason": reason}
        )

    def _keep(self, body: Mapping[str, Any], model: Model) -> None:
        if body.get("keep_alive") in (0, "0", "0s"):
            self.loaded.pop(model.name, None)
        else:
            asked = (body.get("options") or {}).get("num_ctx", 4096)
            self.loaded[model.name] = min(asked, model.context_length)

    def _pull(self, request: Request, reply: Reply) -> None:
        """The lines of a pull: it ends when the client goes, and the next one takes up where it stood."""
        name = parsed(request.body).get("model", "")
        reply.start(200, "application/x-ndjson")
        _write(reply, {"status": "pulling manifest"})
        model = self._pullable.get(name) or self.models.get(name)
        if model is None:
            _write(reply, {"error": "pull model manifest: file does not exist"})
        else:
            self._download(model, reply)
            for status in ("verifying sha256 digest", "writing manifest", "success"):
                _write(reply, {"status": status})
            self.models[name] = model
        reply.end()

    def _download(self, model: Model, reply: Reply) -> None:
        digest, total, parts = model.row["digest"], model.row["size"], 20
        layer = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": total}
        for part in range(self._pulled.get(model.name, 0), parts + 1):
            _write(reply, layer | ({"completed": total * part // parts} if part else {}))
            self._pulled[model.name] = part
            if not reply.pause(self._pull_seconds / parts):
                raise ConnectionError

    def _delete(self, request: Request, reply: Reply) -> None:
        model = self._found(parsed(request.body).get("model"))
        del self.models[model.name]
        self.loaded.pop(model.name, None)
        reply.send(200)

    def _found(self, name: object) -> Model:
        if not name:
            raise Refused(400, "model is required")
        model = self.models.get(str(name)) or self.models.get(f"{name}:latest")
        if model is None:
            raise Refused(404, f"model '{name}' not found")
        return model


def _numbers(version: str | None) -> tuple[int, ...]:
    """What the server can do goes by these; one that tells no version, or 0.0.0, is new."""
    told = version if version not in (None, "0.0.0") else "0.33.0"
    return tuple(int(part) for part in told.split("-")[0].split("."))


def _model(model: str | Model, known: Mapping[str, Model]) -> Model:
    return known[model] if isinstance(model, str) else model


def _send(reply: Reply, body: Any, status: int = 200) -> None:
    reply.send(status, encode(body).encode())


def _write(reply: Reply, body: Any) -> None:
    reply.write(encode(body).encode() + b"\n")
