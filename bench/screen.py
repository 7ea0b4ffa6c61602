"""How late a person sees what the model says: alone, in a long chat, and in a crowd.

`screen.short` and `screen.long`: in Chromium, the time from Enter until the last of 400 tokens, sent at 200 a
second, is on the screen, over the time that the server itself took: from the arrival of the request to the
end of its answer, by its own clock. In a new chat, and in one that shows 100 kB of Markdown already. The page
measures by its own clock too, and a token is on the screen when the frame with it is done. The median counts.

`screen.crowd_ms`: twenty people ask in the same moment, each with cookies and a session of their own, by the
requests that the page makes. The time from when the server takes up a question, just before it sends the
first token of its answer, until that token is on the asker's stream; the worst of all, in the best round.

`screen.newcomer_ms`: while forty people wait for their first token, what `/` and then `/config` take together
for somebody new. Best of the runs.

The panel runs as it comes, and admits them all: its queue takes 200, and no number of runs is too many.
"""

import asyncio
import contextlib
import json
import secrets
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser

from bench.report import Promise, Report, machine
from tests.panel import WALL, Chat, Panel, browser, person
from tests.servers.http import Reply, Request
from tests.servers.ollama import ScriptedOllama, Turn, hang, say

TOKENS = 400
RATE = 200.0
RUNS = 7
PARTS = 5
LONG = 100_000
PEOPLE = 20
ROUNDS = 3
WAITING = 40
NEWCOMERS = 10

STORY, PART, SHORT, LATER = "Tell me story", "Go on with part", "Say something, I am", "Are you there"
"""What people ask, each with a mark behind it."""

_WATCH = """mark => {
  const shown = () => {
    const chat = document.querySelector('#chat'), frame = chat.getBoundingClientRect();
    const texts = document.createTreeWalker(chat, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      if (!texts.currentNode.data.includes(mark)) continue;
      const range = document.createRange();
      range.selectNodeContents(texts.currentNode);
      const place = range.getBoundingClientRect();
      if (place.height && place.top >= frame.top && place.bottom <= frame.bottom) return true;
    }
    return false;
  };
  window.seconds = new Promise((resolve, reject) => {
    let began = 0;
    setTimeout(() => reject(new Error('not on the screen: ' + mark)), 60000);
    document.addEventListener('keydown', event => {
      if (event.key === 'Enter') began ||= performance.now();
    }, true);
    const onScreen = () => {
      if (shown()) setTimeout(() => resolve((performance.now() - began) / 1000));
      else requestAnimationFrame(onScreen);
    };
    const observer = new MutationObserver(() => {
      if (!document.querySelector('#chat').textContent.includes(mark)) return;
      observer.disconnect();
      requestAnimationFrame(onScreen);
    });
    observer.observe(document.querySelector('#chat'), {childList: true, subtree: true, characterData: true});
  });
}"""

Row = dict[str, Any]


def bench() -> Report:
    """The four figures, each with what it was measured by."""
    with (
        _Ollama() as ollama,
        tempfile.TemporaryDirectory() as folder,
        Panel(Path(folder), PANEL_OLLAMA_URL=ollama.url) as panel,
    ):
        with browser() as opened:
            of = f"{machine('gradio')}, Chromium {opened.version}"
            short = _stories(panel, ollama, opened, filled=0)
            long = _stories(panel, ollama, opened, filled=LONG)
        crowd = [asyncio.run(_crowd(panel, ollama)) for _ in range(ROUNDS)]
        newcomer = asyncio.run(_newcomers(panel, ollama))
    promises = {
        "screen.short": Promise(_ratio(short), 1.10),
        "screen.long": Promise(_ratio(long), 1.15),
        "screen.crowd_ms": Promise(1000 * min(crowd), 500),
        "screen.newcomer_ms": Promise(1000 * min(newcomer), 300),
    }
    rows = [
        _row("new chat: Enter to last token on the screen", [screen for screen, _ in short], of),
        _row("new chat: the server's answer", [server for _, server in short], of),
        _row(f"{LONG // 1000} kB shown: Enter to last token", [screen for screen, _ in long], of),
        _row(f"{LONG // 1000} kB shown: the server's answer", [server for _, server in long], of),
        _row(f"{PEOPLE} at once: the latest first token", crowd, machine("gradio")),
        _row(f"{WAITING} waiting: / and /config", newcomer, machine("gradio")),
    ]
    return Report("screen", promises, rows)


