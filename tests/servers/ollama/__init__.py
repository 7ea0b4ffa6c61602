"""A scripted Ollama on loopback, for tests, demo and bench.

with ScriptedOllama(chat=[call("web_search", {"query": "x"}), say("Found it.")]) as ollama:
    ...  # talk to ollama.url; look at ollama.chats, ollama.requests, ollama.hung_up_at
"""

from tests.servers.ollama.demo import demo_script
from tests.servers.ollama.models import Model, model, models_from, presets
from tests.servers.ollama.server import Script, ScriptedOllama
from tests.servers.ollama.turns import (
    Turn,
    call,
    calls,
    cut,
    drop,
    error_line,
    fail,
    finish,
    hang,
    line,
    raw,
    reset,
    say,
)

__all__ = [
    "Model",
    "Script",
    "ScriptedOllama",
    "Turn",
    "call",
    "calls",
    "cut",
    "demo_script",
    "drop",
    "error_line",
    "fail",
    "finish",
    "hang",
    "line",
    "model",
    "models_from",
    "presets",
    "raw",
    "reset",
    "say",
]
