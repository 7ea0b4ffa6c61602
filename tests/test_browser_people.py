"""Several people at once: what is whose."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.panel import Chat, Panel, browser, person
from tests.servers.ollama import Turn, call, hang, say

pytestmark = pytest.mark.browser

Start = Callable[..., Panel]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    panels: list[Panel] = []

    def start_panel(*options: str) -> Panel:
        panels.append(Panel(tmp_path, *options, chat=by_question))
        return panels[-1]

    yield start_panel
    for panel in panels:
        panel.close()


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    """A panel that everybody may reach, without logins."""
    with Panel(tmp_path_factory.mktemp("panel"), "--host", "0.0.0.0", chat=by_question) as panel:
        yield panel


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as one:
        yield one


def by_question(request: dict) -> Turn:
    """Answers slowly, with words that only this question's answer has."""
    question = next(m["content"] for m in reversed(request["messages"]) if m["role"] == "user")
    name = question.split()[-1]
    if "PDF" in question and request["messages"][-1]["role"] == "user":
        return call("creer_pdf", {"titre": f"Document de {name}", "contenu_markdown": f"Secret de {name}."})
    return say(f"Bonjour {name}. ") + hang(1.5) + say(f"{name}-fin " * 20, tokens_per_second=80)


def sign_in(context: BrowserContext, panel: Panel, login: str, password: str) -> Chat:
    page = context.new_page()
    page.goto(panel.url)
    page.fill("input[name=login]", login)
    page.fill("input[name=password]", password)
    page.click("button")
    return Chat(page).open(panel.url)


def test_two_people_at_once_see_their_own_turns_only(start: Start, opened: Browser):
    panel = start()
    anna, ben = (Chat(person(opened).new_page()).open(panel.url) for _ in range(2))
    anna.ask("Salut de Anna")
    ben.ask("Salut de Ben")
    for chat, mine, other in ((anna, "Anna", "Ben"), (ben, "Ben", "Anna")):
        chat.wait_for(f"Bonjour {mine}.")
        assert other not in chat.text()
    for chat, mine, other in ((anna, "Anna", "Ben"), (ben, "Ben", "Anna")):
        chat.wait_for(f"{mine}-fin")
        chat.wait_until_done()
        assert other not in chat.text()
        assert chat.page.locator("#chat .user-row").count() == 1


def test_two_tabs_of_one_browser_do_not_mix_either(start: Start, opened: Browser):
    panel = start()
    context = person(opened)
    first = Chat(context.new_page()).open(panel.url)
    first.ask("Salut de Anna")
    first.wait_for("Bonjour Anna.")
    second = Chat(context.new_page()).open(panel.url)
    second.page.click("#new-chat")
    second.wait_gone("Anna")
    second.ask("Salut de Ben")
    second.wait_for("Ben-fin")
    assert "Anna" not in second.text()
    first.wait_for("Anna-fin")
    assert "Ben" not in first.text()


def documents_of(chat: Chat) -> str:
    chat.tab("Documents")
    chat.page.wait_for_selector("#documents .documents, #documents .empty")
    return chat.page.inner_text("#documents")


def privately(first: Chat, second: Chat) -> None:
    """Neither sees the other's chat or file, by the page or by the address."""
    first.ask("Un PDF pour Anna")
    card = first.page.get_by_role("link", name="📄 Télécharger le PDF")
    card.wait_for()
    first.wait_until_done()
    address = card.evaluate("link => link.href")
    mine = first.page.request.get(address)
    assert mine.status == 200 and mine.body().startswith(b"%PDF-")
    theirs = second.page.request.get(address)
    assert theirs.status == 404 and b"%PDF" not in theirs.body()
    second.ask("Salut de Ben")
    second.wait_for("Ben-fin")
    second.wait_until_done()
    second.page.reload()
    second.wait_for("Bonjour Ben.")
    assert "Anna" not in second.text()
    assert "Document de Anna" in documents_of(first)
    assert "Anna" not in documents_of(second)


def test_two_logins_see_neither_chat_nor_file_of_each_other(start: Start, opened: Browser):
    panel = start("--auth", "anna:un,ben:deux")
    anna = sign_in(person(opened), panel, "anna", "un")
    ben = sign_in(person(opened), panel, "ben", "deux")
    privately(anna, ben)
    again = sign_in(person(opened), panel, "anna", "un")
    assert "Document de Anna" in documents_of(again), "a login finds its files in any browser"
    stranger = person(opened).request.get(panel.url + "/pdfs/" + panel.pdfs()[0].name)
    assert stranger.status in (200, 401) and not stranger.body().startswith(b"%PDF")


def test_two_anonymous_sessions_see_neither_chat_nor_file_of_each_other(public: Panel, opened: Browser):
    assert "/?owner=" in public.log
    privately(*(Chat(person(opened).new_page()).open(public.url) for _ in range(2)))


def test_visitors_can_change_no_setting_and_the_owner_can(public: Panel, opened: Browser):
    panel = public
    visitor = Chat(person(opened).new_page()).open(panel.url)
    visitor.tab("Réglages")
    visitor.page.wait_for_selector("#settings-notes :text('propriétaire')")
    assert not visitor.page.locator("#save-settings").is_visible()
    assert panel.ollama.url not in visitor.page.content()
    owner = person(opened).new_page()
    link = next(line for line in panel.log.splitlines() if "/?owner=" in line).split()[-1]
    owner.goto(link.replace("localhost", "127.0.0.1"))
    assert "owner=" not in owner.url
    chat = Chat(owner).open(panel.url)
    chat.tab("Réglages")
    owner.wait_for_selector("#save-settings:visible")


def test_a_visitor_can_save_nothing_by_the_api_either(public: Panel, opened: Browser):
    """Hidden buttons are no lock: every handler asks who calls."""
    panel, asked = public, len(public.site.requests)
    context = person(opened)
    Chat(context.new_page()).open(panel.url)
    config = context.request.get(f"{panel.url}/config").json()
    before = panel.config.read_text(encoding="utf-8")
    ids = {part["id"]: part["props"].get("elem_id") for part in config["components"]}
    called = []
    for dependency in config["dependencies"]:
        pressed = {ids.get(target[0]) for target in dependency["targets"]}
        if not pressed & {"save-settings", "test-ollama_url", "test-searxng_url"}:
            continue
        fields = [ids.get(field) for field in dependency["inputs"]]
        evil = {"set-tools": [], "set-max_iterations": 50, "set-num_ctx": 2048, "set-tools_enabled": False}
        data = [evil.get(field or "", f"{panel.site.url}/probe") for field in fields]
        answer = context.request.post(
            f"{panel.url}/gradio_api/run/predict",
            data={"data": data, "fn_index": dependency["id"], "session_hash": "x"},
            headers={"Accept-Language": "fr-FR"},
        )
        called.append((pressed, answer.status, answer.text()))
    assert len(called) == 3
    assert panel.config.read_text(encoding="utf-8") == before
    assert len(panel.site.requests) == asked, "a visitor made the server send a request"
    for pressed, status, text in called:
        assert status != 200 or "propriétaire" in text, pressed
