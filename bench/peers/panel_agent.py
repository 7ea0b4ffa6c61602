"""The panel's own loop, with the client that it always uses."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from worker import MODEL, serve

from agent.chat import OllamaChat
from agent.events import Finished
from agent.loop import Setup, run
from agent.settings import Settings
from tools.cancel import Cancel
from tools.registry import ToolRegistry
from tools.tool import Tool, ToolContext, ToolResult
from tools.web_search import SearchArguments


def main() -> None:
    tool = Tool("web_search", lambda given, context: ToolResult("hello"), SearchArguments, True, 30)
    registry = ToolRegistry([tool])
    settings = Settings(ollama_url=sys.argv[1])
    server = OllamaChat(settings.ollama_url)
    setup = Setup(server, MODEL, registry, settings, ToolContext(settings=settings), registry.names())

    def ask(question: str) -> str:
        events = run(setup, [{"role": "user", "content": question}], Cancel())
        return next(event.answer for event in events if isinstance(event, Finished))

    serve(ask)


main()
