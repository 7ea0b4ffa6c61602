"""The tools that a model was offered, as it may name them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_AROUND_NAME = re.compile(r"<\|.*|[(\[{].*|:\d+$|\.call$", re.DOTALL)


class Offered:
    """The tools of a request, in Ollama's wire form."""

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        functions = [tool["function"] for tool in tools]
        self._parameters = {function["name"]: function.get("parameters") or {} for function in functions}
        self.names = tuple(self._parameters)

    def known(self, written: str) -> str | None:
        """The tool that is meant by a name such as `default_api.web_search`, None where there is none."""
        name = plain_name(written)
        return next((tail for tail in (name, name.rpartition(".")[2]) if tail in self._parameters), None)

    def properties(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """The schema of each argument, in their order."""
        return self._parameters[name].get("properties") or {}

    def required(self, name: str) -> Sequence[str]:
        """The arguments that a call must have."""
        return self._parameters[name].get("required") or ()


def plain_name(written: str) -> str:
    """A name without what models put around it: `functions.web_search:0`, `web_search<|channel|>analysis`."""
    return _AROUND_NAME.sub("", written.strip()).strip().removeprefix("functions.")
