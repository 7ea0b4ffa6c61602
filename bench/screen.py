"""What a person sees of it: how late tokens are on the screen, alone, in a long chat, and in a crowd.

`screen.short` and `screen.long`: in Chromium, the time from Enter until the last of 400 tokens, sent at 200 a
second, was painted, over the time that a bare client needs for the same stream; both by the median. Measured
within the page by its own clock. `screen.crowd_ms`: twenty people ask at once, each with a session of their
own and by the requests that the page makes; the worst delay between the server's first token and its arrival,
best of three rounds. `screen.newcomer_ms`: while forty runs wait for a model, the median time of `/` and
`/config` together.
"""

import contextlib
import secrets
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page

from bench.report import Promise, Report, machine
from tests.panel import Chat, Panel, browser, person
from tests.servers.ollama import Turn, hang, say

TOKENS = 400
RATE = 200.0
RUNS = 5
LONG = 100_000
PEOPLE = 20
ROUNDS = 3
WAITING = 40
MODEL = "qwen2.5:14b"
WALL = 60.0

_WATCH = """last => {
  window.enterAt = window.seenAt = 0;
  document.addEventListener('keydown', event => {
    if (event.key === 'Enter' && !window.enterAt) window.enterAt = performance.now();
  }, true);
  const observer = new MutationObserver(() => {
    if (!document.querySelector('#chat').textContent.includes(last)) return;
    observer.disconnect();
    requestAnimationFrame(() => { window.seenAt = performance.now(); });
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
}"""

Row = dict[str, Any]


def bench() -> Report:
    """The four figures, each with what it was measured by."""
    with tempfile.TemporaryDirectory() as folder, Panel(Path(folder)) as panel:
        with browser() as opened:
            server = _server_seconds(panel)
            short = _screen_seconds(panel, opened, filled=0)
            long = _screen_seconds(panel, opened, filled=LONG)
            chromium = f"Chromium {opened.version}"
        crowd = min(_crowd_seconds(panel) for _ in range(ROUNDS))
        newcomer = _newcomer_seconds(panel)
    promises = {
        "screen.short": Promise(short / server, 1.10),
        "screen.long": Promise(long / server, 1.15),
        "screen.crowd_ms": Promise(1000 * crowd, 500),
        "screen.newcomer_ms": Promise(1000 * newcomer, 300),
    }
    rows = [
        _row("a bare client", f"{TOKENS} tokens at {RATE:g} a second", server, RUNS, "httpx"),
        _row("the page, a new chat", "Enter to the last token painted", short, RUNS, "gradio", chromium),
        _row(f"the page, {LONG // 1000} kB shown", "the same", long, RUNS, "gradio", chromium),
        _row(f"{PEOPLE} people at once", "worst delay of a first token", crowd, ROUNDS, "gradio"),
        _row(f"{WAITING} runs waiting", "/ and /config", newcomer, RUNS, "gradio"),
    ]
    return Report("screen", promises, rows)


def _row(side: str, what: str, seconds: float, runs: int, package: str, other: str = "") -> Row:
    of = ", ".join(filter(None, (machine(package), other)))
    return {"side": side, "what": what, "seconds": seconds, "runs": runs, "versions": of}


def _story(last: str) -> Turn:
    return say(["word "] * (TOKENS - 1) + [last], tokens_per_second=RATE)


def _server_seconds(panel: Panel) -> float:
    """What the stream takes by itself."""
    last = "that-was-it"
    panel.ollama.play(_story(last))
    body = {"model": MODEL, "messages": [{"role": "user", "content": "x"}]}
    seconds = []
    for _ in range(RUNS):
        began = time.perf_counter()
        with httpx.stream("POST", f"{panel.ollama.url}/api/chat", json=body, timeout=WALL) as answer:
            next(line for line in answer.iter_lines() if last in line)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _screen_seconds(panel: Panel, opened: Browser, filled: int) -> float:
    """From Enter to the last token, in a chat that shows `filled` characters already."""
    context = person(opened)
    chat = Chat(context.new_page()).open(panel.url)
    seconds: list[float] = []
    for _ in range(RUNS):
        if not seconds or not filled:
            chat.page.click("#new-chat")
            _fill(panel, chat, filled)
        last = f"that-was-number-{len(seconds)}"
        panel.ollama.play(_story(last))
        chat.page.evaluate(_WATCH, last)
        chat.ask("Tell me a story.")
        seconds.append(_seen(chat.page))
        chat.wait_until_done()
    context.close()
    return statistics.median(seconds)


