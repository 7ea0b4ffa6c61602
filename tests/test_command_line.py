"""`python app.py` and what follows it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.panel import ROOT, WALL, Panel
from tests.servers.__main__ import demo_config
from tests.servers.ollama import ScriptedOllama, call, cut, error_line, fail, hang, say
from tests.servers.ollama.demo import demo_script
from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite


class Terminal:
    """A terminal in which `python app.py` is typed."""

    def __init__(self, folder: Path, ollama: ScriptedOllama, searxng: ScriptedSearxng) -> None:
        self.ollama = ollama
        self.config = demo_config(folder, ollama.url, searxng.url)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            env={**os.environ, "LANG": "fr_FR.UTF-8", **environment},
            capture_output=True,
            encoding="utf-8",
            timeout=WALL,
            check=False,
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "app.py", *arguments, "--config", str(self.config)]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with (
        ScriptedSite() as site,
        ScriptedSearxng(site.search_results()) as searxng,
        ScriptedOllama() as ollama,
    ):
        yield Terminal(tmp_path, ollama, searxng)


def test_help_explains_everything(terminal: Terminal):
    shown = subprocess.run(
        [sys.executable, "app.py", "--help"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout
    for word in ("--host", "--port", "--share", "--auth", "--config", "ask", "OLLAMA_HOST", "SEARXNG_URL"):
        assert word in shown
    asking = terminal.run("ask", "--help")
    for word in ("--model", "--json", "--pdf", "question"):
        assert word in asking.stdout


def test_answer_goes_to_stdout_and_steps_to_stderr(terminal: Terminal):
    terminal.ollama.play([call("rechercher_web", {"requete": "IA"}), say("Voilà la réponse.")])
    ended = terminal.run("ask", "Quelles sont les news IA ?")
    assert ended.returncode == 0
    assert ended.stdout.strip() == "Voilà la réponse."
    assert '🔍 Recherche web : "IA"' in ended.stderr and "✓" in ended.stderr


def test_report_is_copied_where_it_is_wanted(terminal: Terminal, tmp_path: Path):
    terminal.ollama.play(demo_script(tokens_per_second=None))
    target = tmp_path / "rapport.pdf"
    ended = terminal.run("ask", "Fais-moi un rapport PDF sur les dernières news IA", "--pdf", str(target))
    assert ended.returncode == 0, ended.stderr
    assert "Sources" in "".join(page.extract_text() for page in PdfReader(target).pages)


def test_json_is_one_event_a_line(terminal: Terminal):
    terminal.ollama.play([call("creer_pdf", {"titre": "T", "contenu_markdown": "x"}), say("Fait.")])
    ended = terminal.run("ask", "Un PDF", "--json")
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    names = [event["event"] for event in events]
    assert names[0] == "RunStarted" and names[-1] == "Finished"
    assert "StepStarted" in names and "StepFinished" in names
    assert events[-1]["answer"] == "Fait."
    assert events[-1]["documents"][0]["title"] == "T"


def test_model_can_be_named(terminal: Terminal):
    terminal.ollama.play(say("Oui."))
    assert terminal.run("ask", "Là ?", "--model", "llama2:13b").returncode == 0
    assert terminal.ollama.chats[-1]["model"] == "llama2:13b"


@pytest.mark.parametrize(
    ("turn", "arguments", "told"),
    [
        (fail(500, "CUDA error"), (), "CUDA error"),
        (say(""), (), "❌"),
        (say("Bonjour"), ("--model", "absent:1b"), "ollama pull absent:1b"),
        (say("Bonjour"), ("--pdf", "x.pdf"), "PDF"),
        (say("Bonjour et ") + cut(), (), "❌"),
        (say("Bonjour et ") + error_line("boom"), (), "boom"),
    ],
    ids=["server error", "empty", "no such model", "no pdf", "lost in the middle", "failed in the middle"],
)
def test_exit_code_is_0_only_with_an_answer(terminal: Terminal, turn, arguments, told):
    terminal.ollama.play(turn)
    ended = terminal.run("ask", "Bonjour", *arguments)
    assert ended.returncode == 1
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_no_ollama_is_said_with_the_remedy(terminal: Terminal):
    nowhere = {"OLLAMA_HOST": "127.0.0.1:9", "PANEL_BUILT_IN_MODEL": "/nowhere.gguf"}
    ended = terminal.run("ask", "Bonjour", **nowhere)
    assert ended.returncode == 1
    assert "127.0.0.1:9" in ended.stderr and "ollama serve" in ended.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_stops_the_run_as_the_button_does(terminal: Terminal):
    terminal.ollama.play(say("Un début. ") + hang(120))
    asked = subprocess.Popen(
        terminal.command("ask", "Longue question"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background job passes on that it ignores Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until_asked = threading.Event()
    deadline = time.monotonic() + WALL
    while not terminal.ollama.chats and time.monotonic() < deadline:
        until_asked.wait(0.05)
    until_asked.wait(0.5)
    asked.send_signal(signal.SIGINT)
    out, err = asked.communicate(timeout=WALL)
    assert "Un début." in out.decode()
    assert b"Traceback" not in err
    assert terminal.ollama.hung_up_at


def test_starting_for_a_terminal_loads_no_gradio(terminal: Terminal):
    terminal.ollama.play(say("Oui."))
    code = (
        "import sys, app\n"
        f"code = app.main(['ask', 'Là ?', '--config', {str(terminal.config)!r}])\n"
        "sys.exit(code or int('gradio' in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_share_without_internet_says_why_and_the_panel_goes_on(tmp_path: Path):
    panel = Panel(tmp_path, "--share")
    assert "Could not create share link" in panel.log or "share link" in panel.log
    assert "No public link could be made" in panel.log
    panel.close()


@pytest.mark.parametrize("port", ["0", "99999", "-1", "http", "٧٨٦٠"])
def test_port_that_is_none_is_said(terminal: Terminal, port: str):
    ended = terminal.run(f"--port={port}")
    assert ended.returncode == 2
    assert "--port: a port is a number from 1 to 65535" in ended.stderr


def test_port_that_is_taken_is_said(tmp_path: Path):
    panel = Panel(tmp_path)
    ended = subprocess.run(
        [sys.executable, "app.py", "--config", str(panel.config), "--port", str(panel.port)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=WALL,
        check=False,
    )
    panel.close()
    assert ended.returncode == 1
    assert f"Port {panel.port} is taken" in ended.stderr and "--port" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("line", ["\tnum_ctx: 2048", 'model: "x', "AUTH: ben:x", 'auth: ""', "auth: [a]"])
def test_a_login_in_a_faulty_file_never_starts_an_open_panel(terminal: Terminal, line: str):
    terminal.config.write_text(f"auth: anna:secret\n{line}\n", encoding="utf-8")
    ended = terminal.run("--port", "1")
    assert ended.returncode != 0
    assert "does not start without one" in ended.stderr and "Traceback" not in ended.stderr


def test_settings_file_can_be_named_before_the_command(terminal: Terminal):
    asked = subprocess.run(
        [sys.executable, "app.py", "--config", str(terminal.config), "ask", "Bonjour"],
        cwd=ROOT,
        capture_output=True,
        timeout=WALL,
        check=True,
    )
    assert asked.stdout and terminal.ollama.chats


@pytest.mark.parametrize("accounts", ["anna", "anna:", ","])
def test_login_that_is_none_never_starts_an_open_panel(terminal: Terminal, accounts: str):
    ended = terminal.run("--auth", accounts)
    assert ended.returncode != 0
    assert "name:password" in ended.stderr and "Traceback" not in ended.stderr
