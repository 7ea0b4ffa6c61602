"""One turn of a model, from the pieces of its stream to what the loop acts on."""

import re
import secrets
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from agent.chat import Call, ChatRequest, ChatServer, End, ModelFailure, Piece
from agent.events import TurnRewritten
from agent.ndjson import without_lone_surrogates
from agent.offered import Offered, plain_name
from agent.recover import recover
from agent.text_calls import Broken, TextCall
from agent.visible import Shown, TurnText
from tools.cancel import Cancel

Problem = Literal["empty", "thinking_only", "length"]
"""What is wrong with a turn that the server itself found nothing wrong with; told by `errors.{problem}`."""

_NO_ANSWER = ("load", "unload")
_REPETITION = re.compile(r"(\S.{0,40}?)\1{19,}.{0,40}\Z", re.DOTALL)
"""The end of a text that goes round in circles; Ollama ends such a turn without a word."""


@dataclass(frozen=True)
class Turn:
    """What a model said in one turn.

    `calls` are structured, else `recovered` from the text; `unknown` are recovered ones of tools that are
    not offered. With `broken`, there was also a call as text that can't be used. `end` is None when the
    turn was cancelled or failed; then there are no calls. `bad_lines` counts what could not be read.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    unknown: tuple[Call, ...] = ()
    broken: Broken | None = None
    recovered: bool = False
    end: End | None = None
    problem: Problem | None = None
    bad_lines: int = 0


def take_turn(server: ChatServer, request: ChatRequest, cancel: Cancel) -> Generator[Shown, None, Turn]:
    """Ask for one turn: yields what may be shown as it comes, and returns the turn.

    A ModelFailure passes through when all that came before it is shown; its `partial` is the turn so far.
    """
    pieces = _Pieces(request)
    end = None
    try:
        for item in server.stream(request, cancel):
            if isinstance(item, End):
                end = item
            else:
                yield from pieces.add(item)
    except ModelFailure as failure:
        yield from pieces.shown.close()
        turn = pieces.turn(None)
        if failure.kind == "cut" and _REPETITION.search(turn.text[-2000:]):
            failure.kind = "repetition"
        failure.partial = turn
        raise
    yield from pieces.shown.close()
    turn = pieces.turn(end)
    if (turn.text, turn.thinking) != (pieces.shown.visible, pieces.shown.thinking):
        yield TurnRewritten(turn.text, turn.thinking)
    return turn


class _Pieces:
    """What came of a turn so far."""

    def __init__(self, request: ChatRequest) -> None:
        self._tools = request.tools
        self._offered = Offered(request.tools)
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Call] = []
        self._bad_lines = 0
        self.shown = TurnText(self._offered)

    def add(self, piece: Piece) -> list[Shown]:
        """Take a piece; returns what may be shown of it."""
        self._text.append(piece.text)
        self._thinking.append(piece.thinking)
        self._calls += map(self._named, piece.calls)
        self._bad_lines += bool(piece.bad_line)
        return self.shown.feed(piece.text, piece.thinking)

    def turn(self, end: End | None) -> Turn:
        said = recover("".join(self._text), "".join(self._thinking), self._tools)
        turn = Turn(said.visible, said.thinking, broken=said.broken, end=end, bad_lines=self._bad_lines)
        if end is None:
            return turn
        if self._calls:
            turn = replace(turn, calls=tuple(map(_tellable, self._calls)))
        else:
            calls, unknown = _with_ids(said.calls), _with_ids(said.unknown)
            turn = replace(turn, calls=calls, unknown=unknown, recovered=bool(calls))
        return replace(turn, problem=_problem(turn, end))

    def _named(self, call: Call) -> Call:
        """The call under its tool's name: gpt-oss writes `web_search<|channel|>commentary`."""
        return replace(call, name=self._offered.known(call.name) or plain_name(call.name) or call.name)


def _with_ids(calls: Iterable[TextCall]) -> tuple[Call, ...]:
    made = (Call(f"call_{secrets.token_hex(4)}", call.name, call.arguments) for call in calls)
    return tuple(map(_tellable, made))


def _tellable(call: Call) -> Call:
    """The call as UTF-8 can tell it: arguments that came as JSON text may hold half a character."""
    name, arguments = without_lone_surrogates([call.name, call.arguments])
    return replace(call, name=name, arguments=arguments)


def _problem(turn: Turn, end: End) -> Problem | None:
    if end.reason == "length":
        return "length"
    if turn.text or turn.calls or turn.unknown or turn.broken or end.reason in _NO_ANSWER:
        return None
    return "thinking_only" if turn.thinking else "empty"
