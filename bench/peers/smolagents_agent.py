"""smolagents' ToolCallingAgent with OpenAIModel; its answer is a call of its own tool final_answer."""

import sys

from smolagents import OpenAIModel, ToolCallingAgent, tool
from worker import MODEL, serve


@tool
def web_search(query: str) -> str:
    """Searches the web.

    Args:
        query: Search query.
    """
    return "hello"


def main() -> None:
    model = OpenAIModel(model_id=MODEL, api_base=f"{sys.argv[1]}/v1", api_key="ollama")
    agent = ToolCallingAgent(tools=[web_search], model=model, verbosity_level=0)
    serve(lambda question: str(agent.run(question)))


main()