def _fill(panel: Panel, chat: Chat, characters: int) -> None:
    """Have the chat show so many characters, in five answers."""
    for number in range(5 if characters else 0):
        paragraph = "All work and no play makes a dull story that goes on and on. " * 8
        answer = f"{paragraph}\n\n" * (characters // 5 // len(paragraph)) + f"Part {number} ends."
        panel.ollama.play(say(answer))
        chat.ask("Go on.")
        chat.wait_for(f"Part {number} ends.")
        chat.wait_until_done()


def _seen(page: Page) -> float:
    page.wait_for_function("() => window.seenAt", timeout=WALL * 1000)
    return float(page.evaluate("() => (window.seenAt - window.enterAt) / 1000"))


class _Visitor:
    """Somebody with a page open, by the requests that the page makes."""

    def __init__(self, panel: Panel) -> None:
        self._client = httpx.Client(base_url=panel.url, timeout=WALL)
        self._session = secrets.token_hex(8)
        self._client.get("/")
        config = self._client.get("/config").json()
        self._names = {part["id"]: part["props"].get("elem_id") for part in config["components"]}
        box = next(id for id, name in self._names.items() if name == "box")
        events = config["dependencies"]
        self._send = next(each for each in events if [box, "submit"] in each["targets"])
        self._follow = next(each for each in events if each["trigger_after"] == self._send["id"])
        loading = {each["id"] for each in events if each["targets"][0][1] == "load"}
        for each in events:
            if each["id"] in loading or each["trigger_after"] in loading:
                self._post("run/predict", each)

    def ask(self, question: str) -> None:
        """Send a question."""
        self._post("run/predict", self._send, box=question, model=MODEL, tools=[])
        self._post("queue/join", self._follow)

    def _post(self, path: str, event: dict[str, Any], **values: Any) -> None:
        """Have an event handled; `values` are those of its inputs."""
        body = {
            "data": [values.get(self._names[id] or "") for id in event["inputs"]],
            "fn_index": event["id"],
            "session_hash": self._session,
            "trigger_id": event["targets"][0][0],
        }
        self._client.post(f"/gradio_api/{path}", json=body).raise_for_status()

    def messages(self) -> Iterator[str]:
        """What comes on the page's stream."""
        path = f"/gradio_api/queue/data?session_hash={self._session}"
        with self._client.stream("GET", path) as answer:
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    yield line

    def wait(self) -> None:
        """Follow the stream, whatever comes, until it is closed."""
        with contextlib.suppress(httpx.HTTPError, httpx.StreamError, OSError):
            for _ in self.messages():
                pass

    def close(self) -> None:
        self._client.close()


def _crowd_seconds(panel: Panel) -> float:
    """The worst of all: how much later than the server's first token it arrived."""
    began: dict[str, float] = {}
    seen: dict[str, float] = {}

    def turn(request: dict[str, Any]) -> Turn:
        first = _first_token(request["messages"][-1]["content"])
        began[first] = time.perf_counter()
        return say([first, *[" word"] * 100], tokens_per_second=50)

    def take_part(visitor: _Visitor, question: str) -> None:
        first = _first_token(question)
        gate.wait()
        visitor.ask(question)
        for message in visitor.messages():
            if first in message:
                seen.setdefault(first, time.perf_counter())
            if "process_completed" in message:
                return

    panel.ollama.play(turn)
    gate = threading.Barrier(PEOPLE)
    questions = [f"Question {number}" for number in range(PEOPLE)]
    with _visitors(panel, PEOPLE) as visitors:
        _side_by_side(take_part, zip(visitors, questions, strict=True))
    return max(seen[first] - began[first] for first in map(_first_token, questions))


def _first_token(question: str) -> str:
    return f"answer-{question.rpartition(' ')[2]}-begins"


def _newcomer_seconds(panel: Panel) -> float:
    """`/` and `/config` for somebody new, while others wait for the model."""
    panel.ollama.play(hang(WALL))
    asked = len(panel.ollama.chats) + WAITING
    with _visitors(panel, WAITING) as visitors:
        for visitor in visitors:
            visitor.ask("Are you there?")
            threading.Thread(target=visitor.wait, daemon=True).start()
        deadline = time.monotonic() + WALL
        while len(panel.ollama.chats) < asked:
            assert time.monotonic() < deadline, "the runs do not begin"
            time.sleep(0.05)
        return statistics.median(_page_seconds(panel) for _ in range(RUNS))


def _page_seconds(panel: Panel) -> float:
    with httpx.Client(base_url=panel.url, timeout=WALL) as newcomer:
        began = time.perf_counter()
        newcomer.get("/").raise_for_status()
        newcomer.get("/config").raise_for_status()
        return time.perf_counter() - began


@contextlib.contextmanager
def _visitors(panel: Panel, count: int) -> Iterator[list[_Visitor]]:
    with contextlib.ExitStack() as open_pages:
        yield [open_pages.enter_context(contextlib.closing(_Visitor(panel))) for _ in range(count)]


def _side_by_side(work: Callable[..., None], given: Iterable[tuple[Any, ...]]) -> None:
    """Each in a thread of its own; returns when all are done."""
    with ThreadPoolExecutor(WAITING) as pool:
        for done in [pool.submit(work, *each) for each in given]:
            done.result(WALL)
