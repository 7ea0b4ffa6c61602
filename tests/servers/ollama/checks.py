"""What a real Ollama refuses in a request to /api/chat, with the texts that it refuses it with.

Sources: github.com/ollama/ollama, api/types.go (Go's json errors) and server/routes.go (ChatHandler); the
rules on the order of messages are those of the Jinja templates that llama-server renders.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.servers.ollama.models import Model

_WHOLE_OPTIONS = ("num_ctx", "num_predict", "seed", "top_k", "num_keep", "num_gpu")
_DURATION = re.compile(r"[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+|[+-]?0")
_GO_NAMES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class Refused(Exception):
    """The status and the error text of a refusal."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error


def parsed(body: bytes) -> dict[str, Any]:
    """The body as a JSON object."""
    if not body.strip():
        raise Refused(400, "missing request body")
    try:
        value = json.loads(body)
    except ValueError:
        raise Refused(400, "invalid character looking for beginning of value") from None
    _typed(value, dict, "ChatRequest", "api.ChatRequest")
    return value


def check_shape(request: Mapping[str, Any]) -> None:
    """The types of all fields."""
    _typed(request.get("messages") or [], list, "messages", "[]api.Message")
    for message in request.get("messages") or []:
        _check_message(message)
    for tool in request.get("tools") or []:
        _check_tool(tool)
    think = request.get("think")
    if think not in (None, True, False, "high", "medium", "low", "max"):
        shown = 'must be "high", "medium", "low", "max", true, or false'
        raise Refused(400, f'invalid think value: "{think}" ({shown})')
    if request.get("format") not in (None, "", "json") and not isinstance(request["format"], dict):
        raise Refused(
            400,
            f'invalid format: {json.dumps(request["format"])}; expected "json" or a valid JSON Schema object',
        )
    if request.get("stream") is not None:
        _typed(request["stream"], bool, "stream", "bool")
    _check_keep_alive(request.get("keep_alive"))
    for name in _WHOLE_OPTIONS:
        value = (request.get("options") or {}).get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refused(400, f'option "{name}" must be of type integer')


def check_abilities(request: Mapping[str, Any], model: Model) -> None:
    """Nothing is asked that the model can't do."""
    if not model.can("completion"):
        raise Refused(400, f'"{model.name}" does not support chat')
    if request.get("tools") and not model.can("tools"):
        raise Refused(400, f"{model.full_name} does not support tools")
    if request.get("think") and not model.can("thinking"):
        raise Refused(400, f'"{model.name}" does not support thinking')


def check_order(messages: list[dict[str, Any]]) -> None:
    """One system message at most, first; a question; and an answer to each call."""
    roles = [message["role"] for message in messages]
    if "system" in roles[1:]:
        raise Refused(400, "System message must be at the beginning.")
    if "user" not in roles:
        raise Refused(500, "no user query found in messages")
    open_calls = 0
    for message in messages:
        if message["role"] == "tool":
            open_calls -= 1
        elif open_calls > 0:
            break
        if message["role"] == "assistant":
            open_calls = len(message.get("tool_calls") or [])
        if open_calls < 0:
            break
    if open_calls:
        raise Refused(400, "Not the same number of function calls and responses")


def _check_message(message: Any) -> None:
    _typed(message, dict, "messages", "api.Message")
    if not message.get("role"):
        raise Refused(400, "message role must not be empty")
    for key in ("role", "content", "thinking", "tool_name", "tool_call_id"):
        if message.get(key) is not None:
            _typed(message[key], str, f"messages.{key}", "string")
    for made in message.get("tool_calls") or []:
        function = made.get("function") or {}
        _typed(function.get("name"), str, "messages.tool_calls.function.name", "string")
        _typed(
            function.get("arguments"),
            dict,
            "messages.tool_calls.function.arguments",
            "map[string]interface {}",
        )


def _check_tool(tool: Any) -> None:
    _typed(tool, dict, "tools", "api.Tool")
    parameters = (tool.get("function") or {}).get("parameters") or {}
    if parameters.get("type") != "object" or not isinstance(parameters.get("properties"), dict):
        raise Refused(400, 'Unable to generate parser for this template. Unrecognized schema: {"type":""}')


def _check_keep_alive(value: Any) -> None:
    """A number of seconds, or a duration as Go reads it: "-1" lacks its unit."""
    if isinstance(value, str) and not _DURATION.fullmatch(value):
        raise Refused(400, f'time: missing unit in duration "{value}"')


def _typed(value: Any, kind: type, field: str, go_type: str) -> None:
    if not isinstance(value, kind):
        found = _GO_NAMES.get(type(value), "null")
        raise Refused(
            400, f"json: cannot unmarshal {found} into Go struct field ChatRequest.{field} of type {go_type}"
        )
