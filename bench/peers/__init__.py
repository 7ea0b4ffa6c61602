"""Agents that do the same small job, each in a process of its own: ours, and those of other libraries.

`*_agent.py` are whole programs that take the address of an Ollama; `worker.py` is what they have in common.
Those of others run in `.venv-bench`, which is made here when it is missing.
"""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from bench.peers.worker import TOLD

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VENV = ROOT / ".venv-bench"
REQUIREMENTS = ROOT / "requirements-bench.txt"

HOW: Mapping[str, str] = {
    "panel": "agent.loop, OllamaChat, /api/chat streamed",
    "langgraph": "langchain create_agent, ChatOllama, /api/chat streamed",
    "pydantic_ai": "Agent.run_sync, OllamaProvider, /v1/chat/completions",
    "smolagents": "ToolCallingAgent, OpenAIModel, /v1/chat/completions",
}
"""The agents, and how each comes by itself."""

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "panel": ("ollama",),
    "langgraph": ("langgraph", "langchain", "langchain-ollama"),
    "pydantic_ai": ("pydantic-ai-slim", "openai"),
    "smolagents": ("smolagents", "openai"),
}


def peers_python() -> Path:
    """The Python of the peers' environment, with what requirements-bench.txt asks for."""
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = VENV / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
        print("Installing the peers into .venv-bench", file=sys.stderr, flush=True)
        venv.create(VENV, with_pip=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, "-r", REQUIREMENTS], check=True)
        installed.write_text(wanted, encoding="utf-8")
    return python


def versions(name: str) -> str:
    """Of the packages that an agent is made of."""
    python = sys.executable if name == "panel" else peers_python()
    code = (
        "import sys, importlib.metadata as m; print(*(f'{p} {m.version(p)}' for p in sys.argv[1:]), sep=', ')"
    )
    told = subprocess.run([python, "-c", code, *PACKAGES[name]], capture_output=True, text=True, check=True)
    return told.stdout.strip()


@dataclass
class Agent:
    """A running agent; a context manager that ends its process."""

    name: str
    url: str

    def __enter__(self) -> "Agent":
        python = sys.executable if self.name == "panel" else peers_python()
        self._process = subprocess.Popen(
            [python, HERE / f"{self.name}_agent.py", self.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LANGSMITH_TRACING": "false", "OTEL_SDK_DISABLED": "true", "NO_COLOR": "1"},
        )
        self._told()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self) -> float:
        """Seconds of one run. Raises RuntimeError where the agent does not give the right answer."""
        assert self._process.stdin
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        told = self._told()
        if told.get("answer") != TOLD:
            raise RuntimeError(f"{self.name} answered {told.get('answer')!r}")
        return float(told["seconds"])

    def _told(self) -> dict[str, str]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with code {self._process.wait()}")
        told: dict[str, str] = json.loads(line)
        return told
