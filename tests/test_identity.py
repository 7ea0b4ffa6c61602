"""Who is who, and who is let in."""

import asyncio
import os
import stat
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from agent.settings import parse_accounts
from ui.guard import Guard
from ui.identity import CookieKey, Doorkeeper, Ticket, host_name, new_ticket
from ui.routes import sign_in_route

LOCAL = "http://127.0.0.1:7860"


@pytest.fixture
def key(tmp_path: Path) -> CookieKey:
    return CookieKey(tmp_path / "cookie.key")


def client(
    doorkeeper: Doorkeeper, *, base=LOCAL, is_open=False, is_shared=False, language="auto"
) -> TestClient:
    """A browser before a small page behind the guard."""

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse("<!doctype html><html><head><title>t</title></head><body>page</body></html>")

    async def me(request: Request) -> JSONResponse:
        person = request.state.person
        return JSONResponse(
            {
                "session": person.session,
                "owner": person.owner,
                "may": person.may_configure,
                "language": person.language,
            }
        )

    guard = Middleware(
        Guard,
        doorkeeper=doorkeeper,
        is_open=lambda: is_open,
        is_shared=lambda: is_shared,
        language=lambda: language,
    )
    routes = [
        sign_in_route(doorkeeper),
        Route("/", page),
        Route("/me", me, methods=["GET", "POST"]),
    ]
    return TestClient(Starlette(routes=routes, middleware=[guard]), base_url=base, follow_redirects=False)


def test_cookie_key_is_private_and_survives_a_restart(tmp_path: Path):
    file = tmp_path / "deep" / "cookie.key"
    sealed = CookieKey(file).seal(Ticket("s", "anna"))
    assert CookieKey(file).open(sealed) == Ticket("s", "anna")
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "change", [lambda v: v + "x", lambda v: v[1:], lambda v: "", lambda v: v.replace(".", "!")]
)
def test_forged_cookies_are_none(key: CookieKey, change):
    assert key.open(change(key.seal(new_ticket("anna")))) is None


def test_a_ticket_of_another_panel_is_none(key: CookieKey, tmp_path: Path):
    other = CookieKey(tmp_path / "other.key")
    assert key.open(other.seal(new_ticket())) is None
    assert key.cookie != other.cookie


def test_who_sits_at_the_machine_is_the_owner_in_a_session_of_each_browser(key: CookieKey):
    doorkeeper = Doorkeeper(key, {})
    one, two = client(doorkeeper), client(doorkeeper)
    first, again, other = one.get("/me").json(), one.get("/me").json(), two.get("/me").json()
    assert first["owner"] == "local" and first["may"]
    assert first == again
    assert other["session"] != first["session"]


@pytest.mark.parametrize(
    "host", ["http://evil.example", "http://192.168.1.7:7860", "http://127.0.0.1.evil.example"]
)
def test_another_host_name_gives_no_owner(key: CookieKey, host: str):
    """A rebound DNS name, or a proxy before the panel."""
    person = client(Doorkeeper(key, {}), base=host).get("/me").json()
    assert not person["may"] and person["owner"] == person["session"]


def test_an_open_panel_has_visitors_even_from_loopback(key: CookieKey):
    """A share tunnel connects from 127.0.0.1, so the address tells nothing."""
    person = client(Doorkeeper(key, {}), is_open=True).get("/me").json()
    assert not person["may"] and person["owner"] == person["session"]


def test_the_owner_link_makes_an_owner_and_hides_its_token(key: CookieKey):
    doorkeeper = Doorkeeper(key, {})
    browser = client(doorkeeper, is_open=True)
    assert not browser.get("/me").json()["may"]
    answer = browser.get(f"/?owner={doorkeeper.owner_token}")
    assert answer.status_code == 303 and doorkeeper.owner_token not in answer.headers["location"]
    person = browser.get("/me").json()
    assert person["may"] and person["owner"] == "local"


def test_a_wrong_owner_token_makes_nobody(key: CookieKey):
    browser = client(Doorkeeper(key, {}), is_open=True)
    browser.get("/?owner=guessed")
    assert not browser.get("/me").json()["may"]


