"""From the pieces of a stream to the turn that the loop acts on."""

import pytest

from agent.chat import Call, ChatRequest, End, ModelFailure, Piece
from agent.chat_errors import cut_failure
from agent.turn import Turn, take_turn
from tests.text_cases import TOOLS, Screen, pairs
from tools.cancel import Cancel

TEXT_CALL = '<tool_call>{"name": "web_search", "arguments": {"query": "a"}}</tool_call>'


class Recited:
    """A model server that says what it was told to; a failure is raised where it stands."""

    def __init__(self, *said) -> None:
        self.said = said

    def stream(self, request, cancel):
        for item in self.said:
            if cancel.is_set():
                return
            if isinstance(item, ModelFailure):
                raise item
            yield item


def take(*said, tools=tuple(TOOLS), cancel=None) -> tuple[Turn, Screen]:
    events = take_turn(Recited(*said), ChatRequest("m", (), tools), cancel or Cancel())
    screen = Screen()
    while True:
        try:
            screen.show([next(events)])
        except StopIteration as end:
            return end.value, screen


def test_calls_as_text_get_ids_of_their_own():
    turn, _ = take(Piece(TEXT_CALL + TEXT_CALL), End())
    assert pairs(turn.calls) == [("web_search", {"query": "a"})] * 2
    assert turn.recovered
    assert len({call.id for call in turn.calls}) == 2


def test_structured_calls_win_over_the_same_as_text():
    call = Call("c1", "web_search", {"query": "a"})
    turn, screen = take(Piece(f"I look. {TEXT_CALL}"), Piece(calls=(call,)), End())
    assert turn.calls == (call,)
    assert not turn.recovered and not turn.unknown
    assert screen.text == turn.text == "I look."


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("web_search<|channel|>commentary", "web_search"),
        ("functions.web_search:0", "web_search"),
        ("create_event<|channel|>analysis", "create_event"),
        ("assistant<|channel|>analysis", "assistant"),
        ("browser.search", "browser.search"),
    ],
)
def test_names_of_structured_calls_are_cleaned(written, name):
    turn, _ = take(Piece(calls=(Call("c1", written, {}),)), End())
    assert [call.name for call in turn.calls] == [name]


def test_unknown_tools_are_told_apart():
    turn, _ = take(Piece('<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'), End())
    assert turn.calls == ()
    assert pairs(turn.unknown) == [("bash", {"command": "ls"})]
    assert turn.problem is None


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ([End()], "empty"),
        ([Piece(" \n"), End()], "empty"),
        ([Piece("<|im_end|>"), End()], "empty"),
        ([Piece(thinking="Hm."), End()], "thinking_only"),
        ([Piece("<think>Hm.</think>"), End()], "thinking_only"),
        ([Piece("Half an ans"), End("length")], "length"),
        ([Piece(thinking="Hm."), End("length")], "length"),
        ([End("load")], None),
        ([Piece("Hello."), End()], None),
        ([Piece(TEXT_CALL), End()], None),
        ([Piece(TEXT_CALL[:40]), End()], None),
        ([Piece(thinking=TEXT_CALL), End()], None),
    ],
)
def test_what_is_wrong_with_a_turn(said, problem):
    assert take(*said)[0].problem == problem


def test_a_broken_call_is_reported():
    turn, screen = take(Piece(f"I look. {TEXT_CALL[:40]}"), End())
    assert (turn.broken, turn.text, screen.text) == ("cut", "I look.", "I look.")


def test_bad_lines_are_counted():
    assert take(Piece(bad_line="{"), Piece("Hi."), Piece(bad_line="x"), End())[0].bad_lines == 2


def test_a_cancelled_turn_keeps_its_text_and_has_no_calls():
    cancel = Cancel()

    class Stopped(Recited):
        def stream(self, request, cancel):
            for item in super().stream(request, cancel):
                yield item
                cancel.set()

    events = take_turn(
        Stopped(Piece(f"I look. {TEXT_CALL}"), Piece("more")), ChatRequest("m", (), tuple(TOOLS)), cancel
    )
    screen = Screen()
    with pytest.raises(StopIteration) as stop:
        while True:
            screen.show([next(events)])
    turn = stop.value.value
    assert (turn.end, turn.calls, turn.text, screen.text) == (None, (), "I look.", "I look.")


def test_a_failure_carries_the_turn_so_far():
    failure = ModelFailure("server_error", detail="x")
    call = Piece(calls=(Call("c1", "create_pdf", {}),))
    events = take_turn(Recited(Piece("a <tool"), call, failure), ChatRequest("m", (), tuple(TOOLS)), Cancel())
    screen = Screen()
    with pytest.raises(ModelFailure) as raised:
        while True:
            screen.show([next(events)])
    assert raised.value.partial.text == screen.text == "a <tool"
    assert raised.value.partial.calls == ()


@pytest.mark.parametrize(
    ("text", "kind"), [("Very " + "very " * 40, "repetition"), ("One, two, three", "cut")]
)
def test_a_stream_that_ends_in_a_loop_is_a_repetition(text, kind):
    with pytest.raises(ModelFailure) as raised:
        take(Piece(text), cut_failure(host="h", model="m"))
    assert raised.value.kind == kind
    assert str(raised.value)


def test_thoughts_in_the_text_move_to_the_thoughts():
    turn, screen = take(Piece(thinking="One. "), Piece("Two.\n</thi"), Piece("nk>Answer."), End())
    assert (screen.text, screen.thinking) == (turn.text, turn.thinking) == ("Answer.", "One. Two.")
    assert screen.rewritten == 1


def test_without_tools_no_call_runs_and_none_is_shown():
    turn, screen = take(Piece(f"Well. {TEXT_CALL}"), End(), tools=())
    assert (turn.calls, turn.text, screen.text) == ((), "Well.", "Well.")
    assert [call.name for call in turn.unknown] == ["web_search"]
