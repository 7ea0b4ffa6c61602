"""The agentic loop: ask the model, run the tools it calls, ask again, until it answers."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.chat import Call, ChatRequest, ChatServer, ModelFailure, Think
from agent.events import Event, Failed, Finished, Message, Notice, Retry, RunStarted, Text, Usage
from agent.settings import Settings
from agent.steps import run_steps
from agent.structured import StructuredOutput
from agent.turn import Turn, take_turn
from locales import Locale
from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.pagination import parse_paged_result
from tools.helper.text_cut import cut_end
from tools.registry import ToolRegistry
from tools.tool import Document, Source, ToolContext, ToolResult

_USEFUL_CHARS = 500
"""With less room than this for a result, another call teaches the model nothing."""

_CALLS = 20
"""Calls of one turn that are run: a model that makes more goes round in circles."""

_SHORTEST = 200
"""Characters that every result may have: room for its beginning and for the mark that it was cut."""


@dataclass(frozen=True)
class Setup:
    """What a run works with. `tools` are the canonical names that are offered; none = plain chat.

    With `structured`, the model knows no tools and chooses them by structured output; with `vision` it is
    sent the images of the conversation.
    """

    server: ChatServer
    model: str
    registry: ToolRegistry
    settings: Settings
    context: ToolContext
    tools: tuple[str, ...] = ()
    system: str = ""
    num_ctx: int = 16384
    think: Think = None
    structured: StructuredOutput | None = None
    vision: bool = False


def run(setup: Setup, messages: Sequence[Message], cancel: Cancel) -> Iterator[Event]:
    """Answer the last of `messages`; they are a conversation without its system message.

    Ends within a second after `cancel` is set, from any thread; the last event is always Finished.
    """
    return _Run(setup, messages, cancel).events()


@dataclass
class _Run:
    setup: Setup
    messages: Sequence[Message]
    cancel: Cancel
    added: list[Message] = field(default_factory=list)
    answer: str = ""
    sources: dict[str, Source] = field(default_factory=dict)
    documents: list[Document] = field(default_factory=list)
    result_chars: int = 0

    def events(self) -> Iterator[Event]:
        offered = self.setup.registry.offer(self.setup.tools, self.setup.context.locale)
        yield RunStarted(self.setup.model, tuple(tool["function"]["name"] for tool in offered))
        try:
            yield from self._rounds(offered)
        except ModelFailure as failure:
            if failure.partial:
                self._said(failure.partial.text, failure.partial.thinking)
            yield self._failed(failure, failure.retry)
        yield Finished(
            self.answer,
            tuple(self.sources.values()),
            tuple(self.documents),
            tuple(self.added),
            stopped=self.cancel.is_set(),
        )

    def _rounds(self, offered: list[dict[str, Any]]) -> Iterator[Event]:
        """Turns with tools until the model answers; at a limit, one more without them."""
        limit = self.setup.settings.max_iterations
        for _ in range(limit):
            turn = yield from self._turn(offered)
            made = [*turn.calls, *turn.unknown]
            calls = made[:_CALLS]
            if not calls or self.cancel.is_set():
                yield from self._end(turn)
                return
            if len(made) > len(calls):
                yield self._notice("too_many_calls", limit=_CALLS, total=len(made))
            yield from self._act(turn, calls)
            if self.cancel.is_set():
                return
            if self.setup.structured and self.documents:
                offered = []  # asked again what to do, a small model makes the same document again
            if self._room() < _USEFUL_CHARS:
                chars = self.setup.settings.context_chars(self.setup.num_ctx)
                yield self._notice("context_budget", limit=chars)
                break
        else:
            yield self._notice("max_iterations", limit=limit)
        yield from self._closing_turn()

    def _turn(
        self, offered: list[dict[str, Any]], nudge: tuple[Message, ...] = ()
    ) -> Generator[Event, None, Turn]:
        system: list[Message] = (
            [{"role": "system", "content": self.setup.system}] if self.setup.system else []
        )
        request = ChatRequest(
            model=self.setup.model,
            messages=(*system, *map(self._remembered, self.messages), *self.added, *nudge),
            tools=tuple(offered),
            num_ctx=self.setup.num_ctx,
            think=self.setup.think,
            keep_alive=self.setup.settings.keep_alive,
        )
        take = self.setup.structured.take_turn if self.setup.structured else take_turn
        turn = yield from take(self.setup.server, request, self.cancel)
        yield from self._told_about(turn)
        return turn

    def _told_about(self, turn: Turn) -> Iterator[Event]:
        """What a person should know of a turn, beside what it said."""
        if turn.bad_lines:
            yield self._notice("bad_line")
        if turn.recovered:
            yield self._notice("recovered")
        for call in turn.unknown:
            yield self._notice("unknown_tool", name=call.name)
        if turn.broken:
            yield self._notice("broken_call")
        if turn.calls and turn.problem == "length":
            yield self._notice("cut_call")
        if turn.end:
            counts = [
                count for count in (turn.end.prompt_tokens, turn.end.answer_tokens) if count is not None
            ]
            yield Usage(
                prompt_tokens=turn.end.prompt_tokens,
                answer_tokens=turn.end.answer_tokens,
                seconds=turn.end.seconds,
                context_used=sum(counts) if counts else None,
                context_size=self.setup.num_ctx,
            )

    def _act(self, turn: Turn, calls: Sequence[Call]) -> Iterator[Event]:
        """Run the calls of a turn and put their results into the conversation."""
        self.added.append(_assistant(turn.text, turn.thinking, calls))
        share = max(self._room() // len(calls), _SHORTEST)
        room = min(self.setup.settings.result_chars(self.setup.num_ctx), share)
        context = replace(
            self.setup.context,
            max_result_chars=room,
            sources=tuple(self.sources.values()),
            cancel=self.cancel,
        )
        results = yield from run_steps(calls, self.setup.registry, context, self.cancel)
        for call, result in zip(calls, results, strict=True):
            self._take(call, result, room)
            if result.error and result.error.kind == "invalid_arguments":
                yield self._notice("invalid_arguments", name=call.name)

    def _remembered(self, message: Message) -> Message:
        """A message of an earlier run: what the model thought then is not sent again."""
        dropped = ("thinking",) if self.setup.vision else ("thinking", "images")
        return {key: value for key, value in message.items() if key not in dropped}

    def _take(self, call: Call, result: ToolResult, room: int) -> None:
        text = _fitting(result.text, room, self.setup.context.locale)
        self.result_chars += len(text)
        self.added.append({"role": "tool", "tool_name": call.name, "tool_call_id": call.id, "content": text})
        self.documents += result.documents
        for source in result.sources:
            known = self.sources.get(source.url)
            if known is None or (source.read and not known.read):
                self.sources[source.url] = source

    def _room(self) -> int:
        """Characters that the results of this run may still have."""
        return self.setup.settings.context_chars(self.setup.num_ctx) - self.result_chars

    def _closing_turn(self) -> Iterator[Event]:
        """One request without tools: whatever the limit was, there is an answer."""
        nudge = {"role": "user", "content": self.setup.context.locale("prompt.answer_now")}
        turn = yield from self._turn([], (nudge,))
        if turn.text or self.cancel.is_set():
            yield from self._end(turn)
            return
        yield self._notice("empty_final")
        findings = self._findings()
        yield Text(findings)
        self._said(findings)

    def _end(self, turn: Turn) -> Iterator[Event]:
        """Take the turn as the answer."""
        self._said(turn.text, turn.thinking)
        if turn.problem and not self.cancel.is_set():
            yield self._failed(Failure(turn.problem), "offer")

    def _said(self, text: str, thinking: str = "") -> None:
        self.answer = text
        if text:
            self.added.append(_assistant(text, thinking))

    def _findings(self) -> str:
        """What the tools brought, for when the model itself says nothing."""
        lines = [f"- [{source.title or source.url}]({source.url})" for source in self.sources.values()]
        return "\n".join(lines) or self.setup.context.locale("results.no_findings")

    def _failed(self, failure: Failure, retry: Retry) -> Failed:
        problem = failure.told(self.setup.context.locale)
        return Failed(problem.kind, problem.cause, problem.remedy, retry)

    def _notice(self, kind: str, **values: object) -> Notice:
        locale = self.setup.context.locale
        remedy = locale.get(f"notices.{kind}.remedy") or ""
        return Notice(kind, locale(f"notices.{kind}.text", **values), remedy)


def _assistant(text: str, thinking: str, calls: Sequence[Call] = ()) -> Message:
    message: Message = {"role": "assistant", "content": text}
    if thinking:
        message["thinking"] = thinking
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in calls
        ]
    return message


def _fitting(text: str, limit: int, locale: Locale) -> str:
    """A result in at most `limit` characters; a cut one says what is missing.

    One that has parts is never cut: what was cut off would be in none of them.
    """
    if len(text) <= limit:
        return text
    if parse_paged_result(text).has_more:
        return str(Failure("part_too_long", limit=limit).told(locale))[:limit]
    mark = locale("results.cut", shown=limit, total=len(text))
    end = cut_end(text, 0, max(1, limit - len(mark) - 2))
    return f"{text[:end].rstrip()}\n\n{locale('results.cut', shown=end, total=len(text))}"[:limit]
