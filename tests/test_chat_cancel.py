"""Stopping a turn at any moment: it ends at once, and the server sees the connection close."""

import contextlib
import socket
import threading
import time

import pytest

from agent.chat import ChatRequest, End, OllamaChat
from tests.servers.ollama import ScriptedOllama, fail, hang, say
from tools.cancel import Cancel

TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "", "parameters": {"type": "object", "properties": {}}},
}
ENDLESS = say(["word "] * 10_000, tokens_per_second=50)


def ask(text="hi", **fields):
    return ChatRequest("qwen3:8b", ({"role": "user", "content": text},), **fields)


def stopped(chat, request, after=0.3, asked=lambda: True):
    """What a turn gave that is cancelled so many seconds after it was asked, and how long it then went on."""
    cancel, at = Cancel(), []

    def stop():
        wall = time.monotonic() + 10
        while not asked() and time.monotonic() < wall:
            time.sleep(0.005)
        time.sleep(after)
        at.append(time.monotonic())
        cancel.set()

    threading.Thread(target=stop, daemon=True).start()
    given = list(chat.stream(request, cancel))
    went_on = time.monotonic() - at[0]
    assert not any(isinstance(piece, End) for piece in given)
    return given, went_on


def hung_up(server, wanted=1):
    """How many clients the server has seen going; waits a while for as many as wanted."""
    wall = time.monotonic() + 5
    while len(server.hung_up_at) < wanted and time.monotonic() < wall:
        time.sleep(0.01)
    return len(server.hung_up_at)


@pytest.mark.parametrize(
    "turn",
    [hang(30) + say("late"), say("a b c") + hang(30) + say("late"), ENDLESS, hang(30) + fail(500, "late")],
    ids=["while the model loads", "in a pause", "in the middle", "before an error"],
)
@pytest.mark.parametrize("tools", [(), (TOOL,)], ids=["plain chat", "with tools"])
def test_stop_ends_the_turn_and_the_servers_work(turn, tools):
    with ScriptedOllama(chat=turn) as server, OllamaChat(server.url) as chat:
        _, went_on = stopped(chat, ask(tools=tools), asked=lambda: server.chats)
        assert went_on < 1
        assert hung_up(server) == 1
        assert server.hung_up_at[0] - server.requests[-1].at < 1.3


def test_what_came_before_the_stop_is_kept():
    with ScriptedOllama(chat=say("one two ") + hang(30)) as server, OllamaChat(server.url) as chat:
        given, _ = stopped(chat, ask())
    assert "".join(piece.text for piece in given) == "one two "


def test_stop_while_connecting():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        with contextlib.ExitStack() as stack:
            for _ in range(4):  # fill the backlog: whoever comes now waits
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(deaf.getsockname())
            with OllamaChat(f"http://127.0.0.1:{deaf.getsockname()[1]}") as chat:
                given, went_on = stopped(chat, ask())
    assert given == [] and went_on < 1


def test_stop_while_a_server_accepts_and_says_nothing():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        for tools in ((), (TOOL,)):
            _, went_on = stopped(OllamaChat(url), ask(tools=tools))
            assert went_on < 1


def test_a_turn_that_was_stopped_before_it_began_asks_nothing():
    cancel = Cancel()
    cancel.set()
    with ScriptedOllama() as server, OllamaChat(server.url) as chat:
        assert list(chat.stream(ask(), cancel)) == []
        assert server.requests == []


def test_stop_between_two_pieces_by_the_one_who_reads():
    cancel, given = Cancel(), []
    slow = say("a b c d e f", tokens_per_second=50) + hang(30)
    with ScriptedOllama(chat=slow) as server, OllamaChat(server.url) as chat:
        for piece in chat.stream(ask(), cancel):
            given.append(piece)
            if len(given) == 3:
                cancel.set()
        assert hung_up(server) == 1
    assert len(given) == 3


def test_ten_stops_in_a_row_leave_nothing_behind():
    before = threading.active_count()
    played = {"loads": hang(30), "talks": ENDLESS, "answers": say("All well.")}
    server = ScriptedOllama(chat=lambda request: played[request["messages"][-1]["content"]])
    with server, OllamaChat(server.url) as chat:
        for number, text in enumerate(("loads", "talks") * 5, start=1):
            _, went_on = stopped(chat, ask(text), 0.05, lambda number=number: len(server.chats) == number)
            assert went_on < 1
        assert hung_up(server, 10) == 10
        *given, end = chat.stream(ask("answers"), Cancel())
        assert "".join(piece.text for piece in given) == "All well." and isinstance(end, End)
    wall = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < wall:
        time.sleep(0.02)
    assert threading.active_count() <= before


def test_a_stop_of_one_run_leaves_the_others_alone():
    server = ScriptedOllama(chat=say(["x "] * 30, tokens_per_second=40))
    with server, OllamaChat(server.url) as mine, OllamaChat(server.url) as other:
        heard = []
        listener = threading.Thread(target=lambda: heard.extend(other.stream(ask(), Cancel())))
        listener.start()
        stopped(mine, ask(), after=0.2)
        listener.join(30)
    assert len(heard) == 31 and isinstance(heard[-1], End)


def test_closing_the_iterator_ends_the_request():
    with ScriptedOllama(chat=ENDLESS) as server, OllamaChat(server.url) as chat:
        stream = chat.stream(ask(), Cancel())
        next(stream)
        stream.close()
        assert hung_up(server) == 1
