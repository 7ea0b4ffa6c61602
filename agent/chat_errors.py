"""What went wrong at the model server, told from its answer.

Ollama tells errors by a status and a text only, so the text decides. The texts are those of
github.com/ollama/ollama (server/routes.go, llm/, model/parsers/) and of llama.cpp's server.
"""

import html
import json
import re
from typing import Any

import httpx

from agent.events import Retry
from tools.failure import Failure

_SHOWN_CHARS = 500
"""How much of a server's text is shown; all of it is kept in `details["server_text"]`."""

TRANSPORT_ERRORS = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)
"""What httpx raises on the way; UnicodeError for a host name that can't be looked up."""

SIGN_IN = "https://ollama.com/signin"

_TABLE: tuple[tuple[str, str], ...] = (
    ("unsupported_tools", r"does not support tools"),
    ("unsupported_thinking", r"does not support thinking|think value .* is not supported"),
    ("unsupported_chat", r"does not support chat"),
    ("tool_parse", r"error parsing tool call|XML syntax error|failed to parse JSON|^(unexpected )?EOF$"),
    ("tool_parse", r"invalid tool call arguments"),
    ("repetition", r"token repeat limit"),
    (
        "memory",
        r"more system memory|out[ -]of[ -]memory|cudaMalloc failed|failed to allocate|insufficient memory",
    ),
    (
        "context_overflow",
        r"longer than the context length|exceeds? the (available )?context|exceed_context_size",
    ),
    (
        "context_overflow",
        r"no user query found in messages",
    ),  # what is left when the server drops the question
    ("busy", r"server busy|maximum pending requests|rate limit|too many requests"),
    ("auth", r"\bunauthorized\b|usage limit"),
    ("model_missing", r"model .*not found|not found, try pulling"),
)
"""Kinds by what the text contains; the first match wins."""

_STATUS = {401: "auth", 402: "auth", 403: "auth", 404: "model_missing", 429: "busy", 503: "busy"}
_GATEWAYS = (502, 504, 520, 521, 522, 523, 524)
_FINAL = frozenset(
    {
        "unsupported_tools",
        "unsupported_thinking",
        "unsupported_chat",
        "model_missing",
        "auth",
        "memory",
        "bad_request",
    }
)
"""Kinds that trying again does not help."""


class ModelFailure(Failure):
    """The model server could not do what was asked; `details["detail"]` holds the server's own words.

    Kinds: server_error, tool_parse, repetition, cut, unsupported_tools, unsupported_thinking,
    unsupported_chat, model_missing, context_overflow, busy, gateway, auth, memory, unreachable,
    model_timeout, bad_request. `partial` is the `agent.turn.Turn` that was under way, if there was one.
    """

    partial: Any = None

    @property
    def retry(self) -> Retry:
        """Whether trying again makes sense."""
        return "none" if self.kind in _FINAL else "offer"


def status_failure(
    status: int, body: bytes, *, host: str, model: str = "", location: str = ""
) -> ModelFailure:
    """The failure behind an HTTP status that is not 200. `location` is where a redirect points to."""
    text = body.decode("utf-8", "replace")
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not answer.get("error"):
        said = " ".join(
            part for part in (f"HTTP {status}", f"-> {location}" if location else "", _plain(text)) if part
        )
        return _failure("gateway", said, host=host, model=model)
    return line_failure(answer, host=host, model=model, status=status)


def line_failure(line: dict[str, Any], *, host: str, model: str, status: int = 200) -> ModelFailure:
    """The failure that a JSON object tells: an error body, or a line in the middle of a stream."""
    error = line.get("error")
    text = error_text(error) if error else json.dumps(line, ensure_ascii=False)
    sign_in = line.get("signin_url")
    kind = _kind(text, status)
    return _failure(
        kind, text, host=host, model=model, signin=sign_in if isinstance(sign_in, str) else SIGN_IN
    )


def transport_failure(error: Exception, *, host: str, model: str = "", silence: float = 0) -> ModelFailure:
    """The failure behind an exception of httpx. `silence` is the read timeout, in seconds."""
    said = str(error) or type(error).__name__
    match error:
        case httpx.ReadTimeout():
            kind = "model_timeout"
        case httpx.ReadError() | httpx.RemoteProtocolError():
            kind = "cut"
        case httpx.DecodingError():
            kind = "gateway"
        case _:
            kind = "unreachable"
    return _failure(kind, said, host=host, model=model, seconds=f"{silence:g}")


def cut_failure(*, host: str, model: str) -> ModelFailure:
    """The answer ended, but the server never said that it was done."""
    return _failure("cut", "the server never said that it was done", host=host, model=model)


def page_failure(content_type: str, *, host: str, model: str) -> ModelFailure:
    """Something answered that is not an Ollama."""
    return _failure("gateway", content_type, host=host, model=model)


def error_text(error: Any) -> str:
    """The words of an error: a string, an object with a message, or a string that holds such an object."""
    if isinstance(error, str) and error.lstrip().startswith("{"):
        try:
            return error_text(json.loads(error))
        except ValueError:
            return error
    if isinstance(error, dict):
        inner = error.get("error") or error.get("message")
        return error_text(inner) if inner else json.dumps(error, ensure_ascii=False)
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _kind(text: str, status: int) -> str:
    for kind, pattern in _TABLE:
        if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return kind
    if status in _GATEWAYS:
        return "gateway"
    return _STATUS.get(status, "bad_request" if 400 <= status < 500 else "server_error")


def _failure(kind: str, text: str, *, host: str, model: str, **details: object) -> ModelFailure:
    shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
    known: dict[str, object] = {"signin": SIGN_IN, "seconds": "", **details}
    return ModelFailure(kind, detail=shown, server_text=text, host=host, model=model, **known)


def _plain(page: str) -> str:
    """The words of an error page: its title, else its text without tags."""
    title = re.search(r"<title[^>]*>(.*?)</title", page, re.IGNORECASE | re.DOTALL)
    words = title[1] if title else re.sub(r"<[^>]*>", " ", page)
    return " ".join(html.unescape(words).split())[:200]
