"""The scripted Ollama refuses what a real one refuses, and answers in its forms."""

import contextlib
import http.client
import json
import subprocess
import sys
import time

import ollama
import pytest

from locales import load_locale
from tests.servers.ollama import ScriptedOllama, call, cut, demo_script, finish, hang, model, raw, say
from tools.registry import default_registry

HI = {"role": "user", "content": "hi"}
TEXT_ARGUMENTS = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "content": "1"}
CALLED = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def post(server, body, path="/api/chat", method="POST"):
    """The status, the content type and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body))
    answer = connection.getresponse()
    found = answer.status, answer.headers["Content-Type"], answer.read()
    connection.close()
    return found


@pytest.fixture
def clients():
    """Makes Ollama's own client of an address."""
    with contextlib.ExitStack() as stack:
        yield lambda url: stack.enter_context(ollama.Client(url))


@pytest.fixture(scope="module")
def server():
    with ScriptedOllama(chat=say("Hello <you>")) as running:
        yield running


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"model": "qwen9:1b"}, 404, "model 'qwen9:1b' not found"),
        ({"model": ""}, 400, "model is required"),
        ({"model": "llama2:13b", "tools": [TOOL]}, 400, "ai/library/llama2:13b does not support tools"),
        ({"model": "llama2:13b", "think": True}, 400, '"llama2:13b" does not support thinking'),
        ({"model": "nomic-embed-text"}, 400, '"nomic-embed-text:latest" does not support chat'),
        ({"think": "much"}, 400, "invalid think value"),
        ({"options": {"num_ctx": "8192"}}, 400, 'option "num_ctx" must be of type integer'),
        ({"keep_alive": "-1"}, 400, "missing unit in duration"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, 400, "Unrecognized schema"),
        ({"messages": [{"role": "user", "content": {"a": 1}}]}, 400, "cannot unmarshal object"),
        ({"messages": [{"role": "user", "content": ["a"]}]}, 400, "cannot unmarshal array"),
        ({"messages": [{"content": "no role"}]}, 400, "role"),
        ({"messages": [HI, {"role": "system", "content": "late"}]}, 400, "must be at the beginning"),
        ({"messages": [{"role": "system", "content": "alone"}]}, 500, "no user query"),
        ({"messages": [HI, CALLED, HI]}, 400, "Not the same number"),
        ({"messages": [HI, CALLED, RESULT, RESULT]}, 400, "same"),
        ({"messages": [HI, TEXT_ARGUMENTS]}, 400, "cannot unmarshal string"),
    ],
)  # fmt: skip
def test_what_a_real_server_refuses(server, changes, status, error):
    found, kind, body = post(server, {"model": "qwen3:8b", "messages": [HI], **changes})
    assert found == status and kind.startswith("application/json")
    assert error in json.loads(body)["error"]


def test_bodies_that_are_no_requests(server):
    assert post(server, b"")[2] == b'{"error":"missing request body"}'
    assert post(server, b"{broken")[0] == 400
    assert post(server, b"[]")[0] == 400
    assert post(server, b"{}", "/api/nothing")[0] == 404
    assert post(server, b"{}", "/api/chat", "GET")[0] == 405


def test_a_stream_in_the_form_of_a_real_one(server):
    status, kind, body = post(server, {"model": "qwen3:8b", "messages": [HI], "keep_alive": -1})
    first, *_, last = body.splitlines()
    assert (status, kind) == (200, "application/x-ndjson")
    assert first.startswith(b'{"model":"qwen3:8b","created_at":"20')
    assert first.endswith(b'Z","message":{"role":"assistant","content":"Hello"},"done":false}')
    assert b'"content":" \\u003cyou\\u003e"' in body
    end = json.loads(last)
    assert list(end)[:5] == ["model", "created_at", "message", "done", "done_reason"]
    assert end["prompt_eval_count"] > 0 and end["eval_count"] == 2


def test_ollamas_own_client_is_content_with_it(clients):
    with ScriptedOllama(chat=[say("One") + call("f", {"a": 1}), say("Two")]) as server:
        client = clients(server.url)
        parts = list(client.chat("qwen3:8b", [HI], tools=[TOOL], stream=True))
        assert parts[0].message.content == "One" and parts[1].message.tool_calls[0].function.arguments == {
            "a": 1
        }
        assert client.chat("qwen3:8b", [HI]).message.content == "Two"
        with pytest.raises(ollama.ResponseError, match="2 turns"):
            client.chat("qwen3:8b", [HI])
        assert len(client.list().models) == 7 and client.show("qwen3:8b").capabilities[-1] == "thinking"
        assert client.ps().models[0].context_length == 4096
        assert client.generate("qwen3:8b", keep_alive=0).done_reason == "unload"
        assert client.ps().models == []
        assert client.chat("qwen3:8b", [], options={"num_ctx": 999_999}).done_reason == "load"
        assert client.ps().models[0].context_length == 40_960
        assert client.delete("qwen3:8b").status == "success"
        with pytest.raises(ollama.ResponseError, match="not found"):
            client.show("qwen3:8b")


