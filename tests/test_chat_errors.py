"""What goes wrong at the model server: the right kind, the server's own words, a remedy in each language."""

import json
import socket
import threading

import pytest

from agent.chat import ChatRequest, End, ModelFailure, OllamaChat
from agent.chat_errors import transport_failure
from locales import languages, load_locale
from tests.servers.http import LoopbackServer
from tests.servers.ollama import (
    ScriptedOllama,
    cut,
    drop,
    error_line,
    fail,
    hang,
    line,
    raw,
    reset,
    say,
)
from tools.cancel import Cancel

TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "", "parameters": {"type": "object", "properties": {}}},
}
LLAMA_SERVER = json.dumps(
    {"error": {"code": 400, "message": "request (9 tokens) exceeds the available context size (4 tokens)"}}
)

FINAL = (
    "unsupported_tools",
    "unsupported_thinking",
    "bad_request",
    "model_missing",
    "auth",
    "memory",
)
"""What trying again can't help."""


def ask(model="qwen3:8b", **fields):
    return ChatRequest(model, ({"role": "user", "content": "hi"},), **fields)


def failing(url, request=None, **options):
    """The failure that a turn ends with, and the text that came before it."""
    text = ""
    with OllamaChat(url, **options) as chat, pytest.raises(ModelFailure) as caught:
        for piece in chat.stream(request or ask(), Cancel()):
            assert not isinstance(piece, End)
            text += piece.text
    return caught.value, text


