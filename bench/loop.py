"""What the loop adds to a stream: our events for each token, against the bare client of Ollama.

Both read the same stream of 5,000 tokens from the same scripted server, which runs in a process of its
own and sends as fast as it can; the runs alternate, and the best of each side counts.
"""

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import ollama

from agent.chat import OllamaChat
from agent.events import Text
from agent.loop import Setup, run
from agent.settings import Settings
from bench.report import Promise, Report, machine
from tests.servers.ollama import ScriptedOllama, say
from tools.cancel import Cancel
from tools.registry import default_registry
from tools.tool import ToolContext

TOKENS = 5_000
RUNS = 15
MODEL = "qwen2.5:14b"
QUESTION = [{"role": "user", "content": "Tell me a long story."}]


def bench() -> Report:
    """Tokens a second, ours over raw."""
    with _Server() as url:
        sides: dict[str, Callable[[str], int]] = {"panel loop": _ours, "ollama client": _raw}
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(RUNS):
            for name, read in sides.items():
                began = time.perf_counter()
                assert read(url) > TOKENS
                seconds[name].append(time.perf_counter() - began)
    rates = {name: TOKENS / min(times) for name, times in seconds.items()}
    ratio = rates["panel loop"] / rates["ollama client"]
    rows = [
        {"side": name, "tokens a second": rate, "runs": RUNS, "versions": machine("ollama", "httpx")}
        for name, rate in rates.items()
    ]
    return Report("loop", {"loop.tokens_ratio": Promise(ratio, 1.0, "at least")}, rows)


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
    """The scripted Ollama in a process of its own, so that it takes no time from either side."""

    def __enter__(self) -> str:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        url: str = ours.recv()
        return url

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()


def _serve(pipe: Connection) -> None:
    with ScriptedOllama(chat=say(["word "] * TOKENS)) as server:
        pipe.send(server.url)
        threading.Event().wait()
