"""The search tool, and every way in which a SearXNG answers or refuses."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from locales import load_locale
from tests.servers.searxng import RECORDED, ScriptedSearxng
from tests.servers.website import ScriptedSite
from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.search_result import clean_results
from tools.helper.searxng import as_plain_text, search_address, search_searxng
from tools.registry import ToolRegistry
from tools.scrape_url import TOOL as SCRAPE_URL
from tools.settings import ToolSettings
from tools.tool import Source, ToolContext, ToolResult
from tools.web_search import TOOL, check_searxng

REGISTRY = ToolRegistry([TOOL, SCRAPE_URL])
INDEX = json.loads((RECORDED / "index.json").read_text(encoding="utf-8"))
TWO = [
    {"url": "https://one.example/", "title": "First page", "content": "About the first."},
    {"url": "https://two.example/a", "title": "Second page", "content": "About the second."},
]


def context(url: str, **settings: Any) -> ToolContext:
    return ToolContext(settings=ToolSettings(searxng_url=url, **{"search_backend": "searxng", **settings}))


def search(server: ScriptedSearxng, query: str = "solar power", **arguments: Any) -> ToolResult:
    return REGISTRY.execute("web_search", {"query": query, **arguments}, context(server.url))


@pytest.fixture(scope="module")
def playback() -> Iterator[ScriptedSearxng]:
    with ScriptedSearxng() as server:
        yield server


def body_of(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.http").read_bytes().partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("name", [name for name, entry in INDEX.items() if "results" in entry])
def test_a_recorded_answer_is_read(playback: ScriptedSearxng, name: str) -> None:
    playback.recorded = name
    answer = search_searxng(playback.url, "solar", "en", Cancel())
    assert len(answer.results) == INDEX[name]["results"]
    assert len(answer.failed) == INDEX[name].get("failed", 0)
    hrefs = [result.href for result in answer.results]
    assert len(set(hrefs)) == len(hrefs)
    assert all(href.startswith(("http://", "https://")) for href in hrefs)
    if not name.endswith("gzip"):
        given = [
            str(entry["url"]).replace(" ", "%20").replace("&amp;", "&") for entry in body_of(name)["results"]
        ]
        places = [given.index(href) for href in hrefs if href in given]
        assert places == sorted(places)  # in the order of the server


@pytest.mark.parametrize("name", [name for name, entry in INDEX.items() if "failure" in entry])
def test_a_recorded_refusal_is_named_with_a_remedy(playback: ScriptedSearxng, name: str) -> None:
    playback.recorded = name
    result = search(playback)
    assert result.error is not None
    assert result.error.kind == INDEX[name]["failure"]
    assert result.error.cause
    assert result.error.remedy
    assert not result.data


def test_every_recorded_answer_has_its_file_and_every_file_its_entry() -> None:
    assert {path.stem for path in RECORDED.glob("*.http")} == set(INDEX)


def test_three_lines_for_each_result() -> None:
    with ScriptedSearxng(TWO) as server:
        result = search(server)
    assert result.text == (
        "[1] First page\nURL: https://one.example/\nSnippet: About the first.\n\n"
        "[2] Second page\nURL: https://two.example/a\nSnippet: About the second."
    )
    assert result.data == [
        {"title": "First page", "href": "https://one.example/", "body": "About the first."},
        {"title": "Second page", "href": "https://two.example/a", "body": "About the second."},
    ]
    assert result.sources == (
        Source("https://one.example/", "First page", read=False),
        Source("https://two.example/a", "Second page", read=False),
    )


@pytest.mark.parametrize(
    ("max_results", "given"), [(3, 3), (0, 5), (-1, 5), (7, 7), ("4", 4), (1000, 20), (None, 5)]
)
def test_how_many_results(max_results: object, given: int) -> None:
    many = [
        {"url": f"https://site.example/{n}", "title": f"Page {n}", "content": "Text. " * 20}
        for n in range(30)
    ]
    with ScriptedSearxng(many) as server:
        assert len(search(server, max_results=max_results).data) == given


@pytest.mark.parametrize("limit", [300, 2000, 6000])
def test_the_results_fit_the_limit(limit: int) -> None:
    many = [
        {"url": f"https://site.example/{n}", "title": f"Page {n}", "content": "Text. " * 200}
        for n in range(20)
    ]
    with ScriptedSearxng(many) as server:
        tight = replace(context(server.url), max_result_chars=limit)
        result = REGISTRY.execute("web_search", {"query": "x", "max_results": 20}, tight)
    assert len(result.text) <= limit
    assert len(result.data) == len(result.sources) == result.text.count("\nURL: ") >= 3


def test_the_request_is_what_the_strictest_server_takes() -> None:
    with ScriptedSearxng(TWO) as server:
        REGISTRY.execute(
            "web_search", {"query": " été\n à Paris "}, replace(context(server.url), locale=load_locale("fr"))
        )
        request = server.requests[-1]
    assert request.query == {"q": "été à Paris", "format": "json", "language": "fr", "locale": "en"}
    assert not request.headers["user-agent"].lower().startswith(("python", "curl", "mozilla"))
    assert "*/*" in request.headers["accept"]
    assert request.headers["accept-encoding"] == "gzip, deflate"
    assert request.headers["accept-language"] == "en"
    assert "cookie" not in request.headers


def test_an_empty_query_asks_nobody() -> None:
    with ScriptedSearxng(TWO) as server:
        for query in ("", "  \n "):
            result = search(server, query)
            assert (result.data, result.error) == ([], None)
        assert not server.requests


def test_nothing_found_is_no_error_and_all_languages_are_tried() -> None:
    with ScriptedSearxng([]) as server:
        result = search(server, "qzx")
        assert [request.query["language"] for request in server.requests] == ["en", "all"]
    assert (result.text, result.data, result.error) == ('No results for "qzx".', [], None)


@pytest.mark.parametrize(
    ("behave", "kind", "told"),
    [
        ("no_json", "searxng_no_json", "search:\n  formats:\n    - html\n    - json"),
        ("limiter", "searxng_limiter", "server:\n  limiter: false"),
        ("engines", "searxng_engines", "duckduckgo (CAPTCHA), brave (Suspended: too many requests)"),
        ("html", "searxng_not_searxng", "searxng_url"),
        ("error", "searxng_broken", "HTTP 500"),
        ("redirect", "searxng_redirect", "https://search.example.org/"),
        ("silent", "searxng_refused", "host.docker.internal"),
    ],
)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_refusal_says_exactly_what_to_do(behave: str, kind: str, told: str, language: str) -> None:
    with ScriptedSearxng(behave=behave) as server:
        local = replace(context(server.url), locale=load_locale(language))
        result = REGISTRY.execute("web_search", {"query": "x"}, local)
    assert result.error is not None
    assert result.error.kind == kind
    assert told in result.text


def test_nobody_listens_there() -> None:
    result = REGISTRY.execute("web_search", {"query": "x"}, context("http://127.0.0.1:1"))
    assert "SearXNG does not answer at http://127.0.0.1:1/search." in result.text


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with ScriptedSearxng(TWO) as server:
        assert len(search(server).data) == 2


def test_stop_ends_a_search_at_once() -> None:
    cancel = Cancel()
    threading.Timer(0.2, cancel.set).start()
    with ScriptedSearxng(behave="slow") as server:
        began = time.monotonic()
        for backend in ("searxng", "auto"):
            stopped = replace(context(server.url, search_backend=backend), cancel=cancel)
            result = REGISTRY.execute("web_search", {"query": "x"}, stopped)
            assert result.error is not None
            assert result.error.kind == "stopped"
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "base",
    [
        *(
            "http://search.example",
            "http://search.example/",
            "http://search.example/search",
            "search.example",
        ),
        *(
            "http://search.example/search/",
            "http://search.example/search?q=<query>",
            " http://search.example/?q=x ",
        ),
    ],
)
def test_the_address_is_taken_as_people_write_it(base: str) -> None:
    assert search_address(base) == "http://search.example/search"


def test_the_address_may_have_a_sub_path() -> None:
    assert search_address("https://example.org:8443/searxng/") == "https://example.org:8443/searxng/search"
    assert search_address("[::1]:8888") == "http://[::1]:8888/search"
    for nonsense in ("http://", "", "http://[::1", "/search"):
        with pytest.raises(Failure, match="no SearXNG"):
            search_address(nonsense)


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("plain words", "plain words"),
        ("!!w solar", "!! w solar"),
        ("hello !news world", "hello ! news world"),
        ("css :root colours", "css : root colours"),
        ("values <5 volts", "values < 5 volts"),
        ("?x", "? x"),
        ("avg 1 2 3", '"avg" 1 2 3'),
        ("Max Verstappen", '"Max" Verstappen'),
        ("max", "max"),
        ("C++ a!b 5:30 x<y what? wow!", "C++ a!b 5:30 x<y what? wow!"),
    ],
)
def test_a_query_gives_the_server_no_orders(query: str, sent: str) -> None:
    assert as_plain_text(query) == sent


def test_the_check_of_the_settings_makes_a_real_search() -> None:
    with ScriptedSearxng(TWO) as server:
        found = check_searxng(server.url + "/search")
        assert (found.results, found.engines, found.failed) == (2, ("scripted",), ())
        assert found.seconds >= 0
        assert server.requests[0].path == "/search"
    with ScriptedSearxng([]) as server, pytest.raises(Failure, match="finds nothing at all"):
        check_searxng(server.url)
    with ScriptedSearxng(behave="no_json") as server, pytest.raises(Failure, match="does not allow JSON"):
        check_searxng(server.url)


def test_results_are_made_clean() -> None:
    shown = clean_results(
        [
            {
                "url": "https://a.example/x?utm_source=n&b=1",
                "title": "<b>A</b> &amp; B",
                "content": "x<br>y &lt;z&gt;",
            },
            {"href": "http://www.a.example/x/?b=1", "title": "the same page", "body": ""},
            {"url": "https://b.example/", "title": None, "snippet": "5 < 6 > 4, a<b and c>d"},
            {
                "url": "https://c.example/<script>",
                "title": "\u202eevil\ue000",
                "body": "<script>alert(1)</script>seen",
            },
            {"url": "javascript:alert(1)", "title": "x"},
            {"url": "https://user:pw@d.example/", "title": "x"},
            {"url": "http:///no-host", "title": "x"},
            {"url": "https://e.example:99999/", "title": "x"},
            {"url": None},
            {"url": 5},
        ]
    )
    assert [result.href for result in shown] == [
        "https://a.example/x?utm_source=n&b=1",
        "https://b.example/",
        "https://c.example/<script>",
    ]
    assert [(result.title, result.body) for result in shown] == [
        ("A & B", "xy <z>"),
        ("https://b.example/", "5 < 6 > 4, a<b and c>d"),
        ("evil", "seen"),
    ]


def test_what_a_search_found_can_be_read() -> None:
    with ScriptedSite() as site, ScriptedSearxng(lambda query: site.search_results()) as server:
        both = context(server.url, allow_hosts=("127.0.0.1",))
        found = REGISTRY.execute("rechercher_web", {"requete": "IA", "nb_resultats": 2}, both)
        page = REGISTRY.execute("lire_page", {"url": found.data[0]["href"]}, both)
    assert page.error is None
    assert page.sources[0].read
    assert page.sources[0].url == found.sources[0].url