@pytest.mark.parametrize(
    ("turn", "kind", "said"),
    [
        (fail(400, "hf.co/a/x does not support tools"), "unsupported_tools", "hf.co/a/x"),
        (fail(400, '"x" does not support thinking'), "unsupported_thinking", "x"),
        (fail(400, 'think value "low" is not supported for this model'), "unsupported_thinking", "low"),
        (fail(400, 'option "num_ctx" must be of type integer'), "bad_request", "num_ctx"),
        (fail(400, LLAMA_SERVER), "context_overflow", "exceeds the available context size"),
        (fail(400, {"message": "the input length exceeds the context length"}), "context_overflow", "input"),
        (fail(500, "no user query found in messages"), "context_overflow", "no user query"),
        (fail(401, "unauthorized", signin_url="https://ollama.com/connect?key=1"), "auth", "connect?key=1"),
        (fail(402, "usage limit reached"), "auth", "usage limit"),
        (fail(403, "cloud is disabled"), "auth", "cloud is disabled"),
        (fail(404, "model 'x' not found"), "model_missing", "ollama pull qwen3:8b"),
        (fail(429, "slow down"), "busy", "slow down"),
        (fail(502, "no answer from ollama.com"), "gateway", "no answer from"),
        (fail(503, "server busy, please try again."), "busy", "please try again"),
        (fail(500, "llama-server reported out-of-memory during startup"), "memory", "startup"),
        (fail(500, "cudaMalloc failed"), "memory", "cudaMalloc"),
        (fail(500, "EOF"), "tool_parse", "EOF"),
        (fail(500, "timed out waiting for llama-server to start"), "server_error", "timed out"),
        (raw(b"<title>504 Gateway Time-out</title>", status=504, content_type="text/html"), "gateway", "504"),
        (raw(b"404 page not found", status=404, content_type="text/plain"), "gateway", "page not found"),
        (raw(b"", status=403, content_type="text/plain"), "gateway", "403"),
        (raw(b"<html>router</html>", content_type="text/html"), "gateway", "text/html"),
        (say("a") + error_line("unexpected EOF from the runner"), "server_error", "unexpected EOF"),
        (say("a") + error_line(LLAMA_SERVER), "context_overflow", "available context"),
        (say("a") + error_line({"code": 5, "message": "XML syntax error on line 3"}), "tool_parse", "line 3"),
        (say("a") + error_line({"odd": [1]}), "server_error", '{"odd": [1]}'),
        (say("a") + line('{"error parsing tool call": "raw"}') + cut(), "tool_parse", "raw"),
        (say("a") + line('{"status": "gone"}') + cut(), "server_error", "gone"),
        (say("a") + cut(), "cut", ""),
        (say("a") + drop(), "cut", ""),
        (say("a") + reset(), "cut", ""),
        (drop(), "cut", ""),
        (reset(), "cut", ""),
        (raw(b""), "cut", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_failure_has_its_kind_the_servers_words_and_a_remedy(turn, kind, said):
    with ScriptedOllama(chat=turn) as server:
        failure, _ = failing(server.url)
    assert failure.kind == kind
    assert failure.retry == ("none" if kind in FINAL else "offer")
    assert said in str(failure)
    for language in languages():
        told = failure.told(load_locale(language))
        assert told.cause and told.remedy and "{" not in told.remedy


def test_text_before_the_failure_is_kept():
    with ScriptedOllama(chat=say("The first point") + error_line("gone")) as server:
        assert failing(server.url)[1] == "The first point"


def test_a_model_that_is_missing_or_can_not_is_told_by_a_server_as_strict_as_a_real_one():
    with ScriptedOllama() as server:
        assert failing(server.url, ask("qwen9:1b"))[0].kind == "model_missing"
        assert failing(server.url, ask("llama2:13b", tools=(TOOL,)))[0].kind == "unsupported_tools"
        assert failing(server.url, ask("llama2:13b", think=True))[0].kind == "unsupported_thinking"
        assert failing(server.url, ask("nomic-embed-text"))[0].kind == "unsupported_chat"


def test_a_long_text_is_shown_cut_and_kept_whole():
    text = "error parsing tool call: raw='" + "x" * 5000 + "'"
    with ScriptedOllama(chat=fail(500, text)) as server:
        failure, _ = failing(server.url)
    assert failure.details["server_text"] == text
    assert len(str(failure)) < 1000 and "…" in str(failure)


@pytest.mark.parametrize("turn", [hang(20) + say("late"), say("a") + hang(20) + say("late")])
def test_silence_ends_the_turn(turn):
    with ScriptedOllama(chat=turn) as server:
        failure, _ = failing(server.url, silence=0.2)
    assert (failure.kind, failure.retry) == ("model_timeout", "offer")
    assert "0.2 s" in str(failure)


@pytest.mark.parametrize("tools", [(), (TOOL,)])
def test_nothing_at_the_address(tools):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    failure, _ = failing(url, ask(tools=tools))
    assert failure.kind == "unreachable"
    assert url in str(failure) and "ollama serve" in str(failure) and "OLLAMA_HOST" in str(failure)


@pytest.mark.parametrize("host", ["http://no-such-host.invalid", "http://a..b:11434"])
def test_a_host_that_does_not_exist(host):
    assert failing(host)[0].kind == "unreachable"


def test_every_exception_of_the_transport_has_a_kind():
    httpx = pytest.importorskip("httpx")
    for error in (
        httpx.ProxyError("p"),
        httpx.WriteError("w"),
        httpx.DecodingError("d"),
        httpx.PoolTimeout(""),
    ):
        failure = transport_failure(error, host="http://h", model="m")
        assert failure.kind in ("unreachable", "gateway") and str(failure)


class _Redirect(LoopbackServer):
    target = ""

    def handle(self, request, reply):
        reply.send(307, headers={"Location": self.target})


def test_a_redirect_is_told_and_never_followed():
    with ScriptedOllama() as other, _Redirect() as server:
        server.target = f"{other.url}/api/chat"
        failure, _ = failing(server.url)
        assert failure.kind == "gateway" and other.url in str(failure)
        assert other.requests == []


def test_the_proxy_of_the_environment_is_not_asked_for_a_local_server(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as trap:  # a proxy that would swallow the request
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{trap.getsockname()[1]}")
        with ScriptedOllama(chat=say("here")) as server, OllamaChat(server.url) as chat:
            assert "".join(p.text for p in chat.stream(ask(), Cancel()) if not isinstance(p, End)) == "here"


def test_a_far_server_is_asked_through_the_proxy(monkeypatch):
    with ScriptedOllama(chat=say("through the proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with OllamaChat("http://ollama.example.org") as chat:
            pieces = list(chat.stream(ask(), Cancel()))
        assert proxy.requests[0].target == "http://ollama.example.org/api/chat"
    assert isinstance(pieces[-1], End)


def test_many_clients_at_once_each_hear_their_own():
    with ScriptedOllama(chat=lambda request: say(request["messages"][-1]["content"] * 50)) as server:
        heard = {}

        def listen(number):
            request = ChatRequest("qwen3:8b", ({"role": "user", "content": f"<{number}>"},))
            with OllamaChat(server.url) as chat:
                heard[number] = "".join(
                    piece.text for piece in chat.stream(request, Cancel()) if not isinstance(piece, End)
                )

        threads = [threading.Thread(target=listen, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert heard == {number: f"<{number}>" * 50 for number in range(20)}
