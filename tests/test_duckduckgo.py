"""Searching through ddgs, and what happens when SearXNG can't be used."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from typing import Any

import pytest

from tests.servers.http import LoopbackServer, Reply, Request
from tests.servers.searxng import ScriptedSearxng
from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.duckduckgo import search_duckduckgo
from tools.registry import ToolRegistry
from tools.settings import ToolSettings
from tools.tool import ToolContext, ToolResult
from tools.web_search import TOOL

REGISTRY = ToolRegistry([TOOL])
FOUND = [
    ("https://one.example/a%20b?x=1%26y=2", "The first & best", "What the first page says."),
    ("https://two.example/", "The second", "What the second page says."),
    ("http://two.example", "The second again", "The same."),
]


_ROW = '<div class="links_main result__body"><h2><a href="{0}">{1}</a></h2><a href="{0}">{2}</a></div>'


class DuckDuckGo(LoopbackServer):
    """The page without scripts that ddgs reads. `status` other than 200 is a refusal."""

    def __init__(self, found: list[tuple[str, str, str]]) -> None:
        super().__init__()
        self.found = found
        self.status = 200
        self.seconds = 0.0

    def handle(self, request: Request, reply: Reply) -> None:
        if not reply.pause(self.seconds):
            return
        rows = "".join(_ROW.format(*map(escape, entry)) for entry in self.found)
        page = f"<html><body><div id='links'>{rows}</div></body></html>".encode()
        reply.send(self.status, page, "text/html; charset=utf-8", {"Connection": "close"})
        reply.keep_alive = False


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[DuckDuckGo]:
    """Every engine of ddgs asks this server, but for those whose address is not in one place."""
    from ddgs.engines import ENGINES

    for name in ("startpage", "yahoo"):
        monkeypatch.delitem(ENGINES["text"], name)
    with DuckDuckGo(FOUND) as server:
        for kind in ENGINES["text"].values():
            monkeypatch.setattr(kind, "search_url", f"{server.url}/html/")
        yield server


def kind_of(**options: Any) -> str:
    with pytest.raises(Failure) as caught:
        search_duckduckgo("rivers", 5, "en", **{"cancel": Cancel(), **options})
    return caught.value.kind


def test_results_come_with_their_addresses_as_they_are(engine: DuckDuckGo) -> None:
    results = search_duckduckgo("rivers", 5, "fr", Cancel())
    assert {(result.href, result.title) for result in results} == {
        ("https://one.example/a%20b?x=1%26y=2", "The first & best"),
        ("https://two.example/", "The second"),
    }
    assert len(engine.requests) == 1
    assert b"l=fr-fr" in engine.requests[0].body


@pytest.mark.parametrize("status", [202, 403, 429, 500])
def test_a_refusal_is_not_an_empty_answer(engine: DuckDuckGo, status: int) -> None:
    engine.status = status
    assert kind_of() == "duckduckgo_nothing"
    assert len(engine.requests) > 1  # the other engines were asked too


def test_an_empty_page_is_told_as_what_it_may_be(engine: DuckDuckGo) -> None:
    engine.found = []
    with pytest.raises(Failure, match="found nothing, or it refuses programs for now"):
        search_duckduckgo("rivers", 5, "en", Cancel())


def test_no_connection(engine: DuckDuckGo, monkeypatch: pytest.MonkeyPatch) -> None:
    from ddgs.engines import ENGINES

    for kind in ENGINES["text"].values():
        monkeypatch.setattr(kind, "search_url", "http://127.0.0.1:1/html/")
    assert kind_of() == "duckduckgo_unreachable"


def test_the_wall_clock_holds(engine: DuckDuckGo) -> None:
    engine.seconds = 3
    began = time.monotonic()
    assert kind_of(seconds=0.5) == "duckduckgo_timeout"
    assert time.monotonic() - began < 2.5


def test_stop_ends_it_at_once(engine: DuckDuckGo) -> None:
    engine.seconds = 3
    cancel = Cancel()
    threading.Timer(0.2, cancel.set).start()
    began = time.monotonic()
    assert kind_of(cancel=cancel) == "stopped"
    assert time.monotonic() - began < 2.5


def search(searxng_url: str, backend: str, told: list[str]) -> ToolResult:
    context = ToolContext(settings=ToolSettings(searxng_url=searxng_url, search_backend=backend))
    return REGISTRY.execute("web_search", {"query": "rivers"}, replace(context, progress=told.append))


def test_auto_asks_searxng_first(engine: DuckDuckGo) -> None:
    told: list[str] = []
    with ScriptedSearxng([{"url": "https://own.example/", "title": "Own", "content": "x"}]) as server:
        result = search(server.url, "auto", told)
    assert result.data[0]["href"] == "https://own.example/"
    assert told == ["SearXNG: results: 1"]
    assert not engine.requests


@pytest.mark.parametrize("behave", ["no_json", "limiter", "engines", "html", "error", "redirect", "silent"])
def test_auto_falls_back_and_says_why(engine: DuckDuckGo, behave: str) -> None:
    told: list[str] = []
    with ScriptedSearxng(behave=behave) as server:
        result = search(server.url, "auto", told)
    assert result.error is None
    assert len(result.data) == 2
    blocks = result.text.split("\n\n")
    assert [block.split("\n")[0][:4] for block in blocks[:-1]] == ["[1] ", "[2] "]
    assert blocks[-1].startswith("Searched with DuckDuckGo, since SearXNG could not be used: ")
    assert told == [blocks[-1], "DuckDuckGo: results: 2"]


def test_when_both_fail_both_causes_are_told(engine: DuckDuckGo) -> None:
    engine.status = 403
    result = search("http://127.0.0.1:1", "auto", [])
    assert result.error is not None
    assert result.error.kind == "search_unavailable"
    assert "SearXNG does not answer at http://127.0.0.1:1/search." in result.text
    assert "DuckDuckGo found nothing" in result.text
    assert "don't answer as if nothing existed" in result.text


@pytest.mark.parametrize("backend", ["searxng", "duckduckgo"])
def test_a_chosen_backend_is_the_only_one(engine: DuckDuckGo, backend: str) -> None:
    result = search("http://127.0.0.1:1", backend, [])
    assert (result.error is None) == (backend == "duckduckgo")
    assert bool(engine.requests) == (backend == "duckduckgo")
