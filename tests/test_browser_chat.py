"""The chat as a French reader sees it, in a real Chromium."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from pypdf import PdfReader

from tests.panel import WALL, Chat, Panel, browser, person, squeezed
from tests.servers.ollama import call, cut, fail, finish, hang, say
from tests.servers.ollama.demo import demo_script

pytestmark = pytest.mark.browser

TOOL_NAMES = {
    "Recherche web": "rechercher_web",
    "Lecture de page": "lire_page",
    "Lecture de PDF": "lire_pdf",
    "Recherche de fichiers": "chercher_fichiers",
    "Création de PDF": "creer_pdf",
}
"""The tools as a French reader sees their switches, and as a French model is told them."""


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    running = Panel(tmp_path_factory.mktemp("panel"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as one:
        yield one


@pytest.fixture
def chat(panel: Panel, opened: Browser) -> Iterator[Chat]:
    context = person(opened)
    yield Chat(context.new_page()).open(panel.url)
    context.close()


def search(query: str = "IA"):
    return call("rechercher_web", {"requete": query})


def test_badges_tell_which_models_have_tools(chat: Chat):
    chat.page.click("#model input")
    options = chat.page.locator("#model [role=option]").all_inner_texts()
    with_tools = next(option for option in options if "qwen2.5:14b" in option)
    without = next(option for option in options if "llama2:13b" in option)
    assert "🛠 tools" in with_tools
    assert "🛠" not in without
    assert not any("nomic-embed-text" in option for option in options), "an embedding model can't chat"


def test_search_shows_its_step_before_the_answer(panel: Panel, chat: Chat):
    panel.ollama.play([search("actualités IA aujourd'hui"), hang(2) + say("Voici les actualités du jour.")])
    chat.ask("Quelles sont les actualités IA d'aujourd'hui ?")
    chat.wait_for('🔍 Recherche web : "actualités IA aujourd\'hui"')
    assert "Voici les actualités" not in chat.text()
    chat.wait_for("Voici les actualités du jour.")
    chat.wait_until_done()
    assert "1 étape" in chat.text()
    sent = panel.ollama.chats[-2]
    told = sent["messages"][0]["content"]
    assert told.startswith(f"Tu es un assistant avec accès à {len(TOOL_NAMES)} outils : rechercher_web, ")
    assert all(name in told for name in TOOL_NAMES.values())


def test_steps_are_folded_at_the_end_and_hold_what_the_model_read(panel: Panel, chat: Chat):
    panel.ollama.play([search("puces"), say("Fini.")])
    chat.ask("Cherche des puces")
    chat.wait_for("Fini.")
    chat.wait_until_done()
    chat.wait_gone("Recherche web")
    chat.page.click("#chat .thought-group .title")
    chat.page.locator("#chat .thought-group .title").filter(has_text="Recherche web").last.click()
    chat.wait_for("Ce que le modèle a lu :")
    result = next(m for m in panel.ollama.chats[-1]["messages"] if m["role"] == "tool")
    assert squeezed(result["content"]) in squeezed(chat.text())


def test_pdf_comes_as_a_card_whose_file_holds_the_text(panel: Panel, chat: Chat, tmp_path: Path):
    markdown = "# La photosynthèse\n\nLes plantes changent la **lumière** en énergie.\n\n- eau\n- lumière"
    panel.ollama.play(
        [
            call("creer_pdf", {"titre": "La photosynthèse", "contenu_markdown": markdown}),
            hang(1) + say("Prêt."),
        ]
    )
    chat.ask("Fais-moi un PDF sur la photosynthèse")
    chat.wait_for('📄 Génération du PDF "La photosynthèse"...')
    chat.wait_for("Prêt.")
    chat.wait_until_done()
    card = chat.page.get_by_role("link", name="📄 Télécharger le PDF")
    with chat.page.expect_download() as download:
        card.click()
    saved = tmp_path / "made.pdf"
    download.value.save_as(saved)
    assert download.value.suggested_filename.endswith("_La-photosynthese.pdf")
    text = "".join(page.extract_text() for page in PdfReader(saved).pages)
    assert "Les plantes changent la lumière en énergie." in squeezed(text)
    result = next(m for m in panel.ollama.chats[-1]["messages"] if m["role"] == "tool")["content"]
    assert result.startswith("PDF généré avec succès. URL : /pdfs/")


def test_report_runs_search_reading_and_pdf_with_its_sources(panel: Panel, chat: Chat):
    panel.ollama.play(demo_script(tokens_per_second=None))
    chat.ask("Fais-moi un rapport PDF sur les dernières news IA")
    chat.page.get_by_role("link", name="📄 Télécharger le PDF").wait_for()
    chat.wait_until_done()
    chat.page.click("#chat .thought-group .title")
    for line in ("🔍 Recherche web : ", f"📖 Lecture de {panel.site.url}/", "📄 Génération du PDF "):
        chat.wait_for(line)
    text = "".join(page.extract_text() for page in PdfReader(panel.pdfs()[-1]).pages)
    assert f"{panel.site.url}/actualites-ia.html" in text.replace("\n", "")


def test_endless_search_is_stopped_with_a_warning_and_an_answer(panel: Panel, chat: Chat):
    before = len(panel.ollama.chats)

    def always_search(request):
        if "tools" not in request:
            return say("Voici ce que je sais.")
        return search(f"tour {len(request['messages'])}")

    panel.ollama.play(always_search)
    chat.ask("Cherche sans fin")
    chat.wait_for("Voici ce que je sais.")
    chat.wait_until_done()
    assert "⚠️ Limite atteinte : 10 tours d'outils" in chat.text()
    assert "10 étapes" in chat.text()
    requests = panel.ollama.chats[before:]
    assert ["tools" in request for request in requests] == [True] * 10 + [False]


def offered(panel: Panel) -> list[str]:
    return [tool["function"]["name"] for tool in panel.ollama.chats[-1].get("tools", [])]


def answer_to(panel: Panel, chat: Chat, number: int) -> None:
    panel.ollama.play(say(f"Réponse {number}."))
    chat.ask(f"Question {number}")
    chat.wait_for(f"Réponse {number}.")
    chat.wait_until_done()


def test_each_switch_changes_what_is_sent(panel: Panel, chat: Chat):
    names = TOOL_NAMES
    chat.page.click("#tools-button")
    for number, (label, name) in enumerate(names.items()):
        switch = chat.page.locator("#tools label").filter(has_text=label).locator("input")
        switch.uncheck()
        answer_to(panel, chat, number)
        assert offered(panel) == [other for other in names.values() if other != name]
        assert name not in panel.ollama.chats[-1]["messages"][0]["content"]
        switch.check()
    expect(chat.page.locator("#tools-button")).to_have_text(f"🛠 Outils : {len(names)}")
    everything = chat.page.locator("#tools-enabled").get_by_label("Activer les outils")
    everything.uncheck()
    expect(chat.page.locator("#tools-button")).to_have_text("🛠 Outils : 0")
    answer_to(panel, chat, 10)
    assert offered(panel) == []
    assert panel.ollama.chats[-1]["messages"][0]["role"] == "user"
    everything.check()
    answer_to(panel, chat, 11)
    assert offered(panel) == list(names.values())


def test_model_without_tools_is_sent_none_and_the_button_says_why(panel: Panel, chat: Chat):
    button, switches = chat.page.locator("#tools-button"), chat.page.locator("#tools-panel")
    button.click()
    expect(switches).to_be_visible()
    chat.choose("llama2:13b")
    expect(button).to_be_disabled()
    expect(switches).to_be_hidden()
    expect(button).to_have_text("🛠 Pas d'outils")
    expect(chat.page.locator("#model-reason")).to_contain_text("llama2:13b ne sait pas appeler d'outils")
    answer_to(panel, chat, 20)
    assert offered(panel) == []
    assert panel.ollama.chats[-1]["model"] == "llama2:13b"
    chat.choose("qwen2.5:14b")
    expect(button).to_be_enabled()
    answer_to(panel, chat, 21)
    assert offered(panel) == list(TOOL_NAMES.values())


@pytest.mark.parametrize(
    "turn", [hang(120), say("mot " * 4000, tokens_per_second=50)], ids=["loading", "streaming"]
)
def test_stop_ten_times_in_a_row_and_the_next_message_works(panel: Panel, chat: Chat, turn):
    for number in range(10):
        panel.ollama.play(turn)
        gone, asked = len(panel.ollama.hung_up_at), len(panel.ollama.chats)
        chat.ask(f"Question {number}")
        until(lambda asked=asked: len(panel.ollama.chats) > asked)
        if turn.steps[0] != hang(120).steps[0]:
            chat.page.wait_for_function(
                "n => document.querySelectorAll('#chat .user-row').length === n + 1"
                " && [...document.querySelectorAll('#chat .bot-row')].at(-1)?.innerText.includes('mot')",
                arg=number,
            )
        pressed = time.monotonic()
        chat.stop()
        chat.wait_until_done()
        until(lambda gone=gone: len(panel.ollama.hung_up_at) > gone)
        assert panel.ollama.hung_up_at[gone] - pressed < 5, "the server worked on"
    panel.ollama.play(say("Me revoilà."))
    chat.ask("Toujours là ?")
    chat.wait_for("Me revoilà.")
    chat.wait_until_done()


def test_reload_shows_the_chat_and_follows_what_goes_on(panel: Panel, chat: Chat):
    panel.ollama.play(say("Un début. ", tokens_per_second=None) + hang(3) + say("La suite."))
    chat.ask("Une longue réponse")
    chat.wait_for("Un début.")
    chat.page.reload()
    chat.wait_for("Une longue réponse")
    chat.wait_for("La suite.")
    chat.wait_until_done()


def test_stop_works_after_a_reload_too(panel: Panel, chat: Chat):
    panel.ollama.play(say("Un début. ") + hang(120))
    chat.ask("Une longue réponse")
    chat.wait_for("Un début.")
    chat.page.reload()
    chat.wait_for("Un début.")
    chat.stop()
    chat.wait_until_done()
    panel.ollama.play(say("Oui."))
    chat.ask("Encore ?")
    chat.wait_for("Oui.")


def test_conversation_remembers_and_a_new_one_forgets(panel: Panel, chat: Chat):
    answer_to(panel, chat, 30)
    answer_to(panel, chat, 31)
    said = [m["content"] for m in panel.ollama.chats[-1]["messages"] if m["role"] != "system"]
    assert said == ["Question 30", "Réponse 30.", "Question 31"]
    chat.page.click("#new-chat")
    chat.wait_gone("Question 30")
    answer_to(panel, chat, 32)
    assert [m["content"] for m in panel.ollama.chats[-1]["messages"][1:]] == ["Question 32"]


@pytest.mark.parametrize(
    ("turn", "shown"),
    [
        (fail(500, "CUDA error: out of cores"), "CUDA error: out of cores"),
        (say("Le début de") + cut(), "Le début de"),
        (say("Trop lon") + finish("length"), "Trop lon"),
        (say(""), "❌"),
    ],
    ids=["server error", "cut", "length", "empty"],
)
def test_failures_are_shown_where_they_happened(panel: Panel, chat: Chat, turn, shown: str):
    panel.ollama.play(turn)
    chat.ask("Vas-y")
    chat.wait_for("❌")
    chat.wait_until_done()
    assert shown in chat.text()


def test_offered_questions_can_be_clicked(panel: Panel, chat: Chat):
    panel.ollama.play(say("Une pompe à chaleur déplace la chaleur."))
    chat.page.get_by_text("Explique-moi comment fonctionne une pompe à chaleur").click()
    chat.wait_for("Une pompe à chaleur déplace la chaleur.")
    chat.wait_until_done()


def test_markup_of_any_kind_is_harmless(panel: Panel, chat: Chat):
    evil = '<img src=x onerror="document.title=\'hacked\'"> $5 et $6 <script>document.title="hacked"</script>'
    panel.ollama.play(
        [search(evil + " *x* `y` [a](b)"), say(f"Prix : {evil}\n\n![x](http://evil.example/p.png)")]
    )
    chat.ask(evil)
    chat.wait_for("Prix")
    chat.wait_until_done()
    chat.page.click("#chat .thought-group .title")
    chat.wait_for("*x* `y` [a](b)")
    assert "hacked" not in chat.page.title()
    assert "$5 et $6" in chat.text()


def until(condition, seconds: float = WALL) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this never happened"
        time.sleep(0.02)
