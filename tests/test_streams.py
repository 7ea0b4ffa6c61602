"""Recorded answers, byte for byte, through the client and the assembly of the turn."""

import json
import re

import pytest

from agent.chat import ChatRequest, ModelFailure, OllamaChat
from agent.events import TurnRewritten
from agent.turn import Turn, take_turn
from tests.conftest import DATA
from tests.servers.ollama import ScriptedOllama, raw
from tests.text_cases import NAMES, TOOLS, Screen, pairs, squeezed
from tools.cancel import Cancel

FOLDER = DATA / "streams"
CASES = {
    case["id"]: case for case in json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))["cases"]
}


class Taken:
    """A turn taken to its end, and what the screen showed at each moment."""

    def __init__(self, body: bytes, case: dict, **pieces) -> None:
        script = raw(body, status=case["status"], content_type=case["content_type"], **pieces)
        self.screen = Screen()
        self.seen: list[str] = []
        self.failure: ModelFailure | None = None
        with ScriptedOllama(chat=script) as ollama, OllamaChat(ollama.url) as chat:
            asked = ({"role": "user", "content": "hi"},)
            tools = tuple(TOOLS) if case["request"]["tools"] else ()
            self.turn = self._followed(take_turn(chat, ChatRequest("qwen3:8b", asked, tools), Cancel()))

    def _followed(self, events) -> Turn:
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                return end.value
            except ModelFailure as failure:
                self.failure = failure
                return failure.partial
            if isinstance(event, TurnRewritten):
                self.seen.clear()
            self.screen.show([event])
            self.seen.append(self.screen.text)


def ways():
    for name, case in CASES.items():
        yield pytest.param(name, {}, id=f"{name}-whole")
        yield pytest.param(name, {"one_byte": True}, id=f"{name}-bytes")
        if "split_at" in case:
            yield pytest.param(name, {"split_at": case["split_at"]}, id=f"{name}-split")


@pytest.mark.parametrize(("name", "pieces"), ways())
def test_recorded_answer(name, pieces):
    case = CASES[name]
    end = case["end"]
    taken = Taken((FOLDER / case["file"]).read_bytes(), case, **pieces)
    turn = taken.turn

    if "text_alt_regex" in case:
        assert re.match(case["text_alt_regex"], turn.text)
    else:
        assert squeezed(turn.text) == squeezed(end["text"])
    assert squeezed(turn.thinking) == squeezed(end["thinking"])
    assert all(turn.text.startswith(text) for text in taken.seen), "nothing but the answer was ever shown"
    assert (squeezed(taken.screen.text), squeezed(taken.screen.thinking)) == (
        squeezed(turn.text),
        squeezed(turn.thinking),
    )

    known = [call for call in turn.calls if call.name in NAMES]
    unknown = [call for call in turn.calls if call.name not in NAMES] + list(turn.unknown)
    assert pairs(known) == pairs(end["calls"])
    assert pairs(unknown) == pairs(end.get("unknown", []))
    assert len({call.id for call in turn.calls}) == len(turn.calls)

    assert (turn.end is not None) == end["done"]
    assert (turn.end.reason if turn.end else None) == end["done_reason"]
    assert (taken.failure.kind if taken.failure else turn.problem) in (
        end["error"],
        *end.get("error_alt", ()),
    )
    assert bool(turn.bad_lines) == (end["notice"] == "bad_line")
    if taken.failure:
        assert end.get("error_contains", "") in str(taken.failure)
        assert (taken.failure.retry == "none") == (end["retry"] == "none")
