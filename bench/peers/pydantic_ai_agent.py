"""pydantic-ai's Agent with its OllamaProvider, as its documentation begins."""

import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.ollama import OllamaProvider
from worker import MODEL, serve


def web_search(query: str) -> str:
    """Searches the web."""
    return "hello"


def main() -> None:
    model = OpenAIChatModel(MODEL, provider=OllamaProvider(base_url=f"{sys.argv[1]}/v1"))
    agent = Agent(model, tools=[web_search])
    serve(lambda question: agent.run_sync(question).output)


main()