def _ratio(runs: Sequence[tuple[float, float]]) -> float:
    return statistics.median(screen / server for screen, server in runs)


def _row(what: str, seconds: Sequence[float], of: str) -> Row:
    median = statistics.median(seconds)
    values = {"best s": min(seconds), "median s": median, "worst s": max(seconds)}
    return {"what": what, **values, "runs": len(seconds), "versions": of}


class _Ollama(ScriptedOllama):
    """A scripted Ollama whose answers depend on the question, and which notes its times."""

    def __init__(self) -> None:
        super().__init__(chat=self._answer)
        self.seconds: list[float] = []
        """What each answer took, from the arrival of its request."""
        self.began: dict[str, float] = {}
        """When the answers to those in the crowd began, by their marks."""

    def handle(self, request: Request, reply: Reply) -> None:
        super().handle(request, reply)
        if request.path == "/api/chat":
            self.seconds.append(time.monotonic() - request.at)

    def _answer(self, request: dict[str, Any]) -> Turn:
        asked, _, mark = request["messages"][-1]["content"].rpartition(" ")
        if asked == STORY:
            return say([*["word "] * (TOKENS - 1), _told(mark)], tokens_per_second=RATE)
        if asked == PART:
            return say(_part())
        if asked == SHORT:
            self.began[mark] = time.monotonic()
            return say([_told(mark), *[" word"] * 100], tokens_per_second=50)
        return hang(WALL)


def _told(mark: str) -> str:
    """The token that tells: it is in the answer, and not in the question."""
    return f"told-{mark}-so"


