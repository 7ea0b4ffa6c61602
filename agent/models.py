"""The models that an Ollama has, and what each of them can do."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.capabilities import ModelInfo as ModelInfo
from agent.capabilities import read_model
from agent.chat_errors import ModelFailure, page_failure
from agent.connection import Connection
from agent.settings import client_address

_SIDE_BY_SIDE = 16
"""Requests for models' details at a time."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RunningModel:
    """A model in memory: `size` bytes, of which `size_vram` are on the graphics card.

    `context_length` is the window that it was loaded with, in tokens; None where the server is too old
    to tell. `expires_at` is when it will be unloaded, as the server writes it (RFC 3339).
    """

    name: str
    size: int
    size_vram: int
    context_length: int | None
    expires_at: str


@dataclass(frozen=True)
class Answering:
    """What answers at an address: the version ("" = not told), how many models, after how many seconds."""

    version: str
    models: int
    seconds: float


class ModelCatalog:
    """The models of the server at `host`. `overrides` is the owner's word on who calls tools, by name.

    Reads raw answers: the ollama package drops `capabilities` of /api/tags and `remote_host`. What
    /api/show says is kept by digest, so that only new models are asked about. Every method may be called
    from any thread, and raises ModelFailure when the server fails.
    """

    def __init__(self, host: str, overrides: Mapping[str, bool] | None = None) -> None:
        self.host = host
        self._overrides = {_tagged(name): able for name, able in (overrides or {}).items()}
        self._shown: dict[str, Mapping[str, Any]] = {}

    def running(self) -> list[RunningModel]:
        """The models in memory."""
        with Connection(self.host) as server:
            return [_running(row) for row in _rows(server, "/api/ps")]

    def version(self) -> str:
        """The server's version; "" where it does not tell."""
        with Connection(self.host) as server:
            return server.version()

    def get(self, name: str) -> ModelInfo:
        """One model, by its name with or without `:latest`. Raises ModelFailure "model_missing"."""
        with Connection(self.host) as server:
            wanted = _tagged(name)
            row = next((row for row in _rows(server) if _tagged(_name(row)) == wanted), None)
            if row is None:  # not listed: its own answer says whether it is there
                show = server.fetch("POST", "/api/show", {"model": name})
                return read_model(name, show, override=self._overrides.get(wanted))
            return self._model(row, self._show(server, row), frozenset())

    def list(self) -> list[ModelInfo]:
        """All models, in the server's order (the newest first)."""
        with Connection(self.host) as server, ThreadPoolExecutor(_SIDE_BY_SIDE) as workers:
            running = workers.submit(_loaded_names, server)
            rows = _rows(server)
            shown = list(workers.map(partial(self._show, server), rows))
            return [self._model(row, show, running.result()) for row, show in zip(rows, shown, strict=True)]

    def _show(self, server: Connection, row: Row) -> Mapping[str, Any] | None:
        """The answer of /api/show; None where it fails for this model only: then its row has to do."""
        key = str(row.get("digest") or f"{_name(row)} {row.get('modified_at')}")
        if key not in self._shown:
            try:
                show = server.fetch("POST", "/api/show", {"model": _name(row)})
            except ModelFailure as failure:
                if failure.kind == "unreachable":
                    raise
                return None
            if not isinstance(show, Mapping):
                return None
            self._shown[key] = show
        return self._shown[key]

    def _model(self, row: Row, show: Mapping[str, Any] | None, running: frozenset[str]) -> ModelInfo:
        name = _name(row)
        override = self._overrides.get(_tagged(name))
        return read_model(name, show, row, override=override, loaded=name in running)


def check_ollama(address: str) -> Answering:
    """Whether an Ollama answers at an address as people write it. Raises ModelFailure."""
    try:
        host = client_address(address, default_port=11434)
    except ValueError as error:
        raise ModelFailure("unreachable", host=address, detail=error) from error
    began = time.monotonic()
    with Connection(host) as server:
        version, rows = server.version(), _rows(server)
    return Answering(version, len(rows), time.monotonic() - began)


def _rows(server: Connection, path: str = "/api/tags") -> list[Row]:
    answer = server.fetch("GET", path)
    rows = answer.get("models") if isinstance(answer, dict) else answer
    if not isinstance(rows, list | None):
        raise page_failure(f"{path} without a list of models", host=server.host, model="")
    return [row for row in rows or () if isinstance(row, dict) and _name(row)]


def _loaded_names(server: Connection) -> frozenset[str]:
    """The names of the models in memory; compatible servers may not tell."""
    try:
        return frozenset(_name(row) for row in _rows(server, "/api/ps"))
    except ModelFailure as failure:
        if failure.kind == "unreachable":
            raise
        return frozenset()


def _running(row: Row) -> RunningModel:
    size, in_vram, context = (
        value if isinstance(value, int) else None
        for value in (row.get("size"), row.get("size_vram"), row.get("context_length"))
    )
    return RunningModel(_name(row), size or 0, in_vram or 0, context, str(row.get("expires_at") or ""))


def _name(row: Row) -> str:
    return str(row.get("name") or row.get("model") or "")


def _tagged(name: str) -> str:
    """The name with its tag, as Ollama completes it."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
