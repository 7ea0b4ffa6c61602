"""Models, documents and settings; and that every tab reads well in both themes and widths."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.config_file import SettingsStore
from tests.panel import Chat, Panel, browser, person
from tests.servers.ollama import call, say

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as one:
        yield one


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    running = Panel(tmp_path)
    yield running
    running.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    running = Panel(tmp_path_factory.mktemp("panel"))
    yield running
    running.close()


@pytest.fixture
def chat(panel: Panel, opened: Browser) -> Iterator[Chat]:
    context = person(opened)
    yield Chat(context.new_page()).open(panel.url)
    context.close()


@pytest.fixture
def visitor(shared: Panel, opened: Browser) -> Iterator[Chat]:
    context = person(opened)
    yield Chat(context.new_page()).open(shared.url)
    context.close()


def make_pdf(panel: Panel, chat: Chat, title: str) -> None:
    panel.ollama.play([call("creer_pdf", {"titre": title, "contenu_markdown": "Texte."}), say("Fait.")])
    chat.ask("Un PDF")
    chat.wait_until_done()
    chat.page.get_by_role("link", name="📄 Télécharger le PDF").last.wait_for()


def test_models_are_listed_with_what_they_can_do(shared: Panel, visitor: Chat):
    panel, chat = shared, visitor
    chat.tab("Modèles")
    rows = chat.page.locator("#models tbody tr")
    expect(rows).to_have_count(len(panel.ollama.models))
    expect(rows.filter(has_text="qwen2.5:14b")).to_contain_text("🛠 tools")
    expect(rows.filter(has_text="llama2:13b")).not_to_contain_text("🛠")
    expect(rows.filter(has_text="nomic-embed-text")).to_contain_text("vecteurs seulement")
    expect(rows.filter(has_text="gpt-oss:120b-cloud")).to_contain_text("cloud")
    expect(rows.filter(has_text="qwen2.5:14b")).to_contain_text("32\u202f768")


def test_models_tab_says_that_nothing_answers(tmp_path: Path, opened: Browser):
    panel = Panel(tmp_path, PANEL_BUILT_IN_MODEL="nobody/nothing")
    panel.ollama.close()
    chat = Chat(person(opened).new_page())
    chat.page.goto(panel.url)
    expect(chat.page.locator("#model-reason")).to_contain_text("ollama serve")
    chat.tab("Modèles")
    expect(chat.page.locator("#models .problem")).to_contain_text(panel.ollama.url)
    chat.tab("Discussion")
    chat.ask("Bonjour")
    chat.wait_for("ollama serve")
    chat.wait_until_done()
    panel.close()


def test_documents_are_listed_opened_and_deleted(panel: Panel, chat: Chat):
    make_pdf(panel, chat, "Le premier")
    make_pdf(panel, chat, 'Un titre <b>"gras"</b> {{x}} ${y}')
    chat.tab("Documents")
    entries = chat.page.locator("#documents li")
    expect(entries).to_have_count(2)
    expect(entries.first).to_contain_text('Un titre <b>"gras"</b> {{x}} ${y}')
    with chat.page.expect_download() as download:
        entries.last.get_by_role("link", name="Télécharger").click()
    assert download.value.suggested_filename == panel.pdfs()[0].name
    address = entries.last.get_by_role("link", name="Ouvrir").evaluate("link => link.href")
    shown = chat.page.request.get(address)
    assert shown.headers["content-disposition"].startswith("inline")
    assert shown.headers["content-type"] == "application/pdf"
    chat.page.once("dialog", lambda dialog: dialog.dismiss())
    entries.last.get_by_role("button", name="Supprimer").click()
    expect(entries).to_have_count(2)
    chat.page.once("dialog", lambda dialog: dialog.accept())
    entries.last.get_by_role("button", name="Supprimer").click()
    expect(entries).to_have_count(1)
    assert len(panel.pdfs()) == 1


def test_documents_survive_a_restart(tmp_path: Path, opened: Browser):
    first = Panel(tmp_path)
    make_pdf(first, Chat(person(opened).new_page()).open(first.url), "Qui reste")
    first.close()
    second = Panel(tmp_path)
    chat = Chat(person(opened).new_page()).open(second.url)
    chat.tab("Documents")
    expect(chat.page.locator("#documents li")).to_contain_text("Qui reste")
    second.close()


def test_settings_are_saved_and_used(panel: Panel, chat: Chat):
    chat.tab("Réglages")
    page = chat.page
    expect(page.locator("#set-ollama_url textarea, #set-ollama_url input")).to_have_value(panel.ollama.url)
    page.locator("#set-num_ctx input").fill("8192")
    page.locator("#set-max_iterations input[type=number]").fill("3")
    page.locator("#set-system_prompt textarea").fill("Tu es bref.")
    page.locator("#set-tools label").filter(has_text="Création de PDF").locator("input").uncheck()
    page.click("#save-settings")
    expect(page.locator("#settings-saved")).to_contain_text("Enregistré")
    saved = SettingsStore(panel.config, {}).current
    assert (saved.num_ctx, saved.max_iterations, saved.system_prompt) == (8192, 3, "Tu es bref.")
    assert saved.tools.web_search and not saved.tools.create_pdf
    page.reload()
    chat.page.wait_for_selector("#box textarea")
    panel.ollama.play(
        lambda request: call("rechercher_web", {"requete": "x"}) if "tools" in request else say("Bilan.")
    )
    chat.ask("Cherche")
    chat.wait_for("Bilan.")
    request = panel.ollama.chats[0]
    assert request["options"]["num_ctx"] == 8192
    assert request["messages"][0]["content"].startswith("Tu es bref.")
    offered = {tool["function"]["name"] for tool in request["tools"]}
    assert {"rechercher_web", "lire_page"} <= offered and "creer_pdf" not in offered
    assert "Limite atteinte : 3 tours" in chat.text()


def test_wrong_settings_are_refused_in_words(shared: Panel, visitor: Chat):
    panel, chat = shared, visitor
    chat.tab("Réglages")
    before = panel.config.read_text(encoding="utf-8")
    chat.page.locator("#set-ollama_url textarea, #set-ollama_url input").fill("ftp://nulle-part")
    chat.page.click("#save-settings")
    expect(chat.page.locator("#settings-saved")).to_contain_text("ollama_url")
    assert panel.config.read_text(encoding="utf-8") == before


def test_test_buttons_name_cause_and_remedy(shared: Panel, visitor: Chat):
    panel, chat = shared, visitor
    chat.tab("Réglages")
    page = chat.page
    page.click("#test-ollama_url")
    expect(page.locator("#told-ollama_url")).to_contain_text("Ollama 0.33.0 répond")
    page.locator("#set-ollama_url textarea, #set-ollama_url input").fill("127.0.0.1:9")
    page.click("#test-ollama_url")
    expect(page.locator("#told-ollama_url")).to_contain_text("❌")
    expect(page.locator("#told-ollama_url")).to_contain_text("ollama serve")
    page.click("#test-searxng_url")
    expect(page.locator("#told-searxng_url")).to_contain_text("SearXNG répond")
    panel.searxng.behave = "no_json"
    page.click("#test-searxng_url")
    expect(page.locator("#told-searxng_url")).to_contain_text("formats")


def test_what_the_environment_fixes_is_locked(tmp_path: Path, opened: Browser):
    panel = Panel(tmp_path, PANEL_NUM_CTX="4096")
    chat = Chat(person(opened).new_page()).open(panel.url)
    chat.tab("Réglages")
    expect(chat.page.locator("#set-num_ctx input")).to_be_disabled()
    expect(chat.page.locator("#settings-notes")).to_contain_text("num_ctx")
    panel.close()


def test_broken_entries_of_the_file_are_named_with_their_line(tmp_path: Path, opened: Browser):
    panel = Panel(tmp_path)
    panel.close()
    text = panel.config.read_text(encoding="utf-8") + "num_ctx: beaucoup\n"
    line = len(text.splitlines())
    bad = tmp_path / "bad.yaml"
    bad.write_text(text, encoding="utf-8")
    panel = Panel(tmp_path, "--config", str(bad))
    assert f"bad.yaml, line {line}: num_ctx" in panel.log
    chat = Chat(person(opened).new_page())
    chat.page.goto(panel.url)
    chat.page.wait_for_selector("#box textarea")
    chat.tab("Réglages")
    expect(chat.page.locator("#settings-notes")).to_contain_text(f"bad.yaml, ligne {line} : num_ctx")
    panel.close()
    assert bad.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("language", ["fr-FR", pytest.param("en-GB", marks=pytest.mark.long)])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 360])
def test_every_tab_reads_well(shared: Panel, opened: Browser, width: int, theme: str, language: str):
    french = language.startswith("fr")
    context = person(opened, language, width)
    page = context.new_page()
    chat = Chat(page).open(f"{shared.url}/?__theme={theme}")
    assert page.evaluate("document.body.classList.contains('dark')") is (theme == "dark")
    make = "creer_pdf" if french else "create_pdf"
    title, text = ("titre", "contenu_markdown") if french else ("title", "markdown")
    shared.ollama.play([call(make, {title: "T" * 90, text: "Texte."}), say("Fait. " + "mot" * 80)])
    chat.ask("Un PDF " + "long" * 40)
    page.locator("#chat a[href^='pdfs/']").wait_for()
    chat.wait_until_done()
    page.click("#chat .thought-group .title")
    names = {"fr": ["Discussion", "Modèles", "Documents", "Réglages"]}
    settle = ["#chat .thought-group .title", "#models tbody tr", "#documents li", "#save-settings"]
    for name, sign in zip(
        names.get(language[:2], ["Chat", "Models", "Documents", "Settings"]), settle, strict=True
    ):
        chat.tab(name)
        page.locator(sign).first.wait_for()
        problems = page.evaluate(_LOOK)
        assert problems == [], f"{name}, {theme}, {width}"
    context.close()


_LOOK = r"""() => {
  const problems = [];
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) problems.push(`wider than the window: ${page.scrollWidth}`);
  const text = document.body.innerText;
  for (const raw of text.match(/__i18n__|\bui\.\w+|\{\w+\}|undefined|\[object/g) ?? []) problems.push(raw);
  for (const button of document.querySelectorAll('button, a, .badge, label')) {
    const box = button.getBoundingClientRect();
    if (box.width && (box.left < -1 || box.right > innerWidth + 1) && !button.closest('.tab-container'))
      problems.push(`outside: ${button.innerText || button.id || button.className}`);
    if (button.id && button.scrollWidth > button.clientWidth + 1) problems.push(`cut: ${button.id}`);
  }
  return problems;
}"""