def _part() -> str:
    """Markdown as models write it, a `PARTS`-th of what a long chat shows."""
    section = (
        "## A heading\n\n"
        + "All work and **no play** makes a dull story that goes on and on. " * 8
        + "\n\n- one thing\n- another thing, which is `named`\n\n"
        + "```python\nfor day in range(7):\n    print('all work and no play', day)\n```\n\n"
    )
    return section * (LONG // PARTS // (len(section) - 24) + 1)  # marks are not shown


def _stories(panel: Panel, ollama: _Ollama, opened: Browser, filled: int) -> list[tuple[float, float]]:
    """Seconds on the screen and at the server, of each run, in chats that show so many characters before."""
    with contextlib.closing(person(opened)) as context:
        chat = Chat(context.new_page()).open(panel.url)
        taken = []
        for number in range(RUNS):
            if not number or not filled:
                chat.page.click("#new-chat")
                _fill(chat, filled)
            chat.page.wait_for_timeout(1000)
            mark = f"{filled}-{number}"
            chat.page.evaluate(_WATCH, _told(mark))
            chat.page.fill("#box textarea", f"{STORY} {mark}")
            chat.page.press("#box textarea", "Enter")
            screen = float(chat.page.evaluate("() => window.seconds"))
            chat.wait_until_done()
            taken.append((screen, ollama.seconds[-1]))
        return taken


def _fill(chat: Chat, characters: int) -> None:
    """Have the chat show so many characters."""
    for number in range(PARTS if characters else 0):
        chat.ask(f"{PART} {number}")
        chat.wait_until_done()
    if characters:
        shown = len(chat.page.text_content("#chat") or "")
        assert shown >= characters, f"{shown} characters are shown"


class _Visitor:
    """Somebody with a page open: its values, its events and its streams, by the requests that it makes."""

    def __init__(self, panel: Panel) -> None:
        self.seen: dict[str, float] = {}
        """When the streams first told of each of `awaited`."""
        self.awaited = ""
        self._client = httpx.AsyncClient(base_url=panel.url, timeout=WALL)
        self._session = secrets.token_hex(6)
        self._values: dict[int, Any] = {}
        self._events: list[dict[str, Any]] = []
        self._box = 0

    async def open(self) -> None:
        """Load the page and let it settle."""
        (await self._client.get("/")).raise_for_status()
        config = (await self._client.get("/config")).raise_for_status().json()
        self._events = config["dependencies"]
        self._values = {part["id"]: part["props"].get("value") for part in config["components"]}
        self._box = next(part["id"] for part in config["components"] if part["props"].get("elem_id") == "box")
        for event in self._events:
            for part, name in event["targets"]:
                if name == "load":
                    await self._fire(event, part)

    async def ask(self, question: str) -> None:
        """Send a question and follow its answer to the end."""
        self._values[self._box] = {"text": question, "files": []}
        for event in self._events:
            if [self._box, "submit"] in event["targets"]:
                await self._fire(event, self._box)

    async def heart(self) -> None:
        """The stream that a page keeps open as long as it is there."""
        async for _ in self._lines(f"heartbeat/{self._session}"):
            pass

    async def close(self) -> None:
        await self._client.aclose()

    async def _fire(self, event: dict[str, Any], trigger: int) -> None:
        """An event, what the page makes of its answer, and the events that come of it."""
        values = [self._values[part] for part in event["inputs"]]
        body = {"data": values, "event_data": None, "fn_index": event["id"], "trigger_id": trigger}
        path = "queue/join" if event["queue"] else "run/predict"
        answer = await self._client.post(f"/gradio_api/{path}", json={**body, "session_hash": self._session})
        answer.raise_for_status()
        changed = []
        if event["queue"]:
            await self._follow()
        else:
            changed = [
                part
                for part, told in zip(event["outputs"], answer.json()["data"], strict=True)
                if self._takes(part, told)
            ]
        for each in self._events:
            if each["trigger_after"] == event["id"]:
                await self._fire(each, trigger)
            for part in changed:
                if [part, "change"] in each["targets"]:
                    await self._fire(each, part)

    def _takes(self, part: int, told: Any) -> bool:
        """Give a component its new value; whether it is another one."""
        before = self._values[part]
        if isinstance(told, dict) and told.get("__type__") == "update":
            told = told.get("value", before)
        self._values[part] = told
        return bool(told != before)

    async def _follow(self) -> None:
        """The stream of a queued event."""
        async for line in self._lines(f"queue/data?session_hash={self._session}"):
            if self.awaited and self.awaited in line:
                self.seen.setdefault(self.awaited, time.monotonic())
            if line.startswith("data:") and json.loads(line[5:])["msg"] in (
                "process_completed",
                "close_stream",
            ):
                return

    async def _lines(self, path: str) -> AsyncIterator[str]:
        async with self._client.stream("GET", f"/gradio_api/{path}") as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                yield line


@contextlib.asynccontextmanager
async def _visitors(panel: Panel, count: int) -> AsyncIterator[list[_Visitor]]:
    """People with their pages open."""
    visitors = [_Visitor(panel) for _ in range(count)]
    hearts = []
    for visitor in visitors:
        await visitor.open()
        hearts.append(asyncio.create_task(visitor.heart()))
    try:
        yield visitors
    finally:
        for heart in hearts:
            heart.cancel()
        await asyncio.gather(*hearts, return_exceptions=True)
        for visitor in visitors:
            await visitor.close()


async def _crowd(panel: Panel, ollama: _Ollama) -> float:
    """The longest that one of many had to wait for a first token that the server had said."""
    ollama.began.clear()
    async with _visitors(panel, PEOPLE) as visitors:
        for number, visitor in enumerate(visitors):
            visitor.awaited = _told(str(number))
        asking = [visitor.ask(f"{SHORT} {number}") for number, visitor in enumerate(visitors)]
        await asyncio.wait_for(asyncio.gather(*asking), WALL)
        seen = [visitor.seen[visitor.awaited] for visitor in visitors]
    return max(at - ollama.began[str(number)] for number, at in enumerate(seen))


async def _newcomers(panel: Panel, ollama: _Ollama) -> list[float]:
    """Seconds of `/` and `/config` for people who come while others wait for the model."""
    waiting = len(ollama.chats) + WAITING
    async with _visitors(panel, WAITING) as visitors:
        asking = [asyncio.create_task(visitor.ask(f"{LATER} 0")) for visitor in visitors]
        async with asyncio.timeout(WALL):
            while len(ollama.chats) < waiting:
                await asyncio.sleep(0.1)
        seconds = [await _newcomer(panel) for _ in range(NEWCOMERS)]
        for each in asking:
            assert not each.done(), "somebody waits no more"
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return seconds


async def _newcomer(panel: Panel) -> float:
    async with httpx.AsyncClient(base_url=panel.url, timeout=WALL) as client:
        began = time.monotonic()
        for path in ("/", "/config"):
            (await client.get(path)).raise_for_status()
        return time.monotonic() - began
