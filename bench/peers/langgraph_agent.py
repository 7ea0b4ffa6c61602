"""langchain's create_agent (a langgraph graph) with ChatOllama, as its documentation begins."""

import sys

from langchain.agents import create_agent
from langchain_ollama import ChatOllama
from worker import MODEL, serve


def web_search(query: str) -> str:
    """Searches the web."""
    return "hello"


def main() -> None:
    agent = create_agent(ChatOllama(model=MODEL, base_url=sys.argv[1]), tools=[web_search])

    def ask(question: str) -> str:
        state = agent.invoke({"messages": [{"role": "user", "content": question}]})
        return str(state["messages"][-1].content)

    serve(ask)


main()
