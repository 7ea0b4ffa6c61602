"""Seconds from `python app.py` to a page, against a bare Gradio page started the same way.

A start counts when `/config` answers 200 and holds the components. Starts alternate, and the best of each
side counts: the rest is the machine's own noise.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from bench.report import Promise, Report, machine

STARTS = 12
ROOT = Path(__file__).parent.parent
_BARE = """
import gradio as gr
with gr.Blocks(analytics_enabled=False) as demo:
    gr.Textbox(elem_id="box")
demo.launch(server_port={port}, quiet=True)
"""


def bench() -> Report:
    """Ours over bare."""
    seconds: dict[str, list[float]] = {"panel": [], "bare Gradio page": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(STARTS):
            for name, times in seconds.items():
                port = _free_port()
                times.append(_start(_command(name, port, Path(folder)), port))
    best = {name: min(times) for name, times in seconds.items()}
    ratio = best["panel"] / best["bare Gradio page"]
    rows = [
        {"side": name, "seconds": value, "starts": STARTS, "versions": machine("gradio")}
        for name, value in best.items()
    ]
    return Report("start", {"start.ratio": Promise(ratio, 1.3)}, rows)


def _command(name: str, port: int, folder: Path) -> list[str]:
    if name == "panel":
        return [sys.executable, "app.py", "--port", str(port), "--config", str(folder / "config.yaml")]
    return [sys.executable, "-c", _BARE.format(port=port)]


def _start(command: list[str], port: int) -> float:
    environment = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False"}
    with tempfile.TemporaryDirectory() as outputs:
        environment["PANEL_OUTPUTS"] = outputs
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        try:
            while not _has_page(port):
                time.sleep(0.01)
            return time.perf_counter() - began
        finally:
            process.terminate()
            process.wait()


def _has_page(port: int) -> bool:
    with (
        contextlib.suppress(OSError, ValueError),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/config", timeout=5) as answer,
    ):
        components = json.load(answer)["components"]
        return any(component["props"].get("elem_id") == "box" for component in components)
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
