"""`build().launch(inline=True)` in a notebook: a real kernel runs the cells, a real Chromium shows them."""

import asyncio
import contextlib
import json
import os
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from http.client import HTTPMessage
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Frame, Page
from starlette.requests import Request

from tests import panel
from tests.panel import ROOT, WALL, Chat, browser, free_port, person
from tests.servers.__main__ import demo_config
from tests.servers.ollama import ScriptedOllama, demo_script
from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite
from ui.guard import cookie_header
from ui.identity import CookieKey, Doorkeeper, Ticket

FOREIGN = "site.example"
QUESTION = "Fais-moi un PDF sur la photosynthèse"
LAUNCH = "from app import build\n\npanel = build(config={config!r})\npanel.launch(inline=True)"


class Notebook:
    """A notebook whose kernel stays alive between its cells.

    It has an event loop in a thread of its own: a cell may run while the test looks on, and Playwright's
    loop is not in its way. All files of Jupyter and IPython are in `folder`, none in anybody's home.
    """

    def __init__(self, folder: Path) -> None:
        write_kernel_spec(folder / "kernels" / "panel")
        self._manager = AsyncKernelManager(
            kernel_name="panel",
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(folder / "kernels")]),
            connection_file=str(folder / "connection.json"),
        )
        self._client = NotebookClient(new_notebook(), km=self._manager, timeout=int(WALL))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._log = (folder / "kernel.log").open("wb")
        started = {"cwd": str(ROOT), "env": _environment(folder), "stdout": self._log, "stderr": self._log}
        self._begin(self._client.async_start_new_kernel(**started)).result(WALL)
        self._begin(self._client.async_start_new_kernel_client()).result(WALL)

    @property
    def last(self) -> NotebookNode:
        """The latest cell, with what it has put out so far."""
        return self._client.nb.cells[-1]

    def begin(self, source: str) -> Future[NotebookNode]:
        """Run a cell, which may take as long as it likes."""
        cells = self._client.nb.cells
        cells.append(new_code_cell(source))
        return self._begin(self._client.async_execute_cell(cells[-1], len(cells) - 1))

    def run(self, source: str) -> NotebookNode:
        """Run a cell to its end; an exception in it is one here."""
        return self.begin(source).result(WALL)

    def interrupt(self) -> None:
        """The stop button of a notebook."""
        self._begin(self._manager.interrupt_kernel()).result(WALL)

    def close(self) -> None:
        self._begin(self._end()).result(WALL)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WALL)
        self._loop.close()
        self._log.close()

    async def _end(self) -> None:
        self._client.kc.stop_channels()
        await self._manager.shutdown_kernel(now=True)
        await self._manager.cleanup_resources()

    def _begin(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)


def _environment(folder: Path) -> dict[str, str]:
    """The kernel's: without the settings of whoever runs the tests."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PANEL_", "OLLAMA_"))}
    ours.pop("SEARXNG_URL", None)
    homes = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    return ours | {name: str(folder / name.lower()) for name in homes}


def html_of(cell: NotebookNode) -> str:
    """What a notebook's page draws below the cell."""
    return "".join(output["data"].get("text/html", "") for output in cell.outputs if "data" in output)


def printed(cell: NotebookNode, name: str) -> str:
    return "".join(output["text"] for output in cell.outputs if output.get("name") == name)


def address_in(cell: NotebookNode) -> str:
    return re.search(r'<iframe src="(http://127\.0\.0\.1:\d+/)"', html_of(cell))[1]


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    text: str


def get(url: str) -> Answer:
    """An address's answer, also where it is an error."""
    try:
        with urllib.request.urlopen(url, timeout=WALL) as answer:
            return Answer(answer.status, answer.headers, answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read().decode())


def listens(url: str) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port_of(url)), timeout=5):
        return True
    return False


