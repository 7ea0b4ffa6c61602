"""Tools by structured output: a model without tools, the real tools, and a scripted Ollama."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pypdf import PdfReader

from agent.assistant import Assistant, Choice
from agent.config_file import SettingsStore
from agent.events import Event, Failed, Finished, Notice, RunStarted, StepFinished, StepStarted, Text
from agent.structured import plain_messages
from locales import load_locale
from tests.servers.__main__ import demo_config
from tests.servers.ollama import ScriptedOllama, Turn, call, fail, finish, hang, say
from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite
from tools.tool import LOCAL_OWNER

MODEL = "llama2:13b"
ON = Choice(MODEL, structured=True)


class World:
    """An assistant on scripted servers."""

    def __init__(self, folder: Path, ollama: ScriptedOllama, site: ScriptedSite, searxng: str) -> None:
        self.ollama = ollama
        self.site = site
        self.config = demo_config(folder, ollama.url, searxng)
        self.assistant = Assistant(SettingsStore(self.config))
        self.conversation = self.assistant.conversations.start("test")

    def ask(
        self, *chat: Turn, question: str = "What is the AI news?", choice: Choice = ON, language: str = "en"
    ) -> list[Event]:
        self.ollama.play(chat)
        locale = load_locale(language)
        job = self.assistant.ask(self.conversation, question, choice, LOCAL_OWNER, locale)
        return list(job.follow())

    @property
    def sent(self) -> list[dict]:
        return self.ollama.chats

    def pdf(self, events: Sequence[Event]) -> str:
        """The text of the document that the run made."""
        [document] = finished(events).documents
        reader = PdfReader(self.assistant.documents.path(LOCAL_OWNER, document.name))
        return "\n".join(page.extract_text() for page in reader.pages)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with (
        ScriptedOllama([MODEL, "qwen2.5:14b"]) as ollama,
        ScriptedSite() as site,
        ScriptedSearxng(site.search_results()) as searxng,
    ):
        yield World(tmp_path, ollama, site, searxng.url)


TOOLS = ["web_search", "scrape_url", "pdf_to_text", "search_and_fetch", "create_pdf", "answer"]


def finished(events: Sequence[Event]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


def act(tool: str, **arguments: object) -> Turn:
    """The model chooses an action."""
    return say(json.dumps({"tool": tool, **arguments}))


def actions(request: dict) -> dict[str, dict]:
    """The properties of each action that a request lets the model choose."""
    options = (option["properties"] for option in request["format"]["anyOf"])
    return {properties["tool"]["enum"][0]: properties for properties in options}


def test_search_reading_and_pdf_run_through_format(world: World):
    page = f"{world.site.url}/actualites-ia.html"
    events = world.ask(
        act("web_search", query="AI news"),
        act("scrape_url", url=page),
        act("create_pdf", title="AI news"),
        say(f"## Chips\n\nA frugal chip. Source: {page}"),
        say("The report is ready."),
        question="Make me a PDF report on the AI news",
    )
    assert [event.label.split()[0] for event in events if isinstance(event, StepStarted)] == [
        "🔍",
        "📖",
        "📄",
    ]
    assert not any(event.result.error for event in events if isinstance(event, StepFinished))
    assert finished(events).answer == "The report is ready."
    assert "A frugal chip." in world.pdf(events)
    assert [source.url for source in finished(events).sources if source.read] == [page]

    assert all("tools" not in request for request in world.sent)
    choices, texts = world.sent[:3], world.sent[3:]
    for request in choices:
        assert list(actions(request)) == TOOLS
        assert "markdown" not in actions(request)["create_pdf"]
    assert not any("format" in request for request in texts)
    for request in world.sent:
        roles = [message["role"] for message in request["messages"] if message["role"] != "system"]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert "[scrape_url" in choices[2]["messages"][-1]["content"]
    assert "## heading" in texts[0]["messages"][-1]["content"]


def test_the_choice_is_not_shown_the_answer_is(world: World):
    events = world.ask(act("answer"), say("Nothing new."))
    assert "".join(event.text for event in events if isinstance(event, Text)) == "Nothing new."
    assert isinstance(events[0], RunStarted) and "web_search" in events[0].tools


def test_off_unless_switched_on(world: World):
    events = world.ask(say("Just chat."), choice=Choice(MODEL))
    assert finished(events).answer == "Just chat."
    assert "format" not in world.sent[0] and "tools" not in world.sent[0]


def test_the_settings_switch_it_on_for_a_model(world: World):
    world.assistant.store.save({"structured_output": [MODEL]})
    world.ask(act("answer"), say("Yes."), choice=Choice(MODEL))
    assert "format" in world.sent[0]
    assert SettingsStore(world.config).current.structured_output == (MODEL,)


def test_a_model_with_tools_is_given_tools_whatever_the_switch_says(world: World):
    world.ask(say("Yes."), choice=Choice("qwen2.5:14b", structured=True))
    assert "tools" in world.sent[0] and "format" not in world.sent[0]


def test_only_the_tools_that_are_on_can_be_chosen(world: World):
    world.ask(act("answer"), say("Yes."), choice=Choice(MODEL, ("scrape_url",), structured=True))
    assert list(actions(world.sent[0])) == ["scrape_url", "answer"]
    assert "create_pdf" not in json.dumps(world.sent[0])


def test_french_names(world: World):
    events = world.ask(
        act("creer_pdf", titre="La Lune"),
        say("## Orbite\n\nElle tourne."),
        say("Voilà."),
        question="Fais-moi un PDF sur la lune",
        language="fr",
    )
    assert list(actions(world.sent[0])) == [
        "rechercher_web",
        "lire_page",
        "lire_pdf",
        "chercher_fichiers",
        "creer_pdf",
        "answer",
    ]
    assert "Elle tourne." in world.pdf(events)


@pytest.mark.parametrize(
    "written", ["no JSON at all", '{"tool": "delete_everything"}', "[1]", '{"tool": "web']
)
def test_an_action_that_can_not_be_read_is_told_and_answered(world: World, written: str):
    events = world.ask(say(written), say("An answer all the same."))
    assert [event.kind for event in events if isinstance(event, Notice)] == ["broken_call"]
    assert finished(events).answer == "An answer all the same."


def test_the_same_call_again_leads_to_the_answer(world: World):
    events = world.ask(act("web_search", query="AI"), act("web_search", query="AI"), say("From the results."))
    assert len([event for event in events if isinstance(event, StepStarted)]) == 1
    assert finished(events).answer == "From the results."


def test_wrong_arguments_are_told_to_the_model(world: World):
    events = world.ask(act("scrape_url"), act("answer"), say("I can't read it."))
    assert [event.kind for event in events if isinstance(event, Notice)] == ["invalid_arguments"]
    assert "url" in world.sent[1]["messages"][-1]["content"]


def test_a_document_that_was_cut_is_made_and_told(world: World):
    events = world.ask(
        act("create_pdf", title="Long"),
        say("It begins and") + finish("length"),
        say("Made."),
        question="A PDF",
    )
    assert "cut_call" in [event.kind for event in events if isinstance(event, Notice)]
    assert "It begins and" in world.pdf(events)


def test_a_server_that_fails_between_choice_and_text(world: World):
    events = world.ask(act("create_pdf", title="X"), fail(500, "llama runner process has terminated"))
    assert [event.kind for event in events if isinstance(event, Failed)] == ["server_error"]
    assert not finished(events).documents


@pytest.mark.parametrize("chat", [[hang(60)], [act("create_pdf", title="X"), say("It begins") + hang(60)]])
def test_stop(world: World, chat: list[Turn]):
    world.ollama.play(chat)
    locale = load_locale("en")
    job = world.assistant.ask(world.conversation, "A PDF", ON, LOCAL_OWNER, locale)
    events = []
    for event in job.follow():
        events.append(event)
        if len(chat) == 1 or isinstance(event, Text):
            job.stop()
    assert finished(events).stopped and not finished(events).documents


def test_what_another_model_did_with_tools_is_told_as_text(world: World):
    world.ask(
        call("web_search", {"query": "AI"}), say("A chip."), choice=Choice("qwen2.5:14b"), question="News?"
    )
    world.ask(say("Thanks."), choice=Choice(MODEL), question="Thanks")
    messages = world.sent[-1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"].startswith('News?\n\n[web_search {"query": "AI"}]\n')
    assert messages[1]["content"] == "A chip." and messages[2]["content"] == "Thanks"


def test_questions_without_an_answer_are_joined():
    asked = [{"role": "user", "content": "One"}, {"role": "user", "content": "Two"}]
    assert plain_messages(asked) == ({"role": "user", "content": "One\n\nTwo"},)
