"""The panel as its users start it: a process of its own, on scripted servers, seen through Chromium."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Response, TimeoutError, sync_playwright

from tests.browser import ARGUMENTS, chromium
from tests.servers.__main__ import demo_config
from tests.servers.ollama import Script, ScriptedOllama
from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite

ROOT = Path(__file__).parent.parent
WALL = 60.0
"""Seconds after which something that should happen counts as hanging."""

ONLY_LOOPBACK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"


class Panel:
    """A running panel. `log` is what it printed so far; `settings` are further lines of its config.yaml."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        chat: Script | None = None,
        settings: str = "",
        **environment: str,
    ) -> None:
        self._stack = contextlib.ExitStack()
        self.ollama = self._stack.enter_context(ScriptedOllama(chat=chat))
        self.site = self._stack.enter_context(ScriptedSite())
        self.searxng = self._stack.enter_context(ScriptedSearxng(self.site.search_results))
        self.folder = folder
        self.config = demo_config(folder, self.ollama.url, self.searxng.url)
        with self.config.open("a", encoding="utf-8") as config:
            config.write(settings)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = folder / "panel.log"
        command = [sys.executable, "app.py", "--config", str(self.config), "--port", str(self.port), *options]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=log, env={**os.environ, **environment}
            )
        self._stack.callback(self._end)
        self._wait()

    def __enter__(self) -> "Panel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        self._stack.close()

    def pdfs(self) -> list[Path]:
        """The PDFs that were made, oldest first."""
        return sorted((self.folder / "outputs" / "pdfs").rglob("*.pdf"))

    def _wait(self) -> None:
        deadline = time.monotonic() + WALL
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            if "Agent panel:" in self.log and self._answers():
                return
            time.sleep(0.1)
        self.close()
        raise AssertionError(f"the panel did not start:\n{self.log}")

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def _end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Chat:
    """The chat tab in a browser page. What it should show and does not fails with what it shows."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._console: list[str] = []
        page.set_default_timeout(WALL * 1000)
        page.on("console", lambda message: self._console.append(message.text))
        page.on("pageerror", lambda error: self._console.append(str(error)))
        page.on("response", self._note)

    def _note(self, response: Response) -> None:
        if response.status >= 400 or "/queue/" in response.url:
            self._console.append(f"{response.status} {response.url}")

    def _wait(self, expression: str, argument: str = "") -> None:
        try:
            self.page.wait_for_function(expression, arg=argument)
        except TimeoutError as error:
            shown, told = self.page.inner_text("body"), "\n".join(self._console[-30:])
            raise AssertionError(
                f"not within {WALL:g} s: {expression} {argument}\n--- page\n{shown}\n--- console\n{told}"
            ) from error

    def open(self, url: str) -> "Chat":
        self.page.goto(url)
        self.page.wait_for_selector("#box textarea")
        self._wait("() => document.querySelector('#model input')?.value")
        self._wait("() => document.querySelector('#tools-button')?.innerText.length > 3")
        return self

    def choose(self, model: str) -> None:
        """Take a model from the selector."""
        self.page.click("#model input")
        self.page.locator("#model [role=option]").filter(has_text=model).first.click()

    def ask(self, question: str) -> None:
        """Send a question; from here on the box shows whether its run goes on."""
        self.page.fill("#box textarea", question)
        self.page.press("#box textarea", "Enter")
        self._wait("() => document.querySelector('#box textarea').value === ''")

    def wait_for(self, text: str) -> None:
        """Wait until the conversation holds the text."""
        self._wait("text => document.querySelector('#chat')?.innerText.includes(text)", text)

    def wait_gone(self, text: str) -> None:
        """Wait until the conversation shows the text no more."""
        self._wait("text => !document.querySelector('#chat')?.innerText.includes(text)", text)

    def wait_until_done(self) -> None:
        """Wait until the box takes the next question and nothing turns any more."""
        self._wait("() => document.querySelector('#box .submit-button')")
        self._wait("() => !document.querySelector('#chat .loading-spinner')")

    def stop(self) -> None:
        self.page.click("#box .stop-button")

    def text(self) -> str:
        return self.page.inner_text("#chat")

    def tab(self, name: str) -> None:
        """Open a tab by its label, also where a narrow page keeps it behind its menu."""
        button = self.page.locator("button[role=tab]:visible").filter(has_text=name)
        if not button.count():
            self.page.click(".overflow-menu > button")
            button = self.page.locator(".overflow-dropdown button").filter(has_text=name)
        button.first.click()


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium that finds no host but loopback; skips where there is none."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium here; `make browser` looks for one")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS, ONLY_LOOPBACK])
        try:
            yield opened
        finally:
            opened.close()


def person(opened: Browser, language: str = "fr-FR", width: int = 1280, height: int = 800) -> BrowserContext:
    """A browser of somebody else: cookies and storage of its own."""
    return opened.new_context(locale=language, viewport={"width": width, "height": height})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def squeezed(text: str) -> str:
    """The text with runs of white space as one space."""
    return re.sub(r"\s+", " ", text)