def port_of(url: str) -> int:
    return int(url.rstrip("/").rpartition(":")[2])


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WALL
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class FramedChat(Chat):
    """The chat in the frame of a notebook's page."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.outside = page

    def open(self, url: str) -> "FramedChat":
        self.look_inside(url)
        self.page.wait_for_selector("#box textarea")
        self._wait("() => document.querySelector('#model input')?.value")
        return self

    def look_inside(self, url: str) -> Frame:
        """From here on `page` is the frame: it takes what a page takes."""
        self.outside.goto(url)
        self.page = self.outside.wait_for_selector("iframe").content_frame()
        return self.page


@pytest.fixture(scope="module")
def site() -> Iterator[ScriptedSite]:
    with ScriptedSite() as running:
        yield running


@pytest.fixture(scope="module")
def config(site: ScriptedSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with (
        ScriptedOllama(chat=demo_script()) as ollama,
        ScriptedSearxng(site.search_results) as searxng,
    ):
        yield demo_config(tmp_path_factory.mktemp("panel"), ollama.url, searxng.url)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    running = Notebook(tmp_path_factory.mktemp("notebook"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def cell(notebook: Notebook, config: Path) -> NotebookNode:
    """The README's cell, run."""
    return notebook.run(LAUNCH.format(config=str(config)))


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    """A browser to which FOREIGN is a site at home. Of a public one, Chromium would let nothing reach
    loopback in the first place, but not every browser is so careful."""
    with pytest.MonkeyPatch.context() as patch:
        rules = panel.ONLY_LOOPBACK.replace("=", f"=MAP {FOREIGN} 127.0.0.1,")
        patch.setattr(panel, "ONLY_LOOPBACK", rules)
        with browser() as one:
            yield one


def page_around(site: ScriptedSite, content: str, host: str = "localhost") -> str:
    """A page as Jupyter's, with the output of a cell in it: of another origin than the panel."""
    path = f"/lab-{hash(content)}"
    site.add(path, f"<!doctype html><title>Notebook</title><h1>Notebook</h1>{content}")
    return f"http://{host}:{site.port}{path}"


def test_cell_shows_the_page_in_a_frame(cell: NotebookNode):
    assert html_of(cell).count("<iframe") == 1
    assert get(address_in(cell)).status == 200
    assert address_in(cell).rstrip("/") in printed(cell, "stdout")
    assert not printed(cell, "stderr")
    assert "Traceback" not in printed(cell, "stderr")


def test_page_in_the_frame_has_our_look_rules_and_addresses(cell: NotebookNode):
    address = address_in(cell)
    page = get(address)
    assert "connect-src 'self'" in page.headers["content-security-policy"]
    config = json.loads(get(address + "config").text)
    assert (ROOT / "ui" / "style.css").read_text(encoding="utf-8") in config["css"]
    assert config["theme"] == "soft"
    assert "--font: system-ui, sans-serif;" in get(address + "theme.css").text
    missing = get(address + "pdfs/none.pdf")
    assert missing.status == 404 and "There is no document none.pdf." in missing.text
    sign_in = get(address + "sign-in")
    assert sign_in.status == 200 and 'name="password"' in sign_in.text


@pytest.mark.browser
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_panel_works_within_a_page_of_another_origin(
    cell: NotebookNode, site: ScriptedSite, opened: Browser, host: str
):
    """Jupyter is at either name. To a browser one is another site, which sends no usual cookie."""
    chat = FramedChat(person(opened).new_page()).open(page_around(site, html_of(cell), host))
    chat.ask(QUESTION)
    link = chat.page.get_by_role("link", name="📄 Télécharger le PDF")
    link.wait_for()
    chat.wait_until_done()
    with chat.outside.expect_download() as download:
        link.click()
    assert Path(download.value.path()).read_bytes().startswith(b"%PDF-")
    chat.ask("Bonjour")
    chat.wait_for("modèle de démonstration")
    chat.wait_until_done()
    asked = "#chat .user-row"
    assert chat.page.locator(asked).count() == 2, "the second question began another conversation"
    chat.open(chat.outside.url)
    chat.wait_for("modèle de démonstration")
    assert chat.page.locator(asked).count() == 2, "another conversation than before the reload"


@pytest.mark.browser
def test_other_sites_can_not_show_the_panel_in_a_frame(
    cell: NotebookNode, site: ScriptedSite, opened: Browser
):
    """They could lay it unseen under a button of their own; a notebook's page between does not help."""
    direct = html_of(cell)
    nested = f'<iframe src="{page_around(site, direct)}"></iframe>'
    for content, frames in ((direct, 1), (nested, 2)):
        page = person(opened).new_page()
        with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
            page.goto(page_around(site, content, FOREIGN))
        assert len(page.frames) == 1 + frames
        refused = page.frames[-1]
        refused.wait_for_url("chrome-error://**", wait_until="commit")
        assert refused.locator("#box").count() == 0


