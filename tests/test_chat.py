"""The streaming client: recorded answers in any pieces, odd shapes, and the request that goes out."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.chat import ChatRequest, End, ModelFailure, OllamaChat
from agent.ndjson import read_lines
from tests.conftest import DATA
from tests.servers.ollama import ScriptedOllama, call, calls, finish, line, raw, say
from tools.cancel import Cancel

STREAMS = DATA / "streams"
CASES = json.loads((STREAMS / "index.json").read_text(encoding="utf-8"))["cases"]
WAYS = [
    (number, way)
    for number, case in enumerate(CASES)
    for way in ("whole", "split", "bytes")
    if way != "split" or "split_at" in case
]
LATER = ("thinking_only", "length")
"""Ends that the client only reports; whoever reads the turn judges them."""

TOOL = {
    "type": "function",
    "function": {
        "name": "web_search",
        "description": "Searches.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    },
}


def ask(text="hi", model="qwen3:8b", **fields):
    return ChatRequest(model, ({"role": "user", "content": text},), **fields)


class Heard:
    """A turn as the client heard it, put together."""

    def __init__(self, chat, request):
        self.end = self.failure = None
        pieces = []
        try:
            for piece in chat.stream(request, Cancel()):
                assert self.end is None, "nothing follows the end"
                if isinstance(piece, End):
                    self.end = piece
                else:
                    pieces.append(piece)
        except ModelFailure as failure:
            self.failure = failure
        self.text = "".join(piece.text for piece in pieces)
        self.thinking = "".join(piece.thinking for piece in pieces)
        self.calls = [made for piece in pieces for made in piece.calls]
        self.made = [(made.name, made.arguments) for made in self.calls]
        self.bad_lines = [piece.bad_line for piece in pieces if piece.bad_line]


def hear(turn, request=None, **server):
    """One turn of a server of its own."""
    with ScriptedOllama(chat=turn, **server) as ollama, OllamaChat(ollama.url) as chat:
        return Heard(chat, request or ask())


@pytest.fixture(scope="module")
def recorded():
    """A client of a server that plays the recorded stream which the question names."""

    def script(request):
        number, way = request["messages"][-1]["content"].split()
        case = CASES[int(number)]
        body = (STREAMS / case["file"]).read_bytes()
        split_at = case["split_at"] if way == "split" else ()
        kept = {"status": case["status"], "content_type": case["content_type"]}
        return raw(body, split_at=split_at, one_byte=way == "bytes", **kept)

    with ScriptedOllama(chat=script) as server, OllamaChat(server.url) as chat:
        yield chat


def squeezed(text):
    return re.sub(r"\s", "", text)


def said(case, key):
    """What the lines of a recording say under a key of their message, joined."""
    lines = (STREAMS / case["file"]).read_bytes().split(b"\n")
    whole = [
        json.loads(each) for each in lines if each.strip().startswith(b"{") and each.strip().endswith(b"}")
    ]
    return "".join(each.get("message", {}).get(key) or "" for each in whole)


@pytest.mark.parametrize(("number", "way"), WAYS, ids=[f"{CASES[n]['id']}-{way}" for n, way in WAYS])
def test_recorded_streams_in_any_pieces(recorded, number, way):
    case = CASES[number]
    end = case["end"]
    heard = Heard(recorded, ask(f"{number} {way}"))
    if "text_alt_regex" in case:
        assert re.fullmatch(case["text_alt_regex"], heard.text)
    elif case["status"] == 200:
        assert (heard.text, heard.thinking) == (said(case, "content"), said(case, "thinking"))
    if case["kind"] not in ("thinking", "text_calls") and case["level"] == "must":
        assert squeezed(heard.text) == squeezed(end["text"])
        assert squeezed(heard.thinking) == squeezed(end["thinking"])
        assert [made.name for made in heard.calls] == [made["name"] for made in end["calls"]]
        if case["id"] != "29_argument_types":  # those are put right by schema, later
            assert heard.made == [(made["name"], made["arguments"]) for made in end["calls"]]
    assert len({made.id for made in heard.calls}) == len(heard.calls)
    assert (heard.end is not None) == end["done"]
    assert not end["done"] or heard.end.reason == end["done_reason"]
    if end["error"] and end["error"] not in LATER:
        assert heard.failure.kind == end["error"]
        assert heard.failure.retry == ("none" if end["retry"] == "none" else "offer")
        assert end.get("error_contains", "") in str(heard.failure)
    else:
        assert heard.failure is None
    assert heard.bad_lines == []


def test_the_request_is_what_a_server_takes():
    history = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Prix ?", "shown_as": "for the interface only"},
        {
            "role": "assistant",
            "content": None,
            "thinking": "search",
            "tool_calls": [{"id": "a", "function": {"name": "web_search", "arguments": '{"query": "x"}'}}],
        },
        {"role": "tool", "tool_name": "web_search", "tool_call_id": "a", "content": {"found": 1}},
    )
    with ScriptedOllama(chat=say("ok")) as server, OllamaChat(server.url) as chat:
        request = ChatRequest("qwen3:8b", history, (TOOL,), num_ctx=8192, think=True, keep_alive="-1")
        assert Heard(chat, request).text == "ok"
        (sent,) = server.chats
    assert sent == {
        "model": "qwen3:8b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Prix ?"},
            {
                "role": "assistant",
                "content": "",
                "thinking": "search",
                "tool_calls": [{"id": "a", "function": {"name": "web_search", "arguments": {"query": "x"}}}],
            },
            {"role": "tool", "tool_name": "web_search", "tool_call_id": "a", "content": '{"found": 1}'},
        ],
        "stream": True,
        "options": {"num_ctx": 8192},
        "keep_alive": -1,
        "truncate": False,
        "shift": False,
        "tools": [TOOL],
        "think": True,
    }


def test_a_plain_chat_sends_neither_tools_nor_think():
    with ScriptedOllama(chat=say("ok")) as server, OllamaChat(server.url) as chat:
        Heard(chat, ask(model="llama2:13b"))
        (sent,) = server.chats
        paths = [request.path for request in server.requests]
    assert "tools" not in sent and "think" not in sent
    assert sent["keep_alive"] == "5m"
    assert paths == ["/api/chat"]


def test_half_a_surrogate_pair_in_a_question_does_no_harm():
    assert hear(say("ok"), ask("broken \ud83d emoji")).text == "ok"


@pytest.mark.parametrize(
    ("version", "streamed"),
    [
        ("0.3.14", False),
        ("0.4.5", False),
        ("0.4.6", True),
        ("0.33.0-rc2", True),
        ("0.0.0", True),
        (None, True),
    ],
)
def test_only_servers_that_lose_calls_in_a_stream_are_asked_for_a_whole_answer(version, streamed):
    turn = say("Look.") + call("web_search", {"query": "x"})
    with ScriptedOllama(chat=turn, version=version) as server, OllamaChat(server.url) as chat:
        for _ in range(2):
            heard = Heard(chat, ask(model="qwen2.5:14b", tools=(TOOL,)))
            assert (heard.text, heard.made) == ("Look.", [("web_search", {"query": "x"})])
            assert heard.end.reason == "stop"
        assert [sent["stream"] for sent in server.chats] == [streamed] * 2
        assert sum(request.path == "/api/version" for request in server.requests) == 1


@pytest.mark.parametrize("shape", ["R1", "R2", "native", "harmony", "old"])
def test_calls_of_every_shape(shape):
    made = [("web_search", {"query": "a"}), ("web_search", {"query": "b"})]
    heard = hear(say("Two.", thinking="Both.") + calls(*made, shape=shape))
    assert (heard.text, heard.thinking, heard.made) == ("Two.", "Both.", made)
    assert len({each.id for each in heard.calls}) == 2


def test_an_id_that_comes_again_is_not_taken_twice():
    entry = {"id": "call_1", "function": {"name": "web_search", "arguments": {}}}
    message = {"message": {"content": "", "tool_calls": [entry, entry]}, "done": True}
    with ScriptedOllama(chat=raw(json.dumps(message).encode())) as server, OllamaChat(server.url) as chat:
        ids = [made.id for _ in range(2) for made in Heard(chat, ask()).calls]
    assert len(set(ids)) == 4 and "call_1" in ids


@pytest.mark.parametrize(
    ("arguments", "read", "readable"),
    [
        ({"query": "x"}, {"query": "x"}, True),
        ('{"query": "x"}', {"query": "x"}, True),
        (json.dumps('{"query": "x"}'), {"query": "x"}, True),
        (None, {}, True),
        ("  ", {}, True),
        ("[]", {}, False),
        ("42", {}, False),
        (["x"], {}, False),
        ('{"query": "cut o', {}, False),
    ],
)
def test_arguments_of_every_form(arguments, read, readable):
    heard = hear(call("web_search", arguments))
    assert heard.made == [("web_search", read)]
    assert bool(heard.bad_lines) is not readable


@pytest.mark.parametrize(
    "made", [None, [], {}, [5], [{"function": None}], [{"function": {"arguments": {}}}], "x"]
)
def test_tool_calls_that_are_none(made):
    message = {"message": {"content": "text", "tool_calls": made}, "done": True}
    heard = hear(raw(json.dumps(message).encode()))
    assert heard.text == "text" and heard.calls == [] and heard.end
    assert bool(heard.bad_lines) is bool(made)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({"message": {"role": "assistant"}}, ""),
        ({"message": {"content": None, "thinking": None}}, ""),
        ({"message": {"content": ["a"]}}, '["a"]'),
        ({"message": {"content": "a", "unknown": {"b": 1}}, "extra": [1]}, "a"),
        ({"message": {"content": "half \ud83d pair"}}, "half \ufffd pair"),
    ],
)
def test_odd_messages(sent, text):
    heard = hear(line(json.dumps({**sent, "done": False})) + finish())
    assert heard.text == text and heard.end and heard.failure is None


def test_an_unreadable_line_is_told_and_the_rest_is_kept():
    heard = hear(say("a") + line("{broken") + line(b"\xff\xfe") + line("[1]") + line("7") + say("b"))
    assert heard.text == "ab" and heard.end
    assert heard.bad_lines == ["{broken", "\ufffd\ufffd", "[1]", "7"]


def test_deeply_nested_nonsense_is_an_unreadable_line():
    assert len(hear(line("[" * 200_000) + say("b")).bad_lines) == 1


def test_not_a_number_is_none():
    text = '{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":NaN}}}]},"done":true}'
    assert hear(raw(text.encode())).made == [("f", {"a": None})]


def test_counts_are_unknown_where_the_server_gives_none():
    with_counts = hear(say("a b c") + finish("length", prompt_tokens=2051)).end
    assert (with_counts.reason, with_counts.prompt_tokens, with_counts.answer_tokens) == ("length", 2051, 3)
    assert with_counts.seconds > 0 and with_counts.details["eval_count"] == 3
    without = hear(say("a") + finish(metrics=False)).end
    assert (without.prompt_tokens, without.answer_tokens, without.details) == (None, None, {})


def lines_of(pieces):
    return [line for lines in read_lines(pieces) for line in lines]


objects = st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.integers() | st.none(), max_size=3)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(objects, max_size=6),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n"]),
    st.booleans(),
    st.lists(st.integers(0, 400)),
)
def test_lines_are_the_same_however_the_bytes_are_cut(sent, ending, last_ending, cuts):
    text = ending.join(json.dumps(each, ensure_ascii=False) for each in sent) + ending * last_ending
    body = text.encode("utf-8", "replace")
    edges = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    pieces = [body[start:end] for start, end in pairwise(edges)]
    assert lines_of(pieces) == lines_of([body]) == [json.loads(json.dumps(each)) for each in sent]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_at_all_break_the_reader(body):
    whole = lines_of([body])
    assert lines_of(bytes([byte]) for byte in body) == whole
    assert "\n" not in "".join(each for each in whole if isinstance(each, str))
