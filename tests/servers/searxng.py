"""A scripted SearXNG: plays back what real servers answered, or makes up results for any query.

`tests/data/searxng` holds the recorded answers, status line and headers included. SearXNG's own pages are
replaced by stand-ins of ours.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.servers.http import LoopbackServer, Reply, Request

RECORDED = Path(__file__).parent.parent / "data" / "searxng"
Entry = Mapping[str, Any]
Results = Sequence[Entry] | Callable[[str], Sequence[Entry]]

_JSON_FORBIDDEN = "2_htmlonly_403_de"
_HTML = "text/html; charset=utf-8"


class ScriptedSearxng(LoopbackServer):
    """Answers `/search` with `results`, a list or a function of the query; with a limiter if asked for.

    `recorded` names an answer of `tests/data/searxng` that is given instead. `behave` says how the server
    misbehaves: "no_json", "limiter", "engines" (none of them answers), "html", "slow", "error",
    "redirect" or "silent".
    """

    def __init__(
        self,
        results: Results = (),
        *,
        recorded: str = "",
        behave: str = "",
        seconds: float = 60,
        port: int = 0,
    ) -> None:
        super().__init__(port)
        self.results = results
        self.recorded = recorded
        self.behave = behave
        self.seconds = seconds

    def handle(self, request: Request, reply: Reply) -> None:
        if self.recorded:
            _play(self.recorded, reply)
        elif request.path not in ("/search", "/searxng/search"):
            reply.send(404, b"<!doctype html><title>404</title><p>Page not found</p>", _HTML)
        elif self.behave:
            self._misbehave(request, reply)
        else:
            self._search(request, reply)

    def _search(self, request: Request, reply: Reply) -> None:
        query = request.query.get("q", "")
        if not query:
            reply.send(400, b'{"error": "No query"}', "application/json")
        elif request.query.get("format") != "json":
            reply.send(200, b"<!doctype html><title>SearXNG</title>", _HTML)
        else:
            found = self.results(query) if callable(self.results) else self.results
            reply.send(200, _answer(query, found, []), "application/json")

    def _misbehave(self, request: Request, reply: Reply) -> None:
        failed = [["duckduckgo", "CAPTCHA"], ["brave", "Suspended: too many requests"]]
        match self.behave:
            case "no_json":
                _play(_JSON_FORBIDDEN, reply)
            case "limiter":
                reply.send(429, b"Too Many Requests", _HTML)
            case "engines":
                reply.send(200, _answer(request.query.get("q", ""), [], failed), "application/json")
            case "html":
                reply.send(200, b"<!doctype html><title>Sign in</title>", _HTML)
            case "slow":
                if reply.pause(self.seconds):
                    self._search(request, reply)
            case "error":
                reply.send(500, b'{"error": "search error"}', "application/json")
            case "redirect":
                reply.send(302, b"", _HTML, {"Location": "https://search.example.org/"})
            case "silent":
                reply.hang_up()
            case other:
                raise ValueError(other)


def _play(name: str, reply: Reply) -> None:
    reply.raw((RECORDED / f"{name}.http").read_bytes())
    reply.hang_up()


def _answer(query: str, results: Sequence[Entry], failed: list[list[str]]) -> bytes:
    entries = [{"engine": "scripted", "engines": ["scripted"], **entry} for entry in results]
    others: dict[str, list[Any]] = {"answers": [], "corrections": [], "infoboxes": [], "suggestions": []}
    answer = {"query": query, "results": entries, **others, "unresponsive_engines": failed}
    return json.dumps(answer).encode()
