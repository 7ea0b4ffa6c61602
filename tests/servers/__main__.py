"""Try the panel without a model: scripted servers for everything outside of it.

python -m tests.servers          # Ollama, SearXNG and a web site; says how to start the panel on them
python -m tests.servers --panel  # starts the panel on them too
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tests.servers.ollama import ScriptedOllama
from tests.servers.ollama.demo import demo_script
from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite

ROOT = Path(__file__).parent.parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--panel",
        action="store_true",
        help="start the panel on them; further options go to it, such as --port 7861",
    )
    given, more = parser.parse_known_args()
    with contextlib.ExitStack() as stack:
        ollama = stack.enter_context(ScriptedOllama(chat=demo_script(), pull_seconds=10))
        site = stack.enter_context(ScriptedSite())
        searxng = stack.enter_context(ScriptedSearxng(site.search_results))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        config = demo_config(folder, ollama.url, searxng.url)
        print(f"Ollama {ollama.url}   SearXNG {searxng.url}   web site {site.url}", flush=True)
        if given.panel:
            subprocess.run([sys.executable, "app.py", "--config", str(config), *more], cwd=ROOT, check=False)
            return
        print(f"The panel on them: python app.py --config {config}", flush=True)
        threading.Event().wait()


def demo_config(folder: Path, ollama: str, searxng: str) -> Path:
    """A config.yaml that names the scripted servers and lets the tools read from loopback."""
    config = folder / "config.yaml"
    config.write_text(
        f"ollama_url: {ollama}\nsearxng_url: {searxng}\nsearch_backend: searxng\n"
        f"allow_hosts: [127.0.0.1]\noutputs: {folder / 'outputs'}\n",
        encoding="utf-8",
    )
    return config


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
