"""The loop: real tools, a real client, and a scripted Ollama, SearXNG and web site."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pypdf import PdfReader

from agent.chat import OllamaChat
from agent.events import (
    Event,
    Failed,
    Finished,
    Notice,
    RunStarted,
    StepFinished,
    StepStarted,
    Text,
    Usage,
)
from agent.loop import Setup, run
from agent.prompt import system_prompt
from agent.settings import Settings
from locales import load_locale
from tests.servers.ollama import ScriptedOllama, Turn, call, calls, cut, error_line, fail, finish, hang, say
from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite
from tools.cancel import Cancel
from tools.documents import DocumentStore
from tools.registry import default_registry
from tools.tool import ToolContext

MODEL = "qwen2.5:14b"
ALL = ("web_search", "scrape_url", "create_pdf")
WALL = 20.0


class World:
    """Everything around the loop."""

    def __init__(self, folder: Path, site: ScriptedSite, searxng: ScriptedSearxng) -> None:
        self.site = site
        self.searxng = searxng
        self.documents = DocumentStore(folder)
        self.ollama: ScriptedOllama | None = None

    def ask(
        self,
        chat: Turn | Sequence[Turn],
        question: str = "Quelles sont les news IA ?",
        *,
        tools: Sequence[str] = ALL,
        history: Sequence[dict] = (),
        cancel: Cancel | None = None,
        language: str = "fr",
        num_ctx: int = 16384,
        **settings,
    ) -> list[Event]:
        with ScriptedOllama([MODEL], chat) as self.ollama:
            return list(
                self.events(question, tools, history, cancel or Cancel(), language, num_ctx, settings)
            )

    def events(self, question, tools, history, cancel, language, num_ctx, settings) -> Iterator[Event]:
        assert self.ollama
        chosen = Settings(
            ollama_url=self.ollama.url,
            searxng_url=self.searxng.url,
            search_backend="searxng",
            allow_hosts=("127.0.0.1",),
            **settings,
        )
        locale = load_locale(language)
        setup = Setup(
            server=OllamaChat(self.ollama.url),
            model=MODEL,
            registry=default_registry(),
            settings=chosen,
            context=ToolContext(settings=chosen, locale=locale, documents=self.documents),
            tools=tuple(tools),
            system=system_prompt(locale, tools),
            num_ctx=num_ctx,
        )
        yield from run(setup, [*history, {"role": "user", "content": question}], cancel)

    @property
    def sent(self) -> list[dict]:
        """The requests to /api/chat."""
        assert self.ollama
        return self.ollama.chats


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ScriptedSite() as site, ScriptedSearxng(site.search_results()) as searxng:
        yield World(tmp_path / "pdfs", site, searxng)


def of(kind: type, events: Sequence[Event]) -> list:
    return [event for event in events if isinstance(event, kind)]


def answer(events: Sequence[Event]) -> str:
    assert isinstance(events[-1], Finished)
    return events[-1].answer


def search(query: str = "IA") -> Turn:
    return call("rechercher_web", {"requete": query})


def test_plain_answer(world: World):
    events = world.ask(say("Bonjour !"), "Salut")
    assert isinstance(events[0], RunStarted)
    assert events[0].tools == ("rechercher_web", "lire_page", "creer_pdf")
    assert "".join(event.text for event in of(Text, events)) == answer(events) == "Bonjour !"
    [usage] = of(Usage, events)
    assert usage.prompt_tokens and usage.answer_tokens and usage.context_size == 16384


def test_whole_job_search_reading_pdf(world: World):
    page = f"{world.site.url}/actualites-ia.html"
    events = world.ask(
        [
            say("Je cherche.") + search("actualités IA"),
            call("lire_page", {"url": page}),
            call(
                "creer_pdf",
                {"titre": "News IA", "contenu_markdown": f"# News IA\n\nPuce sobre. Source : {page}"},
            ),
            say("Le rapport est prêt."),
        ],
        "Fais-moi un rapport PDF sur les dernières news IA",
    )
    assert [step.label.split()[0] for step in of(StepStarted, events)] == ["🔍", "📖", "📄"]
    finished = events[-1]
    assert isinstance(finished, Finished) and finished.answer == "Le rapport est prêt."
    read = [source.url for source in finished.sources if source.read]
    assert read == [page]
    [document] = finished.documents
    text = PdfReader(world.documents.path("local", document.name)).pages[0].extract_text()
    assert "Puce sobre" in text and page in text


def test_results_go_back_in_order_with_their_ids(world: World):
    urls = [f"{world.site.url}/{name}" for name in ("ai-news.html", "missing.html", "photosynthesis.html")]
    world.ask([calls(*(("lire_page", {"url": url}) for url in urls)), say("Lu.")])
    assistant, *results = world.sent[1]["messages"][2:]
    assert [call["function"]["arguments"]["url"] for call in assistant["tool_calls"]] == urls
    assert [m["tool_call_id"] for m in results] == [call["id"] for call in assistant["tool_calls"]]
    assert all(m["role"] == "tool" and m["tool_name"] == "lire_page" for m in results)
    assert "HTTP 404" in results[1]["content"]


def test_every_request_asks_for_the_same_window(world: World):
    world.ask([search(), search("b"), say("Fini.")], num_ctx=8192)
    assert {request["options"]["num_ctx"] for request in world.sent} == {8192}
    assert all(request["stream"] for request in world.sent)


def test_system_message_is_the_first_and_only_one(world: World):
    world.ask(
        [search(), say("Fini.")],
        history=[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
    )
    for request in world.sent:
        roles = [message["role"] for message in request["messages"]]
        assert roles[0] == "system" and roles.count("system") == 1
        assert "rechercher_web" in request["messages"][0]["content"]


def test_no_tools_means_plain_chat(world: World):
    events = world.ask(say("Bonjour."), tools=())
    assert "tools" not in world.sent[0]
    assert world.sent[0]["messages"] == [{"role": "user", "content": "Quelles sont les news IA ?"}]
    assert answer(events) == "Bonjour."


def test_only_enabled_tools_are_sent(world: World):
    world.ask(say("Bonjour."), tools=("create_pdf",))
    assert [tool["function"]["name"] for tool in world.sent[0]["tools"]] == ["creer_pdf"]


def test_a_model_that_never_stops_searching_is_stopped_with_an_answer(world: World):
    turns = [*[search(f"encore {number}") for number in range(10)], say("Voici ce que j'ai trouvé.")]
    events = world.ask(turns)
    assert len(of(StepStarted, events)) == 10
    [notice] = of(Notice, events)
    assert notice.kind == "max_iterations" and "10" in notice.text and "max_iterations" in notice.text
    assert len(world.sent) == 11
    assert all("tools" in request for request in world.sent[:10])
    assert "tools" not in world.sent[10]
    assert answer(events) == "Voici ce que j'ai trouvé."


def test_limit_of_rounds_is_a_setting(world: World):
    events = world.ask([search(), search("b"), say("Bilan.")], max_iterations=2)
    assert [notice.kind for notice in of(Notice, events)] == ["max_iterations"]
    assert answer(events) == "Bilan."


def test_a_closing_turn_that_calls_again_still_ends_in_an_answer(world: World):
    text_call = '<tool_call>{"name": "rechercher_web", "arguments": {"requete": "z"}}</tool_call>'
    events = world.ask([search(), say(text_call)], max_iterations=1)
    kinds = [notice.kind for notice in of(Notice, events)]
    assert kinds[0] == "max_iterations" and kinds[-1] == "empty_final"
    assert world.site.url in answer(events)
    assert "tool_call" not in "".join(event.text for event in of(Text, events))
    assert len(of(StepStarted, events)) == 1


def test_budget_for_results_ends_the_search_with_an_answer(world: World):
    events = world.ask(
        lambda request: search("encore") if "tools" in request else say("Bilan."), max_tool_context_chars=1500
    )
    assert [notice.kind for notice in of(Notice, events)] == ["context_budget"]
    results = [m["content"] for m in world.sent[-1]["messages"] if m["role"] == "tool"]
    assert sum(map(len, results)) <= 1500
    assert answer(events) == "Bilan."


def test_no_result_is_longer_than_its_limit(world: World):
    world.ask(
        [call("lire_page", {"url": f"{world.site.url}/long.html"}), say("Lu.")], max_tool_result_chars=1200
    )
    [result] = [m["content"] for m in world.sent[1]["messages"] if m["role"] == "tool"]
    assert len(result) <= 1200
    assert "has_more: true" in result and "next_token" in result


def test_a_long_page_is_read_on_by_its_token(world: World):
    seen: list[str] = []

    def script(request: dict) -> Turn:
        results = [m["content"] for m in request["messages"] if m["role"] == "tool"]
        seen[:] = results
        if not results:
            return call("lire_page", {"url": f"{world.site.url}/long.html"})
        if "next_token: " in results[-1]:
            token = results[-1].rpartition("next_token: ")[2].split()[0]
            return call("lire_page", {"url": f"{world.site.url}/long.html", "continuer_depuis": token})
        return say("Lu jusqu'au bout.")

    events = world.ask(script, max_iterations=20, max_tool_context_chars=160_000)
    assert answer(events) == "Lu jusqu'au bout."
    assert "Section 1" in seen[0] and "counted 1480 bridges" in seen[-1]
    assert len([r for r in world.site.requests if r.path == "/long.html"]) == 1


def test_unknown_tool_and_wrong_arguments_go_back_to_the_model(world: World):
    events = world.ask([calls(("naviguer", {"x": 1}), ("rechercher_web", {})), say("Je corrige.")])
    first, second = (m["content"] for m in world.sent[1]["messages"] if m["role"] == "tool")
    assert "naviguer" in first and "rechercher_web" in first
    assert "requete" in second
    assert "invalid_arguments" in [notice.kind for notice in of(Notice, events)]
    assert answer(events) == "Je corrige."


def test_more_calls_than_make_sense_are_not_run_and_that_is_said(world: World):
    many = [("recherche_web", {"requete": f"IA {number}"}) for number in range(300)]
    events = world.ask([calls(*many), say("Voilà.")])
    assert len(of(StepFinished, events)) == 20
    assert "too_many_calls" in [notice.kind for notice in of(Notice, events)]
    results = [message for message in world.sent[-1]["messages"] if message["role"] == "tool"]
    assert len(results) == 20
    assert all(len(result["content"]) > 50 for result in results)
    assert answer(events) == "Voilà."


def test_half_a_character_in_arguments_that_are_text_does_no_harm(world: World):
    broken = call("recherche_web", '{"requete": "a \\ud800 b"}')
    events = world.ask([broken, say("Voilà.")])
    assert answer(events) == "Voilà."
    for event in events:
        repr(event).encode("utf-8")
    assert [step.arguments for step in of(StepStarted, events)] == [{"requete": "a \ufffd b"}]


def test_call_written_as_text_is_run_and_said(world: World):
    markup = '<tool_call>\n{"name": "rechercher_web", "arguments": {"requete": "IA"}}\n</tool_call>'
    events = world.ask([say("Je cherche. " + markup), say("Voilà.")])
    assert len(of(StepStarted, events)) == 1
    assert "recovered" in [notice.kind for notice in of(Notice, events)]
    assert "tool_call" not in "".join(event.text for event in of(Text, events))
    assistant = next(m for m in world.sent[1]["messages"] if m.get("tool_calls"))
    assert assistant["content"] == "Je cherche."


def test_thinking_goes_back_within_the_run_and_not_after_it(world: World):
    events = world.ask([say("", thinking="Cherchons.") + search(), say("Voilà.")])
    assistant = next(m for m in world.sent[1]["messages"] if m.get("tool_calls"))
    assert assistant["thinking"] == "Cherchons."
    kept = list(events[-1].messages)
    world.ask(say("Oui."), history=[{"role": "user", "content": "q"}, *kept])
    assert all("thinking" not in message for message in world.sent[0]["messages"])


def test_search_that_fails_is_told_to_model_and_person(world: World):
    world.searxng.behave = "no_json"
    events = world.ask([search(), say("La recherche est en panne.")])
    [step] = of(StepFinished, events)
    assert step.result.error and "formats" in step.result.error.remedy
    [result] = [m["content"] for m in world.sent[1]["messages"] if m["role"] == "tool"]
    assert result.startswith("Error: ")


@pytest.mark.parametrize(
    ("turn", "kind", "text", "retry"),
    [
        (say("Le début") + cut(), "cut", "Le début", "offer"),
        (
            say("Le début") + error_line("model runner has unexpectedly stopped"),
            "server_error",
            "Le début",
            "offer",
        ),
        (fail(500, "CUDA error"), "server_error", "", "offer"),
        (fail(404, "model 'x' not found"), "model_missing", "", "none"),
        (say("Trop lo") + finish("length"), "length", "Trop lo", "offer"),
        (say(""), "empty", "", "offer"),
        (say("", thinking="Hmm."), "thinking_only", "", "offer"),
    ],
)
def test_what_goes_wrong_is_a_failure_with_a_remedy(
    world: World, turn: Turn, kind: str, text: str, retry: str
):
    events = world.ask(turn)
    [failed] = of(Failed, events)
    assert (failed.kind, failed.retry) == (kind, retry)
    assert failed.text and failed.remedy
    assert answer(events) == text
    kept = [m["content"] for m in events[-1].messages]
    assert kept == ([text] if text else [])


def test_a_call_in_a_turn_that_was_cut_is_not_run(world: World):
    events = world.ask(call("creer_pdf", {"titre": "A", "contenu_markdown": "# A"}) + cut())
    assert not of(StepStarted, events)
    assert of(Failed, events)
    assert world.documents.list("local") == []


@pytest.mark.parametrize(
    "turn", [hang(60), say("mot " * 400, tokens_per_second=20)], ids=["loading", "streaming"]
)
def test_stop_ends_the_run_and_the_servers_work(world: World, turn: Turn):
    cancel = Cancel()
    threading.Timer(0.4, cancel.set).start()
    began = time.monotonic()
    with ScriptedOllama([MODEL], turn) as world.ollama:
        events = list(world.events("q", ALL, [], cancel, "fr", 16384, {}))
        assert time.monotonic() - began < WALL / 4
        deadline = time.monotonic() + WALL
        while not world.ollama.hung_up_at and time.monotonic() < deadline:
            time.sleep(0.01)
        assert world.ollama.hung_up_at, "the server goes on"
    assert isinstance(events[-1], Finished) and events[-1].stopped
    assert not of(Failed, events)


def test_stop_while_a_page_is_read_closes_its_step(world: World):
    cancel = Cancel()
    slow = world.site.add_page("/slow", lambda request, reply: reply.pause(60))
    threading.Timer(0.4, cancel.set).start()
    began = time.monotonic()
    events = world.ask([call("lire_page", {"url": slow}), say("…")], cancel=cancel)
    assert time.monotonic() - began < WALL / 4
    assert [step.result.error.kind for step in of(StepFinished, events)] == ["stopped"]
    assert len(world.sent) == 1
    roles = [message["role"] for message in events[-1].messages]
    assert roles == ["assistant", "tool"], "every call has its answer, also for the next question"
    again = world.ask(say("Oui ?"), history=[{"role": "user", "content": "q"}, *events[-1].messages])
    assert answer(again) == "Oui ?"
