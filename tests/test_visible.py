"""What is shown while a turn streams: no markup at any moment, nothing late, nothing lost."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.offered import Offered
from agent.recover import recover
from agent.visible import TurnText
from tests.text_cases import ROWS, TOOLS, Screen

OFFERED = Offered(TOOLS)
SHORT = [row for row in ROWS if len(row["content"]) < 5000]


def pieces_of(text: str, sizes: list[int]) -> list[str]:
    """The text cut into pieces; the sizes are used in turn."""
    pieces = []
    while text:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[:size])
        text = text[size:]
    return pieces


class Streamed:
    """A turn fed in pieces, and what was on the screen after each of them."""

    def __init__(self, content: list[str], thinking: list[str] | None = None) -> None:
        self.turn = TurnText(OFFERED)
        self.screen = Screen()
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        for piece in thinking or []:
            self._see(self.turn.feed(thinking=piece))
        for piece in content:
            self._see(self.turn.feed(piece))
        self._see(self.turn.close())

    def _see(self, events) -> None:
        rewritten = self.screen.rewritten
        self.screen.show(events)
        if self.screen.rewritten > rewritten:
            self.texts.clear()
        self.texts.append(self.screen.text)
        self.thoughts.append(self.screen.thinking)


def check(streamed: Streamed, content: str, thinking: str = "") -> None:
    """Every moment shows a beginning of the end, and the end is what the whole text reads as."""
    whole = recover(content, thinking, TOOLS)
    turn = streamed.turn
    assert (streamed.screen.text, streamed.screen.thinking) == (turn.visible, turn.thinking)
    assert (turn.visible, turn.thinking) == (whole.visible, whole.thinking)
    assert (turn.calls, turn.unknown, turn.broken) == (whole.calls, whole.unknown, whole.broken)
    assert all(whole.visible.startswith(text) for text in streamed.texts)
    assert all(whole.thinking.startswith(text) for text in streamed.thoughts)


@pytest.mark.parametrize("row", SHORT, ids=lambda row: row["id"])
def test_turn_in_single_characters(row):
    thinking = row.get("thinking", "")
    check(Streamed(list(row["content"]), list(thinking)), row["content"], thinking)


@given(row=st.sampled_from(SHORT), sizes=st.lists(st.integers(1, 12), min_size=1, max_size=7))
@settings(max_examples=400, deadline=None)
def test_turn_in_any_pieces(row, sizes):
    thinking = row.get("thinking", "")
    streamed = Streamed(pieces_of(row["content"], sizes), pieces_of(thinking, sizes))
    check(streamed, row["content"], thinking)


CALL = '{"name": "web_search", "arguments": {"query": "a"}}'
FRAGMENTS = [
    *(
        "Some words. ",
        "a < b ",
        "`code` ",
        "` ",
        "```\n",
        "\n",
        "\n\n",
        "> ",
        "    ",
        '"',
        "« ",
        " »",
        "{",
        "[",
        "]",
    ),
    *(
        "<tool_call>",
        "</tool_call>",
        "<tool",
        "<b>",
        "[TOOL_CALLS]",
        "[TOOL",
        "<|im_end|>",
        "<think>",
        "</think>",
    ),
    *(
        "<|channel|>",
        "final<|message|>",
        "web_search",
        "web_search(",
        'query="a")',
        "to=functions.",
        "function",
    ),
    *(CALL, f"<tool_call>{CALL}</tool_call>", f"```json\n{CALL}\n```", f"[TOOL_CALLS] [{CALL}]", CALL[:20]),
]


@given(
    fragments=st.lists(st.sampled_from(FRAGMENTS), max_size=12),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
@settings(max_examples=600, deadline=None, derandomize=True)
def test_any_mixture_in_any_pieces(fragments, sizes):
    content = "".join(fragments)
    check(Streamed(pieces_of(content, sizes)), content)


@given(content=st.text(max_size=200), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5))
@settings(max_examples=200, deadline=None)
def test_any_text_in_any_pieces(content, sizes):
    check(Streamed(pieces_of(content, sizes)), content)


MARKS = [
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|tool_call>",
    "<｜tool▁calls▁begin｜>",
    "<|python_tag|>",
    "<function=web_search>",
]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("before", ["Let me look. ", "a < b\n\n", "See [1]\n", "`x` is code. ", ""])
def test_not_even_the_beginning_of_a_mark_is_shown(mark, before):
    turn = TurnText(OFFERED)
    screen = Screen()
    for sign in before + mark:
        screen.show(turn.feed(sign))
        assert before.startswith(screen.text)


ORDINARY = {
    "prose": "Where we were, the sea was calm; then a fog came and covered us. " * 5,
    "html": "Write <b>bold</b>, <div class='x'>, List<int> or a < b && c > d, then <toolbox></toolbox>. " * 3,
    "markdown": "# Title\n\n- [link](http://a.example/x)\n- `code`\n\n| a |\n|---|\n| 1 |\n\n> said\n" * 3,
    "fence": "Do this:\n\n```python\nresult = web_search(query='x')\nprint(result)\n```\n\nThat is all.",
    "program": "```python\nimport os\n\ndef main():\n    print(os.name)\n```",
    "json": '{"city": "Lyon", "people": 520000, "rivers": ["Rhône", "Saône"], "mayor": {"name": "web"}}',
    "list": '["red", "green", {"name": "blue"}]',
    "fenced json": '```json\n{\n  "city": "Lyon",\n  "rivers": ["Rhône", "Saône"]\n}\n```',
    "other name": '{"name": "Léa", "parameters": {"age": 9, "city": "Pau"}}',
    "words of marks": "It costs $5 {net} or [about] 6; call: me, functions too, tools, web pages, search. "
    * 3,
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_is_never_far_behind(text):
    turn = TurnText(OFFERED)
    shown = 0
    for end, sign in enumerate(text, 1):
        shown += sum(len(event.text) for event in turn.feed(sign))
        assert len(text[:end].rstrip()) - shown <= 40, text[shown:end]
    turn.close()
    assert turn.visible == text.strip()


def test_text_behind_a_lone_closing_tag_is_the_answer_at_once():
    streamed = Streamed(["The capital", " has moved.\n</th", "ink>\n\nRo", "me."])
    assert streamed.screen.rewritten == 1
    assert (streamed.screen.text, streamed.screen.thinking) == ("Rome.", "The capital has moved.")
    assert "Ro" in streamed.texts


LONG = {
    "prose": "An ordinary sentence with `code`, a [link](http://a.example) and 1 < 2.\n\n" * 1000,
    "call": f"<tool_call>{CALL[:-3]}{'a{b} ' * 20000}{CALL[-3:]}</tool_call>",
    "cut": CALL[:-3] + "a [b] " * 15000,
    "thoughts": "<think>" + "word " * 15000,
    "blank": " " * 60000,
    "span": "`<tool_call>" + "{ " * 30000,
    "quotes": "«" + f"<tool_call>{CALL}</tool_call> " * 800,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_work_is_linear(text):
    """A token costs microseconds; were all of the text read again for each, the wall would not stand."""
    start = time.perf_counter()
    turn = TurnText(OFFERED)
    for piece in re.findall(r"(?s).{1,4}", text):
        turn.feed(piece)
    turn.close()
    assert time.perf_counter() - start < 5