def test_a_pull_takes_up_where_it_was_broken_off(clients):
    with ScriptedOllama([], pullable=[model("new:1b", "completion")], pull_seconds=0.4) as server:
        client = clients(server.url)
        with pytest.raises(ollama.ResponseError, match="file does not exist"):
            list(client.pull("nothing:1b", stream=True))
        broken_off = client.pull("new:1b", stream=True)
        seen = [next(broken_off) for _ in range(8)]
        broken_off.close()
        rest = list(client.pull("new:1b", stream=True))
        assert rest[1].completed >= seen[-2].completed > 0
        assert rest[-1].status == "success" and list(server.models) == ["new:1b"]


def test_a_script_may_look_at_the_request():
    with ScriptedOllama(chat=lambda request: say(request["messages"][-1]["content"].upper())) as server:
        assert json.loads(post(server, {"model": "qwen3:8b", "messages": [HI], "stream": False})[2])[
            "message"
        ] == {"role": "assistant", "content": "HI"}
        assert server.chats[0]["messages"] == [HI]


def test_old_servers_answer_as_they_did():
    with ScriptedOllama(chat=call("f", {"a": 1}), version="0.3.14") as server:
        request = {"model": "qwen2.5:14b", "messages": [HI], "tools": [TOOL]}
        assert b"tool_calls" not in post(server, request)[2]  # a streamed call is never parsed
        whole = json.loads(post(server, {**request, "stream": False})[2])
        assert whole["message"]["tool_calls"] == [{"function": {"name": "f", "arguments": {"a": 1}}}]
        assert "capabilities" not in json.loads(post(server, {"model": "qwen2.5:14b"}, "/api/show")[2])


def test_odd_ends_of_a_turn():
    with ScriptedOllama(
        chat=[say("a") + cut(), say("a") + finish("length"), raw(b"x\ny", one_byte=True)]
    ) as server:
        request = {"model": "qwen3:8b", "messages": [HI]}
        assert b'"done":true' not in post(server, request)[2]
        assert b'"done_reason":"length"' in post(server, request)[2]
        assert post(server, request)[2] == b"x\ny"


def test_it_notices_who_hangs_up():
    with ScriptedOllama(chat=hang(30)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/api/chat", json.dumps({"model": "qwen3:8b", "messages": [HI]}))
        time.sleep(0.05)
        connection.close()
        wall = time.monotonic() + 5
        while not server.hung_up_at and time.monotonic() < wall:
            time.sleep(0.01)
        assert len(server.hung_up_at) == 1


FOUND = "[1] Gradio 6\nURL: https://a.example/6\nSnippet: Out.\n\n[2] B\nURL: https://b.example\nSnippet: \n"


@pytest.mark.parametrize(
    ("language", "question", "said"),
    [
        ("fr", "Fais-moi un PDF sur les actualités Gradio", "[Télécharger le PDF](/pdfs/x.pdf)"),
        ("en", "Make me a PDF about the latest news of Gradio", "[Download the PDF](/pdfs/x.pdf)"),
    ],
)
def test_the_demo_model_does_the_whole_job_with_what_it_finds(clients, language, question, said):
    locale = load_locale(language)
    tools = default_registry().offer(["web_search", "scrape_url", "create_pdf"], locale)
    results = {"web_search": FOUND, "scrape_url": "# Gradio 6\n\nThe page.", "create_pdf": "URL: /pdfs/x.pdf"}
    messages, made = [{"role": "user", "content": question}], []
    with ScriptedOllama(chat=demo_script(None)) as server:
        client = clients(server.url)
        for canonical, result in results.items():
            message = client.chat("qwen2.5:14b", messages, tools=tools).message
            (called,) = message.tool_calls
            assert called.function.name == locale.face(canonical).name
            made.append(called.function.arguments)
            messages += [message.model_dump(exclude_none=True)]
            messages += [{"role": "tool", "tool_name": called.function.name, "content": result}]
        answer = client.chat("qwen2.5:14b", messages, tools=tools).message.content
    query, page, document = (list(arguments.values()) for arguments in made)
    assert "Gradio" in query[0] and page == ["https://a.example/6"]
    assert "https://b.example" in document[1] and "The page." in document[1]
    assert said in answer and "https://a.example/6" in answer


def test_the_demo_model_talks_where_it_has_no_tools():
    with ScriptedOllama(chat=demo_script(None)) as server:
        for question, said in (("Bonjour", "modèle"), ("Hello", "demo model"), ("latest news?", "no tools")):
            request = {
                "model": "qwen2.5:14b",
                "messages": [{"role": "user", "content": question}],
                "stream": False,
            }
            assert said in json.loads(post(server, request)[2])["message"]["content"]


def test_it_starts_from_the_command_line(clients):
    command = [sys.executable, "-m", "tests.servers.ollama", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        url = process.stdout.readline().split()[-1]
        assert len(clients(url).list().models) == 7
        process.terminate()
