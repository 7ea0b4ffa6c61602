"""A local agent panel for Ollama. `python app.py` opens it, `python app.py ask` answers in a terminal."""

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.assistant import Assistant
    from ui.panel import Panel

CONFIG = Path(__file__).parent / "config.yaml"


def build(config: Path | str = CONFIG, **settings: Any) -> "Panel":
    """The page, ready for `launch()`: for notebooks, Spaces and other programs.

    `settings` go before config.yaml, such as `build(ollama_url="http://gpu-box:11434")`.
    """
    assistant = _assistant(Path(config), settings)  # first: what is wrong in config.yaml is said at once
    # A library's progress bar complains of it in notebooks; nothing here draws one.
    warnings.filterwarnings("ignore", message="IProgress not found")
    from ui.page import build_page

    return build_page(assistant)


def _assistant(config: Path, fixed: dict[str, Any]) -> "Assistant":
    from agent.assistant import Assistant
    from agent.config_file import SettingsStore

    store = SettingsStore(config, command_line=fixed)
    for problem in store.problems:
        place = f"{problem.where}, line {problem.line}" if problem.line else problem.where
        print(f"{place}: {problem.entry}: {problem.reason}; using {problem.used}", file=sys.stderr)
        if problem.entry.lower() == "auth":
            raise SystemExit("A panel that was meant to ask for a login does not start without one.")
    return Assistant(store)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = _parser().parse_args(arguments)
    if given.command == "ask":
        from agent.ask import ask

        return ask(
            _assistant(given.config, {}), given.question, given.model, as_json=given.json, pdf=given.pdf
        )
    return _serve(given)


def _serve(given: argparse.Namespace) -> int:
    panel = build(given.config, **({"auth": given.auth} if given.auth else {}))
    panel.serve(host=given.host, port=given.port, share=given.share)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python app.py",
        description="A local agent panel for Ollama: chat with a model that you run yourself; it searches "
        "the web, reads pages and writes PDF reports. Without a command it opens the panel.",
        epilog="Settings are in config.yaml. The environment goes before it: OLLAMA_HOST, SEARXNG_URL, "
        "and PANEL_<NAME> for every other setting. The command line goes before both.",
    )
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1: this machine alone)")
    parser.add_argument(
        "--port", type=_port, help="port to listen on (default: the first free one from 7860)"
    )
    parser.add_argument(
        "--share", action="store_true", help="make a public link, which visitors can't configure"
    )
    parser.add_argument(
        "--auth", metavar="NAME:PASSWORD[,...]", help="ask for a login; the first one may change settings"
    )
    parser.add_argument("--config", type=Path, default=CONFIG, metavar="PATH", help="settings file")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="")
    ask = commands.add_parser("ask", help="answer one question in the terminal, then end")
    ask.add_argument("question")
    ask.add_argument("--model", default="", help="model to ask (default: the one of the settings)")
    ask.add_argument("--json", action="store_true", help="one event a line, as JSON")
    ask.add_argument("--pdf", type=Path, metavar="FILE", help="copy the PDF that was made to FILE")
    ask.add_argument("--config", type=Path, default=argparse.SUPPRESS, metavar="PATH", help="settings file")
    return parser


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def __getattr__(name: str) -> Any:
    """`demo`, which Spaces and `gradio app.py` look for, built when it is asked for."""
    if name == "demo":
        globals()["demo"] = build()
        return globals()["demo"]
    raise AttributeError(name)


if __name__ == "__main__":
    sys.exit(main())
