"""Pages that make a reader go wrong, from the call that a model makes to what it is given."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import Finished, StepFinished
from agent.settings import Settings
from tests.servers.ollama import call, say
from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite, long_article
from tests.test_loop import World, of
from tools.helper.pagination import parse_paged_result
from tools.registry import default_registry
from tools.settings import ToolSettings
from tools.tool import ToolContext, ToolResult

CONTEXT = ToolContext(settings=ToolSettings(allow_hosts=("127.0.0.1",)))
WORDS = "Rivers carry sand and silt from the hills to the sea, a little every day and more in spring. " * 4
JAPANESE = "日本語のページです。再生可能エネルギーについての記事を読みました。"
CHINESE = "可再生能源的新闻报道，今天在北京发布，内容很多。"


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with ScriptedSite() as server:
        yield server


def read(tool: str = "scrape_url", context: ToolContext = CONTEXT, **arguments: Any) -> ToolResult:
    return default_registry().execute(tool, arguments, context)


def read_to_its_end(tool: str = "scrape_url", **arguments: Any) -> list[ToolResult]:
    """All parts, each asked for by the token of the one before."""
    results = [read(tool, **arguments)]
    while token := parse_paged_result(results[-1].text).next_token:
        results.append(read(tool, continue_from=token, max_chars=arguments.get("max_chars", 0)))
        assert len(results) < 100
    return results


def error_of(result: ToolResult) -> str:
    assert result.error is not None, result.text[:200]
    assert result.error.cause and result.error.remedy and not result.sources
    return result.error.kind


def test_a_long_page_says_which_part_of_it_was_given_and_gives_none_of_what_stands_around(
    site: ScriptedSite,
) -> None:
    menu = "".join(f'<li><a href="/{number}">Menu entry {number}</a></li>' for number in range(300))
    around = f"<header><nav><ul>{menu}</ul></nav></header>", f"<footer><ul>{menu}</ul></footer>"
    url = site.add("/project", f"<body>{around[0]}<main>{long_article()}</main>{around[1]}</body>")
    first, *others = read_to_its_end(url=url)
    assert parse_paged_result(first.text).has_more
    assert (first.data["part"], first.data["of"]) == (1, 1 + len(others))
    assert 0 < first.data["end"] < first.data["characters"]
    assert "This is section 1 of" in first.text and "counted 1480 bridges" in others[-1].text
    assert not any("Menu entry" in part.text for part in (first, *others))


SHELLS = {
    "a root of any name": (
        '<title>Weather Studio</title><meta name="description" content="Forecasts for your town">',
        '<div id="shell"></div>',
        ("Weather Studio", "Forecasts for your town"),
    ),
    "what is shared": (
        '<meta property="og:title" content="Harbour"><meta property="og:description" content="Tide tables">',
        '<div id="q"></div>',
        ("Harbour", "Tide tables"),
    ),
    "a sign that it loads": ("<title>Shop</title>", "<p>Loading…</p>", ("Shop", "Loading")),
    "a text for those without scripts": (
        "<title>Docs</title>",
        '<div id="app"></div><noscript>This site needs JavaScript; its texts are on docs.example.</noscript>',
        ("Docs", "its texts are on docs.example"),
    ),
    "linked data": (
        '<title>Lamp</title><script type="application/ld+json">[{"@type": "Product", "name": "UVPLUS W60",'
        ' "description": "A germicidal lamp of 60 W", "brand": {"name": 7}, "headline": null}]</script>',
        '<div id="root"></div>',
        ("Lamp", "UVPLUS W60", "A germicidal lamp of 60 W"),
    ),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_page_of_scripts_says_so_and_all_that_it_says_without_them(site: ScriptedSite, shell: str) -> None:
    head, body, said = SHELLS[shell]
    url = site.add("/app", f'<head>{head}</head><body>{body}<script src="/app.js"></script></body>')
    result = read(url=url)
    assert error_of(result) == "needs_javascript"
    assert all(part in result.text for part in said)


def test_a_short_page_with_scripts_is_no_page_of_scripts(site: ScriptedSite) -> None:
    url = site.add(
        "/short", "<title>Loading docks</title><p>Loading docks open at six.</p><script>1</script>"
    )
    assert read(url=url).text == "Loading docks open at six."


CHALLENGES = {
    "title": ("Just a moment...", "<p>Complete the action below.</p>"),
    "title in Japanese": ("しばらくお待ちください...", "<p>Complete the action below.</p>"),
    "title in Chinese": ("请稍候…", "<p>Complete the action below.</p>"),
    "title of another guard": ("Access to this page has been denied", "<p>Complete the action below.</p>"),
    "work for the browser": ("Making sure you're not a bot!", "<p>Complete the action below.</p>"),
    "text": ("shop.example", "Just a moment...Enable JavaScript and cookies to continue"),
    "text without scripts": ("a", "<p>shop.example</p><noscript>Verify you are human</noscript>"),
    "traffic": ("Search", "<p>We have detected unusual traffic from your computer network.</p>"),
    "frame": ("", "<iframe>Request unsuccessful. Incapsula incident ID: 12-34</iframe>"),
}


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize("challenge", CHALLENGES)
def test_a_test_for_programs_is_never_given_as_the_page(
    site: ScriptedSite, challenge: str, status: int
) -> None:
    title, body = CHALLENGES[challenge]
    url = site.add("/guarded", f"<head><title>{title}</title></head><body>{body}</body>", status=status)
    result = read(url=url)
    assert error_of(result) == "blocked"
    assert "Complete the action" not in result.text and "don't guess" in result.text


@pytest.mark.parametrize("title", ["Un momento con Ana", "Just one page on human verification", "Blocked"])
def test_a_short_page_that_only_sounds_like_such_a_test_is_read(site: ScriptedSite, title: str) -> None:
    url = site.add("/poem", f"<title>{title}</title><p>A short poem on a bot that was asked what it is.</p>")
    assert "A short poem on a bot" in read(url=url).text


@pytest.fixture
def world(tmp_path: Path, site: ScriptedSite) -> Iterator[World]:
    with ScriptedSearxng(site.search_results()) as searxng:
        yield World(tmp_path / "pdfs", site, searxng)


def test_a_page_that_refuses_is_told_to_model_and_person_and_is_no_page_that_was_read(world: World) -> None:
    refused = world.site.add("/ai-news.html", "<h1>Forbidden</h1>", status=403)
    events = world.ask(
        [call("web_search", {"query": "AI news"}), call("scrape_url", {"url": refused}), say("It refused.")],
        language="en",
    )
    searched, read_page = (step.result for step in of(StepFinished, events))
    assert searched.error is None and error_of(read_page) == "blocked"
    told = [message["content"] for message in world.sent[-1]["messages"] if message["role"] == "tool"]
    assert "A phone-sized open model" in told[0], "the search had a snippet of it"
    assert "HTTP 403" in told[1] and "use another source" in told[1] and "don't guess" in told[1]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert {source.url: source.read for source in finished.sources}[refused] is False


@pytest.mark.parametrize("num_ctx", [2048, 4096, 16384])
def test_a_page_is_given_in_parts_that_the_window_of_the_model_has_room_for(
    world: World, num_ctx: int
) -> None:
    url = world.site.add("/front", long_article(400))
    world.ask(
        [call("scrape_url", {"url": url, "max_chars": 100_000}), say("Read.")],
        "Sum up",
        language="en",
        num_ctx=num_ctx,
    )
    request = world.sent[-1]
    [page] = [message["content"] for message in request["messages"] if message["role"] == "tool"]
    assert 1500 < len(page) <= Settings().result_chars(num_ctx)
    assert parse_paged_result(page).next_token, "the rest can be asked for"
    assert request["options"]["num_ctx"] == num_ctx
    told = sum(len(message["content"]) for message in request["messages"]) + len(str(request["tools"]))
    assert told / 4 < num_ctx, "more than the window holds, at four characters a token"


@pytest.mark.parametrize(
    ("text", "codec", "content_type", "head"),
    [
        (CHINESE, "gbk", "text/html; charset=gbk", ""),
        (
            CHINESE,
            "gb2312",
            "text/html",
            '<meta http-equiv="Content-Type" content="text/html; charset=gb2312">',
        ),
        (CHINESE, "gb18030", "text/html; charset=utf-8", ""),
        (JAPANESE, "shift_jis", "text/html", ""),
        (JAPANESE, "euc-jp", "", ""),
        (JAPANESE, "utf-16", "text/html; charset=iso-8859-1", ""),
    ],
)
def test_a_page_is_read_by_the_encoding_that_it_has(
    site: ScriptedSite, text: str, codec: str, content_type: str, head: str
) -> None:
    title = text[-6:]
    html = f"<html><head>{head}<title>{title}</title></head><body><p>{text * 3}</p></body></html>"
    result = read(url=site.add("/encoded", html.encode(codec), content_type))
    assert result.text == f"# {title}\n\n{text * 3}"


def test_a_file_that_fails_costs_no_other_file(site: ScriptedSite) -> None:
    site.add_page("/gone.csv", lambda request, reply: reply.hang_up(reset=True))
    site.add("/refused.csv", "", status=403)
    site.add("/broken.csv", b"\x89PNG\r\n\x1a\n", "text/csv")
    site.add("/good.csv", "a,b\n1,2\n", "text/csv")
    paths = ("/gone.csv", "/refused.csv", "/broken.csv", "/good.csv")
    with ScriptedSearxng([{"title": path, "url": site.url + path, "content": ""} for path in paths]) as found:
        settings = CONTEXT.settings.model_copy(
            update={"searxng_url": found.url, "search_backend": "searxng", "fetch_max_results": 4}
        )
        result = read("search_and_fetch", replace(CONTEXT, settings=settings), query="x", file_type="csv")
    assert result.error is None and "a,b\n1,2" in result.text
    assert all(f"Passed over: {site.url}{path}" in result.text for path in paths[:-1])


@pytest.mark.parametrize(
    ("text", "end"), [("Foo " + "本" * 5000, "本"), ("題 " + "これは一つの文です。" * 600, "。")]
)
def test_a_text_without_blanks_is_cut_where_the_room_ends_and_not_at_its_only_blank(
    site: ScriptedSite, text: str, end: str
) -> None:
    parts = read_to_its_end(url=site.add("/unspaced.txt", text, "text/plain; charset=utf-8"), max_chars=4000)
    texts = [parse_paged_result(part.text).text for part in parts]
    assert "".join(texts) == text
    assert len(texts) == 2 and len(texts[0]) > 3000 and texts[0].endswith(end)


@pytest.mark.parametrize(
    "code", ["", '<pre><code class="language-python">def f():\n    return 1</code></pre>']
)
def test_tables_definitions_and_code_keep_their_form(site: ScriptedSite, code: str) -> None:
    facts = (
        "<tr><th>Wingspan</th><td>175 cm</td></tr><tr><th>Mass</th><td>1.5 kg</td></tr>"
        "<tr><th>Found in</th><td><div><ul><li>Asia</li> <li>Europe</li></ul></div></td></tr>"
    )
    terms = "<dl><dt>Alula</dt><dd>The thumb of a wing.</dd><dt>Crest</dt><dd><p>Feathers.</p></dd></dl>"
    body = f"<h1>Heron</h1><p>{WORDS}</p><table>{facts}</table><h2>Terms</h2>{terms}{code}<p>{WORDS}</p>"
    text = read(url=site.add("/heron", f"<article>{body}</article>")).text
    lines = text.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert rows[:1] + rows[2:3] == ["| Wingspan | 175 cm |", "| Mass | 1.5 kg |"]
    assert set(rows[1]) <= set("| -")
    assert len(rows) == 4 and re.fullmatch(r"\| Found in \| Asia,? Europe \|", rows[3])
    assert {": The thumb of a wing.", ": Feathers."} <= set(lines)
    assert not code or "```python\ndef f():\n    return 1\n```" in text


def test_a_page_that_a_table_lays_out_keeps_its_headings_and_lists(site: ScriptedSite) -> None:
    text = f"<h1>Heron</h1><p>{WORDS}</p><ul><li>It wades.</li><li>It waits.</li></ul><p>{WORDS}</p>"
    url = site.add("/old", f"<table><tr><td><a href=/>Menu</a></td><td>{text}</td></tr></table>")
    assert "# Heron\n\nRivers carry" in read(url=url).text
    assert "\n\n- It wades.\n- It waits.\n\n" in read(url=url).text
