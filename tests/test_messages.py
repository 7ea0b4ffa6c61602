"""Events folded into what the chat shows."""

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.events import (
    Failed,
    Finished,
    Notice,
    RunStarted,
    StepFinished,
    StepProgress,
    StepStarted,
    Text,
    Thinking,
    TurnRewritten,
)
from locales import load_locale
from tools.failure import Failure, Problem
from tools.tool import Document, Source, ToolResult
from ui.messages import RunView, size

FR = load_locale("fr")
DOCUMENT = Document("20261130-120000_x.pdf", "Mon *titre*", 2, 34_000, datetime(2026, 11, 30))
PAGE = Source("https://a.example", "A", read=True)


def view(*events):
    shown = RunView(FR, "run-0")
    shown.apply(events)
    return shown.messages()


def unescaped(markdown):
    """The text that Markdown shows: a backslash before punctuation is not seen."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)


def texts(messages):
    return ["".join(unescaped(block["text"]) for block in message["content"]) for message in messages]


def titles(messages):
    return [unescaped(message["metadata"]["title"]) for message in messages if "metadata" in message]


def statuses(messages):
    return [message["metadata"]["status"] for message in messages if "metadata" in message]


STEP = StepStarted("c1", "web_search", {"requete": "IA"}, '🔍 Recherche web : "IA"')
DONE = StepFinished("c1", ToolResult("[1] Titre", sources=(PAGE,)), 1.2)
END = Finished("Voilà.", (PAGE,), (), ())


def test_before_anything_is_said_the_chat_shows_that_it_is_waiting():
    [waiting] = view(RunStarted("m", ()))
    assert waiting["metadata"]["status"] == "pending"
    assert waiting["metadata"]["title"] == FR("ui.waiting")


def test_answer_streams_as_plain_text():
    [answer] = view(RunStarted("m", ()), Text("Bon"), Text("jour"))
    assert texts([answer]) == ["Bonjour"] and "metadata" not in answer


def test_a_running_step_is_open_and_the_whole_is_folded_at_the_end():
    running = view(RunStarted("m", ()), STEP)
    assert titles(running) == [FR("ui.working"), '🔍 Recherche web : "IA"']
    assert statuses(running) == ["pending", "pending"]
    assert running[1]["metadata"]["parent_id"] == running[0]["metadata"]["id"]
    done = view(RunStarted("m", ()), STEP, DONE, Text("Voilà."), END)
    assert titles(done)[0] == "1 étape · 1 s · 1 source"
    assert set(statuses(done)) == {"done"}
    assert texts(done)[-1] == "Voilà."


def test_a_step_holds_its_arguments_and_what_the_model_read():
    body = texts(view(STEP, DONE))[1]
    assert '"requete": "IA"' in body and "[1] Titre" in body


def test_fences_in_a_result_do_not_end_its_block():
    body = texts(view(STEP, StepFinished("c1", ToolResult("a\n```\nb\n````\nc"), 0.1)))[1]
    assert body.endswith("`````text\na\n```\nb\n````\nc\n`````")


def test_a_failed_step_says_why_and_what_to_do():
    error = Problem("x", "Cause.", "Remède.")
    messages = view(STEP, StepFinished("c1", ToolResult("Error", error=error), 0.5))
    assert messages[1]["metadata"]["log"] == "✗ Cause."
    assert "Cause" in texts(messages)[1] and "Remède" in texts(messages)[1]


def test_text_before_a_step_moves_on_the_way():
    messages = view(Text("Je cherche."), STEP, DONE, Text("Voilà."), END)
    assert titles(messages)[1] == FR("ui.said")
    assert texts(messages)[1] == "Je cherche."
    assert texts(messages)[-1] == "Voilà."


def test_thinking_is_folded_away_and_put_right_when_only_the_end_tells():
    messages = view(Thinking("hm"), Thinking("m"), Text("4"), END)
    assert texts(messages) == ["", "hmm", "4"]
    moved = view(Text("The capital"), TurnRewritten("Brasília.", "The capital moved."), END)
    assert texts(moved) == ["", "The capital moved.", "Brasília."]


def test_notice_failure_and_card():
    messages = view(
        STEP,
        StepFinished("c1", ToolResult("ok", documents=(DOCUMENT,)), 0.1),
        Notice("max_iterations", "Limite atteinte : 10", "Continuez"),
        Text("Bilan"),
        Failed("cut", "Coupé.", "Réessayez.", "offer"),
        END,
    )
    shown = texts(messages)
    assert shown[2].startswith("⚠️ Limite atteinte : 10 Continuez")
    assert shown[3] == "Bilan"
    assert shown[4].startswith("❌ Coupé")
    card, facts = shown[5].split("\n")
    assert card == '[📄 Télécharger le PDF](pdfs/20261130-120000_x.pdf "20261130-120000_x.pdf")'
    assert facts == "Mon *titre* · 2 pages · 34 kB"


def test_stopped_before_the_first_word():
    assert texts(view(RunStarted("m", ()), Finished("", (), (), (), stopped=True))) == [FR("ui.stopped")]
    assert texts(view(RunStarted("m", ()), Finished("", (), (), ()))) == [FR("ui.no_answer")]


def test_titles_show_marks_as_they_stand():
    [_, step] = view(StepStarted("c", "web_search", {}, "🔍 *a* <b> [x](y) `z`"))
    assert step["metadata"]["title"] == r"🔍 \*a\* \<b\> \[x\]\(y\) \`z\`"


EVENTS = st.lists(
    st.one_of(
        st.builds(Text, st.text(max_size=5)),
        st.builds(Thinking, st.text(max_size=5)),
        st.builds(TurnRewritten, st.text(max_size=5), st.text(max_size=5)),
        st.sampled_from([STEP, Notice("k", "t"), Failed("k", "t", "r", "none")]),
    ),
    max_size=12,
)


@given(EVENTS)
def test_nothing_turns_on_after_the_end(events):
    shown = RunView(FR, "run-0")
    opened = False
    for event in events:
        if event is STEP and opened:
            continue
        opened = opened or event is STEP
        shown.apply([event])
        assert shown.messages()
    if opened:
        shown.apply([StepProgress("c1", "…"), DONE])
    shown.apply([END])
    assert "pending" not in statuses(shown.messages())


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (34_000, "34 kB"), (9_000_000_000, "9.0 GB")],
)
def test_sizes(count, shown):
    assert size(count) == shown


def test_every_failure_reads_well_in_a_message():
    told = str(Failure("not_owner").told(FR))
    assert told.endswith(".") and "  " not in told
