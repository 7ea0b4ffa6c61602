"""What the loop adds: to a stream against the bare client of Ollama, to a tool step against other loops.

The stream has 5,000 tokens, and the best of each side counts. A step is a run of two turns with a tool that
returns at once, by agents as they come, each in a process of its own; the median counts. All runs alternate,
and the scripted server has a process of its own too and sends as fast as it can.
"""

import contextlib
import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import ollama

from agent.chat import OllamaChat
from agent.events import Text
from agent.loop import Setup, run
from agent.settings import Settings
from bench.peers import HOW, Agent, versions
from bench.peers.worker import MODEL, TOLD
from bench.report import Promise, Report, machine
from tests.servers.ollama import Script, ScriptedOllama, Turn, call, say
from tools.cancel import Cancel
from tools.registry import default_registry
from tools.tool import ToolContext

TOKENS = 5_000
RUNS = 15
STEPS = 30
WARM_UP = 3
QUESTION = [{"role": "user", "content": "Tell me a long story."}]

Row = dict[str, Any]


def bench() -> Report:
    """Tokens a second, ours over raw; and our rank in milliseconds for a step."""
    ratio, stream_rows = _stream()
    rank, step_rows = _steps()
    promises = {
        "loop.tokens_ratio": Promise(ratio, 1.0, "at least"),
        "loop.step_rank": Promise(rank, 1),
    }
    return Report("loop", promises, stream_rows + step_rows)


def _stream() -> tuple[float, list[Row]]:
    sides: dict[str, Callable[[str], int]] = {"panel": _ours, "ollama": _raw}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    with _Server(_story) as url:
        for _ in range(RUNS):
            for name, read in sides.items():
                began = time.perf_counter()
                assert read(url) > TOKENS
                seconds[name].append(time.perf_counter() - began)
    rates = {name: TOKENS / min(times) for name, times in seconds.items()}
    how = {"panel": HOW["panel"], "ollama": "ollama.Client.chat, streamed"}
    rows = [
        _row(name, "tokens a second", rate, RUNS, how[name], machine("ollama", "httpx"))
        for name, rate in rates.items()
    ]
    return rates["panel"] / rates["ollama"], rows


def _steps() -> tuple[int, list[Row]]:
    seconds: dict[str, list[float]] = {name: [] for name in HOW}
    with _Server(_two_turns) as url, contextlib.ExitStack() as running:
        agents = [running.enter_context(Agent(name, url)) for name in HOW]
        for number in range(WARM_UP + STEPS):
            for agent in agents:
                took = agent.run()
                if number >= WARM_UP:
                    seconds[agent.name].append(took)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    ranked = sorted(medians, key=medians.__getitem__)
    rows = [
        _row(name, "ms a step", 1000 * medians[name], STEPS, HOW[name], versions(name)) for name in ranked
    ]
    return ranked.index("panel") + 1, rows


def _row(side: str, what: str, value: float, runs: int, how: str, of: str) -> Row:
    return {"side": side, "what": what, "value": value, "runs": runs, "how it runs": how, "versions": of}


def _ours(url: str) -> int:
    registry = default_registry()
    settings = Settings(ollama_url=url)
    with OllamaChat(url) as server:
        setup = Setup(server, MODEL, registry, settings, ToolContext(settings=settings), registry.names())
        events = run(setup, QUESTION, Cancel())
        return sum(len(event.text) for event in events if isinstance(event, Text))


def _raw(url: str) -> int:
    with ollama.Client(url) as client:
        parts = client.chat(MODEL, QUESTION, stream=True)
        return sum(len(part.message.content or "") for part in parts)


class _Server:
    """A scripted Ollama in a process of its own, so that it takes no time from either side."""

    def __init__(self, script: Callable[[], Script]) -> None:
        self._script = script

    def __enter__(self) -> str:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._script), daemon=True)
        self._process.start()
        url: str = ours.recv()
        return url

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()


def _serve(pipe: Connection, script: Callable[[], Script]) -> None:
    with ScriptedOllama(chat=script()) as server:
        pipe.send(server.url)
        threading.Event().wait()


def _story() -> Script:
    return say(["word "] * TOKENS)


def _two_turns() -> Script:
    """A call, then the answer, which smolagents takes as a call of a tool of its own."""

    def turn(request: dict[str, Any]) -> Turn:
        if all(message["role"] != "assistant" for message in request["messages"]):
            return call("web_search", {"query": "hello"})
        offered = {tool["function"]["name"] for tool in request.get("tools") or ()}
        return call("final_answer", {"answer": TOLD}) if "final_answer" in offered else say(TOLD)

    return turn
