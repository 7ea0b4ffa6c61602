"""Nothing leaves the machine: not at the start, not while the page loads, not while it is used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.panel import ROOT, Chat, Panel, browser, person
from tests.servers.ollama import say

_WATCH = '''
"""Refuses every connection and look-up that is not loopback, and notes it."""
import os, sys

def watch(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else "local"
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in ("local", "None", "", "0.0.0.0", "::", "localhost", "::1") or name.startswith("127."):
        return
    with open(os.environ["WATCH_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{event} {name}\\n")
    raise OSError(f"cut off: {name}")

sys.addaudithook(watch)
'''


@pytest.fixture
def watched(tmp_path: Path) -> dict[str, str]:
    """An environment in which a Python process has no network but loopback."""
    (tmp_path / "sitecustomize.py").write_text(_WATCH, encoding="utf-8")
    log = tmp_path / "left.log"
    log.touch()
    return {"PYTHONPATH": str(tmp_path), "WATCH_LOG": str(log)}


def test_the_watch_sees_what_would_leave(watched: dict[str, str]):
    """Without this, the test below could not fail."""
    code = "import urllib.request; urllib.request.urlopen('http://example.com', timeout=3)"
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **watched}, capture_output=True, check=False
    )
    assert ended.returncode != 0
    assert "example.com" in Path(watched["WATCH_LOG"]).read_text(encoding="utf-8")


@pytest.mark.browser
def test_page_loads_whole_and_nothing_tries_to_leave(tmp_path: Path, watched: dict[str, str]):
    panel = Panel(tmp_path, chat=say("Bonjour. ![x](https://evil.example/pixel.png)"), **watched)
    with browser() as opened:
        page = person(opened).new_page()
        asked: list[str] = []
        failed: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: failed.append(f"{request.url} {request.failure}"))
        chat = Chat(page).open(panel.url)
        for tab in ("Modèles", "Documents", "Réglages", "Discussion"):
            chat.tab(tab)
            page.wait_for_timeout(300)
        chat.ask("Bonjour")
        chat.wait_for("Bonjour.")
        chat.wait_until_done()
        page.wait_for_timeout(1000)
        assert page.evaluate("document.fonts.status") == "loaded"
    panel.close()
    outside = [url for url in asked if not url.startswith((panel.url, "data:", "blob:"))]
    assert not [url for url in outside if "evil.example" not in url]
    assert not [why for why in failed if "evil.example" not in why and "ERR_ABORTED" not in why]
    assert len(asked) > 20
    assert (tmp_path / "left.log").read_text(encoding="utf-8") == ""


def test_no_address_of_elsewhere_is_loaded_by_the_page():
    """What we write into the page names no other host."""
    css = (ROOT / "ui" / "style.css").read_text(encoding="utf-8")
    assert "http" not in css and "@import" not in css
