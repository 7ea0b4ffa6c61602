"""Tool calls of one turn: side by side or alone, in order, and closed whatever happens."""

import threading
import time

from agent.chat import Call
from agent.events import StepFinished, StepProgress, StepStarted
from agent.steps import run_steps
from locales import load_locale
from tools.cancel import Cancel
from tools.registry import ToolRegistry
from tools.tool import Arguments, Tool, ToolContext, ToolResult

WALL = 20.0


class Search(Arguments):
    query: str
    max_results: int = 0


class Write(Arguments):
    title: str
    markdown: str = ""


def registry(search, write=lambda a, c: ToolResult("written"), seconds=WALL):
    return ToolRegistry(
        [
            Tool("web_search", search, Search, read_only=True, seconds=seconds),
            Tool("create_pdf", write, Write, read_only=False, seconds=seconds),
        ]
    )


def searches(*queries):
    return [Call(f"call_{number}", "web_search", {"query": query}) for number, query in enumerate(queries)]


def drain(generator):
    """The events, and what the generator returned."""
    events = []
    while True:
        try:
            events.append(next(generator))
        except StopIteration as end:
            return events, end.value


def steps(events):
    started = [event.id for event in events if isinstance(event, StepStarted)]
    finished = [event.id for event in events if isinstance(event, StepFinished)]
    return started, finished


def test_reading_calls_run_side_by_side_and_answer_in_order():
    together = threading.Barrier(3, timeout=WALL)

    def search(arguments, context):
        together.wait()  # passes only if all three run at the same time
        time.sleep({"a": 0.06, "b": 0.03, "c": 0}[arguments.query])
        return ToolResult(arguments.query)

    events, results = drain(run_steps(searches("a", "b", "c"), registry(search), ToolContext(), Cancel()))
    assert [result.text for result in results] == ["a", "b", "c"]
    started, finished = steps(events)
    assert started == ["call_0", "call_1", "call_2"]
    assert sorted(finished) == started


def test_at_most_four_at_a_time():
    running, most, lock = 0, 0, threading.Lock()

    def search(arguments, context):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return ToolResult(arguments.query)

    _, results = drain(run_steps(searches(*"abcdefghi"), registry(search), ToolContext(), Cancel()))
    assert [result.text for result in results] == list("abcdefghi")
    assert 2 <= most <= 4


def test_writing_calls_run_alone_and_after_what_came_before():
    log = []

    def search(arguments, context):
        time.sleep(0.02)
        log.append(arguments.query)
        return ToolResult("")

    def write(arguments, context):
        log.append(arguments.title)
        return ToolResult("")

    calls = [
        *searches("a", "b"),
        Call("w", "create_pdf", {"title": "PDF"}),
        Call("z", "web_search", {"query": "c"}),
    ]
    drain(run_steps(calls, registry(search, write), ToolContext(), Cancel()))
    assert sorted(log[:2]) == ["a", "b"] and log[2:] == ["PDF", "c"]


def test_label_is_the_line_that_people_read():
    french = ToolContext(locale=load_locale("fr"))
    calls = [
        Call("1", "rechercher_web", {"requete": "actualités\n IA"}),
        Call("2", "creer_pdf", {"titre": "La photosynthèse", "contenu_markdown": "# x"}),
        Call("3", "web_search", {}),
        Call("4", "naviguer", {}),
    ]
    events, _ = drain(run_steps(calls, registry(lambda a, c: ToolResult("")), french, Cancel()))
    labels = {event.id: event.label for event in events if isinstance(event, StepStarted)}
    assert labels["1"] == '🔍 Recherche web : "actualités IA"'
    assert labels["2"] == '📄 Génération du PDF "La photosynthèse"...'
    assert labels["3"] == '🔍 Recherche web : "…"'
    assert "naviguer" in labels["4"]


def test_progress_is_told_before_the_end():
    def search(arguments, context):
        context.progress("half way")
        return ToolResult("")

    events, _ = drain(run_steps(searches("a"), registry(search), ToolContext(), Cancel()))
    assert [type(event) for event in events] == [StepStarted, StepProgress, StepFinished]
    assert events[1].text == "half way"


def test_cancel_closes_every_step_at_once_and_wakes_the_tools():
    cancel, woken = Cancel(), threading.Event()

    def search(arguments, context):
        if context.cancel.wait(WALL):
            woken.set()
        return ToolResult("too late")

    generator = run_steps(
        [*searches("a", "b"), Call("w", "create_pdf", {"title": "t"})],
        registry(search),
        ToolContext(),
        cancel,
    )
    threading.Timer(0.1, cancel.set).start()
    began = time.monotonic()
    events, results = drain(generator)
    assert time.monotonic() - began < WALL / 2
    assert woken.wait(WALL)
    started, finished = steps(events)
    assert started == ["call_0", "call_1"] and sorted(finished) == started
    assert [result.error.kind for result in results if result.error] == ["stopped"] * 3


def test_nothing_begins_when_it_is_cancelled_already():
    cancel = Cancel()
    cancel.set()
    events, results = drain(run_steps(searches("a"), registry(lambda a, c: 1 / 0), ToolContext(), cancel))
    assert events == []
    assert results[0].error and results[0].error.kind == "stopped"


def test_a_tool_that_takes_too_long_costs_its_own_step_only():
    def search(arguments, context):
        if arguments.query == "slow":
            context.cancel.wait(WALL)
        return ToolResult(arguments.query)

    events, results = drain(
        run_steps(searches("slow", "quick"), registry(search, seconds=0.2), ToolContext(), Cancel())
    )
    assert results[0].error and results[0].error.kind == "tool_timeout"
    assert results[1].text == "quick"
    started, finished = steps(events)
    assert sorted(started) == sorted(finished)


def test_unknown_and_wrong_calls_are_steps_that_fail():
    calls = [Call("1", "browse", {}), Call("2", "web_search", {})]
    events, results = drain(run_steps(calls, registry(lambda a, c: ToolResult("")), ToolContext(), Cancel()))
    assert [result.error.kind for result in results if result.error] == ["unknown_tool", "invalid_arguments"]
    assert len(events) == 4
