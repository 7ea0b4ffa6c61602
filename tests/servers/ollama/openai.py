"""/v1/chat/completions, by which many libraries talk to Ollama: whole answers only, not streams.

The shape is that of github.com/ollama/ollama, openai/openai.go (toChatCompletion).
"""

import time
from typing import Any

from tests.servers.ollama.turns import Calls, Tokens, Turn, encode


def completion(model: str, turn: Turn) -> dict[str, Any]:
    """What a turn of text and calls becomes."""
    said = "".join("".join(step.pieces) for step in turn.steps if isinstance(step, Tokens))
    made = [call for step in turn.steps if isinstance(step, Calls) for call in step.calls]
    message: dict[str, Any] = {"role": "assistant", "content": said}
    if made:
        message["tool_calls"] = [
            _call(index, name, arguments) for index, (name, arguments) in enumerate(made)
        ]
    return {
        "id": "chatcmpl-123",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": "fp_ollama",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"},
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
    }


def _call(index: int, name: str, arguments: Any) -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else encode(arguments)
    function = {"name": name, "arguments": written}
    return {"id": f"call_{index:08d}", "index": index, "type": "function", "function": function}