@pytest.mark.browser
def test_second_launch_has_a_page_of_its_own_until_it_is_closed(
    cell: NotebookNode, notebook: Notebook, site: ScriptedSite, config: Path, opened: Browser
):
    """The second one asks for a login: that must be possible in the frame too."""
    source = f"again = build(config={str(config)!r}, auth='anna:un')\nagain.launch(inline=True)"
    again = notebook.run(source)
    address = address_in(again)
    assert port_of(address) != port_of(address_in(cell))
    chat = FramedChat(person(opened).new_page())
    login = chat.look_inside(page_around(site, html_of(again)))
    login.fill("input[name=login]", "anna")
    login.fill("input[name=password]", "un")
    login.click("button")
    login.wait_for_selector("#box textarea")
    chat.ask("Bonjour")
    chat.wait_for("modèle de démonstration")
    chat.wait_until_done()
    notebook.run("again.close()")
    assert not listens(address)
    assert get(address_in(cell)).status == 200, "the first one goes on"


def test_one_panel_can_be_launched_again_after_it_was_closed(
    cell: NotebookNode, notebook: Notebook, config: Path
):
    notebook.run(f"other = build(config={str(config)!r})\nother.launch(inline=True)\nother.close()")
    again = notebook.run("other.launch(inline=True)")
    page = get(address_in(again))
    assert page.status == 200 and "frame-ancestors" in page.headers["content-security-policy"]
    notebook.run("other.close()")
    assert not listens(address_in(again))


def test_run_serves_until_the_cell_is_stopped(cell: NotebookNode, notebook: Notebook, config: Path):
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    running = notebook.begin(f"%run app.py --config {config} --port {port}")
    wait_until(lambda: running.done() or listens(address))
    assert get(address).status == 200
    wait_until(lambda: f"Agent panel: {address}" in printed(notebook.last, "stdout"))
    assert not running.done()
    notebook.interrupt()
    ended = running.result(WALL)
    assert address_in(ended) == address
    assert "Traceback" not in printed(ended, "stderr")
    assert not listens(address)
    assert "42" in notebook.run("6 * 7").outputs[0]["data"]["text/plain"]


@pytest.mark.parametrize(
    ("host", "framers"),
    [
        ("space_id = 'anna/panel'", "https://huggingface.co"),
        ("is_colab = True", "https://colab.research.google.com https://*.googleusercontent.com"),
    ],
)
def test_a_host_may_show_the_panel_in_its_own_page(
    cell: NotebookNode, notebook: Notebook, host: str, framers: str
):
    def rule() -> str:
        return get(address_in(cell)).headers["content-security-policy"].partition("frame-ancestors ")[2]

    usual = rule()
    assert "https:" not in usual and "*;" not in usual
    notebook.run(f"panel.{host}")
    assert rule() == f"{usual} {framers}"
    notebook.run("panel.space_id, panel.is_colab = None, False")
    assert rule() == usual


@pytest.mark.parametrize(
    ("headers", "rules"),
    [
        ({}, "SameSite=Lax"),
        ({"x-forwarded-proto": "https"}, "SameSite=Lax; Secure"),
        ({"sec-fetch-dest": "iframe", "sec-fetch-site": "same-site"}, "SameSite=Lax"),
        ({"sec-fetch-dest": "document", "sec-fetch-site": "cross-site"}, "SameSite=Lax"),
        (
            {"sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site"},
            "SameSite=None; Secure; Partitioned",
        ),
    ],
)
def test_only_a_frame_of_another_site_gets_a_cookie_for_frames(
    tmp_path: Path, headers: dict[str, str], rules: str
):
    doorkeeper = Doorkeeper(CookieKey(tmp_path / "cookie.key"), {})
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "scheme": "http", "path": "/", "headers": raw, "server": ("x", 80)})
    header = cookie_header(doorkeeper, Ticket("s"), request)
    assert header.endswith(f"; HttpOnly; {rules}")
    assert header.startswith(doorkeeper.key.cookie + ("_framed=" if "None" in rules else "="))
