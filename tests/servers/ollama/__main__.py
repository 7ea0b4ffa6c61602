"""`python -m tests.servers.ollama [--port 11434]`: a scripted Ollama to try the panel with."""

import argparse
import contextlib
import threading

from tests.servers.ollama.demo import demo_script
from tests.servers.ollama.server import ScriptedOllama


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.servers.ollama", description=__doc__)
    parser.add_argument("--port", type=int, default=11434, help="port on 127.0.0.1 (default: Ollama's own)")
    port = parser.parse_args().port
    with ScriptedOllama(chat=demo_script(), pull_seconds=10, port=port) as server:
        print(f"Scripted Ollama: {server.url}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
