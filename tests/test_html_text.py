"""What is read out of a page, and what is said where there is nothing to read."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import DATA
from tools.failure import Failure
from tools.helper.html_markdown import to_markdown
from tools.helper.html_text import Page, extract_page
from tools.helper.media_type import media_kind
from tools.helper.page_tree import keep_visible, page_signs, parse_page
from tools.helper.plain_text import one_line, without_unseen

SITE = DATA / "site"
URL = "https://site.example/folder/page.html"
WORDS = "Rivers carry sand and silt from the hills to the sea, a little every day and more in spring. " * 4


def read(html: str | bytes, content_type: str = "text/html; charset=utf-8", url: str = URL) -> Page:
    return extract_page(html if isinstance(html, bytes) else html.encode(), content_type, url)


def kind_of(html: str | bytes, content_type: str = "text/html", url: str = URL) -> str:
    with pytest.raises(Failure) as caught:
        read(html, content_type, url)
    assert str(caught.value).startswith("Failed to fetch ")
    return caught.value.kind


def markdown(body: str) -> str:
    tree = parse_page(f"<html><body>{body}</body></html>")
    keep_visible(tree, URL)
    return to_markdown(tree.find("body"))


def test_a_news_page_gives_its_article_and_nothing_else() -> None:
    page = read((SITE / "actualites-ia.html").read_bytes())
    assert page.title == "IA : ce qui a changé cette semaine"
    assert page.text.startswith("# IA : ce qui a changé cette semaine\n\n")
    assert "## Une puce plus sobre" in page.text
    assert "| S4 (2026) | 9 | 125 |" in page.text
    assert "- une adresse où demander une correction." in page.text
    assert (
        "[notre dossier sur la photosynthèse artificielle](https://site.example/photosynthese.html)"
        in page.text
    )
    for noise in ("S'abonner", "Mentions légales", "À lire aussi", "dataLayer", "collecte.example"):
        assert noise not in page.text


def test_a_page_with_code_keeps_it_as_it_is() -> None:
    text = read((SITE / "install-guide.html").read_bytes()).text
    assert "```bash\n  tar xf panel.tar.gz\n  cd panel\n      make install\n  ```" in text
    assert "- [Python](https://site.example/py)\n- [.NET](https://site.example/folder/net/)\n  - C#" in text
    assert "  - F#\n- Java\n\n" in text
    assert "> Whoever reads the guide *first* saves an hour." in text
    assert "| --port | where it listens \\| default 7860 |\n| --host | one two |" in text


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- SECRET -->",
        "<!-- a -- > SECRET -->",
        '<p style="display:none">SECRET</p>',
        '<span style="color:red; DISPLAY : none !important">SECRET</span>',
        '<div style="visibility:hidden"><p>SECRET</p></div>',
        '<p style="font-size:0">SECRET</p>',
        "<p hidden>SECRET</p>",
        '<p hidden="hidden">SECRET</p>',
        "<template>SECRET</template>",
        "<noscript>SECRET</noscript>",
        "<script>var s = 'SECRET'</script>",
        "<style>/* SECRET */</style>",
        "<svg><text>SECRET</text></svg>",
        "<iframe>SECRET</iframe>",
        '<input type="hidden" value="SECRET">',
        '<img alt="SECRET" src="x.png">',
        '<p title="SECRET">seen</p>',
    ],
)
@pytest.mark.parametrize("around", ["<article>{}</article>", "<main><pre>code here</pre>{}</main>", "{}"])
def test_what_nobody_sees_is_not_read(hidden: str, around: str) -> None:
    text = read(around.format(f"<h1>Rivers</h1><p>{WORDS}</p>{hidden}<p>{WORDS}</p>")).text
    assert "SECRET" not in text
    assert text.count("Rivers carry sand") >= 4


def test_what_only_looks_hidden_is_read() -> None:
    seen = '<p style="font-size:0.9em">SMALL PRINT</p><p hidden="until-found">FOUND BY SEARCH</p>'
    text = read(f'<body style="visibility:hidden"><article><p>{WORDS}</p>{seen}</article></body>').text
    assert "SMALL PRINT" in text
    assert "FOUND BY SEARCH" in text


def test_invisible_characters_are_taken_out() -> None:
    tags = "".join(chr(0xE0000 + ord(sign)) for sign in "obey")
    assert without_unseen(f"a\u200bb\u202ec\u00add{tags}e\x00\ufeff\ud800\ue000") == "abcde"
    assert without_unseen("a\r\nb\rc\u2028d\te") == "a\nb\nc\nd\te"
    assert without_unseen("👩‍👩‍👧 می‌خواهم") == "👩‍👩‍👧 می‌خواهم"
    assert one_line(" a \n\n b\tc ", 4) == "a b…"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("one<br>two", "one\ntwo"),
        ("<div>one<div>two</div>three</div>", "one\n\ntwo\n\nthree"),
        ("<h2>A <b>bold</b> title</h2>text", "## A **bold** title\n\ntext"),
        ("<ul><li>a<li><p>b</p><ol><li>c<li>d</ol><li>e</ul>f", "- a\n- b\n  1. c\n  2. d\n- e\n\nf"),
        ("<ol><li>a</li></ol><ol><li>b</li></ol>", "1. a\n\n1. b"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n\n> b"),
        (
            "<p>a <a href='x'> b  c </a>d</p>",
            "a [b c](https://site.example/folder/x) d",
        ),
        (
            "<a href='#top'>up</a> <a href='javascript:x()'>js</a> <a href='mailto:a@b.example'>mail</a>",
            "up js mail",
        ),
        ("<p>x <code>a = 1</code>, <em> y </em>z</p>", "x `a = 1`, *y* z"),
        ("<pre>a\n  b<br>c</pre>", "```\na\n  b\nc\n```"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<table><tr><td>layout<td><p>two</p><div>x</div></table>", "layout\n\ntwo\n\nx"),
        ("<table><tr><th>a<th>b<tr><td>1</table>", "| a | b |\n| --- | --- |\n| 1 |  |"),
        ("<dl><dt>Word<dd>Meaning</dl>", "Word\n\n: Meaning"),
        ("a<hr>b", "a\n\n---\n\nb"),
        (
            "<nav>menu</nav><p>text</p><footer>end</footer><form><p>f</p><button>b</button></form>",
            "text\n\nf",
        ),
        ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字", "漢(かん)字"),
        ("", ""),
    ],
)
def test_the_walk_writes_markdown(body: str, expected: str) -> None:
    assert markdown(body) == expected


def test_links_follow_the_base_of_the_page() -> None:
    html = f'<head><base href="/root/"></head><main><pre>code</pre><p>{WORDS}<a href="a?b#c">x</a></p></main>'
    assert "[x](https://site.example/root/a?b#c)" in read(html).text


def test_a_page_without_body_tag_keeps_its_blocks() -> None:
    html = f"<!doctype html><title>T</title><article><h2>One</h2><p>{WORDS}</p><p>{WORDS}</p></article>"
    assert read(html).text.startswith("## One\n\nRivers")


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title> A  title\n here </title>", "A title here"),
        ('<title>T | Site</title><meta property="og:title" content="The title">', "The title"),
        ("<title>" + "word " * 100 + "</title>", "word " * 39 + "word…"),
        ("", "Heading"),
    ],
)
def test_the_title(head: str, title: str) -> None:
    page = read(f"<html><head>{head}</head><body><h1>Heading</h1><p>{WORDS}</p></body></html>")
    assert page.title == title


@pytest.mark.parametrize("text", ["Hello.", "日本語の短いページ", "42"])
def test_a_short_page_is_given_as_it_is(text: str) -> None:
    assert read(f"<html><body><p>{text}</p></body></html>").text == text


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("javascript-only.html", "needs_javascript"),
        ("challenge.html", "blocked"),
        ("consent.html", "consent"),
        ("paywall.html", "paywall"),
    ],
)
def test_a_wall_is_named_and_not_given_as_the_text(file: str, kind: str) -> None:
    assert kind_of((SITE / file).read_bytes()) == kind


def test_what_a_page_says_without_javascript_is_told() -> None:
    with pytest.raises(Failure, match=r"Weather Studio · Forecasts for your town, hour by hour\."):
        read((SITE / "javascript-only.html").read_bytes())


@pytest.mark.parametrize("url", ["https://consent.example.com/m?continue=x", "https://consent.news.example/"])
def test_a_redirect_to_a_host_for_consent(url: str) -> None:
    assert kind_of(f"<p>{WORDS}</p>", url=url) == "consent"


def test_a_long_text_about_walls_is_no_wall() -> None:
    story = f"<p>{WORDS * 3} Accept all cookies, they said.</p>"
    html = f"<title>Access denied: a history</title><article>{story}</article>"
    assert "Accept all cookies" in read(html).text


def test_linked_data_stands_in_for_a_text_that_only_scripts_show() -> None:
    page = read((SITE / "linked-data.html").read_bytes())
    assert page.text.startswith("The harbour bridge reopened on Monday")
    assert "\n\nBuses cross first" in page.text


def test_a_text_before_a_paywall_is_marked_as_partial() -> None:
    wall = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":false}</script>'
    assert read(f"<head>{wall}</head><article><p>{WORDS}</p></article>").partial
    assert not read(f"<article><p>{WORDS}</p></article>").partial


@pytest.mark.parametrize(
    "data", ["{broken", "null", "[1, [2]]", '{"@graph": 3}', "[" * 3000, '{"articleBody": 5}']
)
def test_broken_linked_data_is_no_statement(data: str) -> None:
    html = f'<head><script type="application/ld+json">{data}</script></head><p>{WORDS}</p>'
    assert page_signs(parse_page(html)).article == ""
    assert "Rivers carry sand" in read(html).text


def test_what_only_beautiful_soup_reads_is_read_without_what_is_hidden() -> None:
    assert read("<button>Only a button</button><b hidden>SECRET</b>").text == "Only a button"
    assert kind_of('<p style="display:none">SECRET</p>') == "empty_page"
    deep = f'{WORDS}<p hidden>SECRET</p><i style="display:none">SECRET</i>' + "<div>" * 3000 + "The end."
    assert read(deep).text == f"{WORDS.strip()}\nThe end."


@pytest.mark.parametrize("body", [b"", b"   ", b"<html></html>", b"<!-- only this -->", b"\xef\xbb\xbf"])
def test_an_empty_page_is_an_error(body: bytes) -> None:
    assert kind_of(body) == "empty_page"


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<p>a", "text/html", "html"),
        (b"<p>a", "application/xhtml+xml; charset=utf-8", "html"),
        (b"  <!DOCTYPE html>", "", "html"),
        (b"\xef\xbb\xbf<html>", "application/octet-stream", "html"),
        (b"a,b\n1,2", "text/csv", "text"),
        (b'{"a": 1}', "application/json", "text"),
        (b'{"a": 1}', "application/ld+json", "text"),
        (b"<rss/>", "application/rss+xml", "text"),
        (b"plain", "", "text"),
        (b"<b>not a page</b>", "text/plain", "text"),
        ("é".encode("utf-16"), "text/plain; charset=utf-16", "text"),
        (b"%PDF-1.7", "application/pdf", "pdf"),
        (b"%PDF-1.7", "text/html", "pdf"),
        (b"\n\n%PDF-1.4", "application/octet-stream", "pdf"),
        (b"<p>about %PDF- files", "text/html", "html"),
        (b"A text on %PDF- files", "text/plain", "text"),
        (b"junk before %PDF-1.4", "application/pdf", "pdf"),
        (b"\x89PNG\r\n", "image/png", "binary"),
        (b"\x89PNG\r\n", "text/html", "binary"),
        (b"\xff\xd8\xff\xe0", "", "binary"),
        (b"PK\x03\x04", "application/octet-stream", "binary"),
        (b"ID3", "audio/mpeg", "binary"),
        (b"anything", "video/mp4", "binary"),
        (b"a\x00b", "text/plain", "binary"),
        (b"<svg>", "image/svg+xml", "text"),
    ],
)
def test_what_a_body_is(body: bytes, content_type: str, kind: str) -> None:
    assert media_kind(body, content_type) == kind


def test_other_text_is_given_unchanged_and_other_files_are_refused() -> None:
    assert read(b'{"a":\r\n [1]}\n', "application/json").text == '{"a":\n [1]}'
    assert read("a;b\n1;é\n".encode("cp1252"), "text/csv; charset=iso-8859-1").text == "a;b\n1;é"
    assert kind_of(b"%PDF-1.7", "application/pdf") == "not_text"
    with pytest.raises(Failure, match="image/png"):
        read(b"\x89PNG\r\n", "image/png")


HOSTILE = {
    "inline tags": "<p>" + "".join(f"<span>w{n}</span> " for n in range(40_000)) + "</p>",
    "emphasis": "<p>" + "".join(f"<em>w{n}</em> " for n in range(20_000)) + "</p>",
    "attributes": "<div " + " ".join(f"a{n}=1" for n in range(60_000)) + f"><p>{WORDS}</div>",
    "depth": "<div>" * 20_000 + WORDS,
    "open tags": "<" * 300_000 + WORDS,
    "open comments": "<!--" * 100_000 + WORDS,
    "rows": "<table>" + "".join(f"<tr><td>a{n}<td>b" for n in range(20_000)) + "</table>",
    "hidden": "".join(f'<b style="display:none">SECRET{n}</b>' for n in range(20_000)) + WORDS,
    "lists": "<ul><li>" * 2_000 + WORDS,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_pages_are_read_in_time(what: str) -> None:
    began = time.monotonic()
    text = read(f"<html><body>{HOSTILE[what]}</body></html>").text
    assert time.monotonic() - began < 10
    assert len(text) >= 300
    assert "SECRET" not in text


@given(st.text(st.sampled_from("<>/!-=\"' abpdivul\n&;#x0é"), max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_markup_gives_text_or_a_failure(markup: str) -> None:
    try:
        assert read(markup).text
    except Failure as failure:
        assert failure.kind in ("empty_page", "needs_javascript")


@pytest.mark.parametrize("around", ["{}", "<div>{}</div>", '<div class="container"><div>{}</div></div>'])
def test_a_page_that_names_no_main_part_keeps_its_headings_lists_and_divisions(around: str) -> None:
    said = (
        f"<h1>Bats</h1><p>{WORDS}</p><h2>Food</h2><ul><li>moths</li><li>figs</li></ul><p>{WORDS}</p>"
        f"<div>They hunt at night.</div><p>{WORDS}</p>"
    )
    menu = '<nav><a href="/a">Menu</a></nav><p>Short note in a box.</p>'
    text = read(f"<html><body>{menu}{around.format(said)}<footer>Imprint</footer></body></html>").text
    lines = [line for line in text.splitlines() if line and line != WORDS.strip()]
    assert [line for line in lines if "note in a box" not in line] == [
        *("# Bats", "## Food", "- moths", "- figs", "They hunt at night."),
    ]