def test_login_is_asked_for_and_gives_the_rights_of_the_account(key: CookieKey):
    doorkeeper = Doorkeeper(key, parse_accounts("anna:1234,ben:5678"))
    browser = client(doorkeeper)
    assert browser.get("/", headers={"accept": "text/html"}).headers["location"] == "./sign-in"
    assert browser.get("/me").status_code == 401
    assert browser.post("/me").status_code == 401
    assert "password" in browser.get("/sign-in").text
    assert browser.post("/sign-in", data={"login": "anna", "password": "5678"}).status_code == 403
    assert browser.get("/me").status_code == 401
    assert browser.post("/sign-in", data={"login": "anna", "password": "1234"}).status_code == 303
    anna = browser.get("/me").json()
    assert anna["owner"] == "anna" and anna["may"]
    other = client(doorkeeper)
    other.post("/sign-in", data={"login": "ben", "password": "5678"})
    ben = other.get("/me").json()
    assert ben["owner"] == "ben" and not ben["may"]


def test_the_owner_link_is_no_way_around_a_login(key: CookieKey):
    doorkeeper = Doorkeeper(key, {"anna": "1234"})
    browser = client(doorkeeper)
    browser.get(f"/?owner={doorkeeper.owner_token}")
    assert browser.get("/me").status_code == 401


def test_a_removed_account_is_out_at_once(key: CookieKey):
    browser = client(Doorkeeper(key, {"anna": "1", "ben": "2"}))
    browser.post("/sign-in", data={"login": "ben", "password": "2"})
    later = client(Doorkeeper(key, {"anna": "1"}))
    later.cookies = browser.cookies
    assert later.get("/me").status_code == 401


def test_guessing_is_slow_and_bounded(key: CookieKey):
    """Of many guesses at once, some wait their turn and the rest are sent away."""
    from httpx import ASGITransport, AsyncClient

    app = client(Doorkeeper(key, {"anna": "1234"})).app

    async def guess() -> list[int]:
        async with AsyncClient(transport=ASGITransport(app), base_url=LOCAL) as browser:
            tries = [browser.post("/sign-in", data={"login": "anna", "password": str(n)}) for n in range(23)]
            return [answer.status_code for answer in await asyncio.gather(*tries)]

    import ui.routes

    statuses = asyncio.run(guess())
    assert statuses.count(429) == 23 - ui.routes._WAITING
    assert statuses.count(403) == ui.routes._WAITING


@pytest.mark.parametrize("text", ["anna", "anna:", ":1", "anna:1,ben"])
def test_accounts_that_are_none(text: str):
    with pytest.raises(ValueError, match="name:password"):
        parse_accounts(text)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": LOCAL}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://panel.example", "x-forwarded-host": "panel.example"}, 200),
        ({"sec-fetch-site": "same-origin", "origin": "https://rewritten.example"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "origin": "null"}, 403),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
    ],
)
def test_other_sites_can_post_nothing(key: CookieKey, headers: dict, status: int):
    assert client(Doorkeeper(key, {})).post("/me", headers=headers).status_code == status


def test_a_link_from_another_site_opens_the_page(key: CookieKey):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client(Doorkeeper(key, {})).get("/", headers=headers).status_code == 200


@pytest.mark.parametrize("shared", [False, True])
def test_pages_may_load_from_the_panel_alone(key: CookieKey, shared: bool):
    policy = client(Doorkeeper(key, {}), is_shared=shared).get("/").headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["img-src"] == "'self' data: blob:"
    assert rules["connect-src"] == "'self'"
    assert ("https://" in rules["default-src"]) is shared


def test_page_is_told_the_language_that_python_uses(key: CookieKey):
    page = client(Doorkeeper(key, {})).get("/", headers={"accept-language": "de,fr;q=0.5"})
    assert '<head><script>Object.defineProperty(navigator, "language", {get: () => "fr"})' in page.text
    assert int(page.headers["content-length"]) == len(page.content)
    fixed = client(Doorkeeper(key, {}), language="en").get("/me", headers={"accept-language": "fr"})
    assert fixed.json()["language"] == "en"


@pytest.mark.parametrize(
    ("host", "name"),
    [("localhost:7860", "localhost"), ("[::1]:7860", "::1"), ("[::1]", "::1"), ("A.example", "a.example")],
)
def test_host_names(host: str, name: str):
    assert host_name(host) == name
