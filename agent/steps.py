"""The tool calls of one turn: run, told as steps, and answered in order."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent.chat import Call
from agent.events import Event, StepFinished, StepProgress, StepStarted
from locales import Locale
from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.pagination import address_in
from tools.registry import ToolRegistry, failed
from tools.tool import ToolContext, ToolResult

SIDE_BY_SIDE = 4
_LABEL_CHARS = 150
_DEFAULT_SECONDS = 60.0


@dataclass(frozen=True)
class _Told:
    """What a step's thread reports: a progress text, or its result."""

    index: int
    progress: str = ""
    result: ToolResult | None = None


def run_steps(
    calls: Sequence[Call], registry: ToolRegistry, context: ToolContext, cancel: Cancel
) -> Generator[Event, None, list[ToolResult]]:
    """Run the calls; returns their results in the order of the calls.

    Neighbouring read-only calls run side by side, others alone. When `cancel` is set, or a call takes
    longer than its tool may, its step is closed at once and its thread is left behind, cancelled.
    """
    results: list[ToolResult] = []
    for read_only, group in groupby(calls, key=lambda call: _read_only(registry, call)):
        batch = list(group)
        size = SIDE_BY_SIDE if read_only else 1
        for start in range(0, len(batch), size):
            steps = _Steps(batch[start : start + size], registry, context, cancel)
            results += yield from steps.run()
    return results


def _read_only(registry: ToolRegistry, call: Call) -> bool:
    tool = registry.find(call.name)
    return tool is None or tool.read_only


class _Steps:
    """A few calls that run at the same time."""

    def __init__(
        self, calls: Sequence[Call], registry: ToolRegistry, context: ToolContext, cancel: Cancel
    ) -> None:
        self._calls = calls
        self._registry = registry
        self._context = context
        self._cancel = cancel
        self._told: queue.SimpleQueue[_Told | None] = queue.SimpleQueue()
        self._cancels = [Cancel() for _ in calls]
        self._results: dict[int, ToolResult] = {}
        self._began = time.monotonic()

    def run(self) -> Generator[Event, None, list[ToolResult]]:
        if not self._cancel.is_set():
            yield from self._start()
            with self._cancel.calling(lambda: self._told.put(None)):
                yield from self._follow()
        stopped = failed(Failure("stopped"), self._context.locale)
        return [self._results.get(index, stopped) for index in range(len(self._calls))]

    def _start(self) -> Iterator[Event]:
        for index, call in enumerate(self._calls):
            yield _started(call, self._registry, self._context.locale)
            threading.Thread(target=self._execute, args=(index,), name=call.name, daemon=True).start()

    def _execute(self, index: int) -> None:
        call, mine = self._calls[index], self._cancels[index]
        context = replace(
            self._context,
            cancel=mine,
            progress=lambda text: self._told.put(_Told(index, progress=text)),
        )
        result = self._registry.execute(call.name, call.arguments, context)
        self._told.put(_Told(index, result=result))

    def _follow(self) -> Iterator[Event]:
        """Tell what the threads report until each call has its result."""
        while len(self._results) < len(self._calls):
            if self._cancel.is_set():
                yield from self._close(lambda index: Failure("stopped"), set(range(len(self._calls))))
                return
            overdue = {index for index in self._running() if self._left(index) <= 0}
            yield from self._close(self._timeout, overdue)
            if not (running := self._running()):
                return
            try:
                told = self._told.get(timeout=max(0.01, min(self._left(index) for index in running)))
            except queue.Empty:
                continue
            if told and told.index not in self._results:
                yield self._report(told)

    def _report(self, told: _Told) -> Event:
        step = self._calls[told.index].id
        if told.result is None:
            return StepProgress(step, told.progress)
        self._results[told.index] = told.result
        return StepFinished(step, told.result, self._seconds())

    def _close(self, failure: Callable[[int], Failure], indexes: set[int]) -> Iterator[Event]:
        """Close running steps with a failure, and cancel what their threads are doing."""
        for index in sorted(indexes & set(self._running())):
            self._results[index] = failed(failure(index), self._context.locale)
            self._cancels[index].set()
            yield StepFinished(self._calls[index].id, self._results[index], self._seconds())

    def _running(self) -> list[int]:
        return [index for index in range(len(self._calls)) if index not in self._results]

    def _left(self, index: int) -> float:
        return self._allowed(index) - self._seconds()

    def _allowed(self, index: int) -> float:
        tool = self._registry.find(self._calls[index].name)
        return tool.seconds if tool else _DEFAULT_SECONDS

    def _timeout(self, index: int) -> Failure:
        return Failure("tool_timeout", name=self._calls[index].name, seconds=round(self._allowed(index)))

    def _seconds(self) -> float:
        return time.monotonic() - self._began


def _started(call: Call, registry: ToolRegistry, locale: Locale) -> StepStarted:
    """The step as a person reads it: the tool's verb and the argument that matters."""
    tool = registry.find(call.name)
    if tool is None:
        return StepStarted(
            call.id, call.name, call.arguments, locale("steps.unknown", name=_short(call.name))
        )
    given = registry.named_arguments(call.name, call.arguments)
    if address := address_in(str(given.get("continue_from", ""))):
        label = locale("steps.reading_on", url=_short(address))
    else:
        shown = {name: _short(given.get(name, "…")) for name in tool.arguments.model_fields}
        label = locale(f"steps.{tool.name}", **shown)
    return StepStarted(call.id, tool.name, call.arguments, label)


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LABEL_CHARS else text[: _LABEL_CHARS - 1] + "…"
