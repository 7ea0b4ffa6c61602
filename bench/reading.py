"""How well, how fast and how safely pages and PDFs are read.

`reading.f1`: 91 news pages with the true text of their articles, from article-extraction-benchmark
(github.com/scrapinghub/article-extraction-benchmark), scored as its evaluate.py does: shingles of 4 words,
precision and recall averaged over the pages. `reading.f1_gain` is ours minus plain trafilatura's on the same
pages; `reading.time_ratio` the mean time through the worker over trafilatura's in process, pages interleaved,
of each page the best of several times.
These pages are other people's: `--articles=DIR` says where they are.

`reading.paged_ratio`: a page of 2 MB read to its end in parts, over one extraction. `reading.pdf_ratio`: a
PDF of 500 pages in parts, over one straight pass of pypdfium2; `reading.pdf_vs_pypdf`: reading it anew with
pypdf for every part, over ours. `reading.hostile_seconds`: the slowest of pages that are made to be slow, in
a worker with 1 GiB of memory.
"""

import gzip
import io
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.report import Promise, Report, machine
from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.html_text import Page, extract_page
from tools.helper.worker import workers

ARTICLES = Path(__file__).parent.parent.parent / "shared" / "cases" / "articles"
PDF_PAGES = 500
TIMES = 5
NOBODY = Cancel()
_WORDS = re.compile(r"\w+")

Row = dict[str, Any]
Scores = tuple[float, float]
"""Precision and recall."""


def bench(articles: Path = ARTICLES) -> Report:
    """All of it; without the articles, what can be measured without them."""
    promises: dict[str, Promise] = {}
    rows: list[Row] = []
    if articles.is_dir():
        _articles(articles, promises, rows)
    else:
        print(f"No articles at {articles}: skipped, their promises are not measured.", file=sys.stderr)
    _paged(promises, rows)
    _pdf(promises, rows)
    _hostile(promises, rows)
    return Report("reading", promises, rows)


def _row(side: str, what: str, value: float, of: str = "") -> Row:
    return {"side": side, "what": what, "value": value, "versions": of}


def _articles(folder: Path, promises: dict[str, Promise], rows: list[Row]) -> None:
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    scores: dict[str, list[Scores]] = {name: [] for name in SIDES}
    seconds: dict[str, list[float]] = {name: [] for name in SIDES}
    empty = 0
    for path in sorted((folder / "html").glob("*.html.gz")):
        page, true = gzip.decompress(path.read_bytes()), truth[path.name.removesuffix(".html.gz")]
        url = true.get("url") or "https://example.org/"
        for name, best in _best_seconds(page, url).items():
            seconds[name].append(best)
        for name, (read, shown) in SIDES.items():
            text = shown(read(page, url))
            scores[name].append(_score(true["articleBody"], text))
            empty += name == "panel" and not text.strip()
    f1 = {name: _f1(of_pages) for name, of_pages in scores.items()}
    means = {name: statistics.mean(times) for name, times in seconds.items()}
    promises["reading.f1"] = Promise(f1["panel"], 0.95, "at least")
    promises["reading.f1_gain"] = Promise(f1["panel"] - f1["trafilatura"], 0.0, "at least")
    promises["reading.empty"] = Promise(empty, 0)
    promises["reading.time_ratio"] = Promise(means["panel"] / means["trafilatura"], 1.25)
    for name in SIDES:
        rows.append(_row(name, f"F1 of {len(scores[name])} articles", f1[name], machine("trafilatura")))
        rows.append(_row(name, "ms a page, mean", 1000 * means[name], machine("trafilatura")))


def _best_seconds(page: bytes, url: str) -> dict[str, float]:
    """For each side, how long it takes to read the page, the sides by turns."""
    times: dict[str, list[float]] = {name: [] for name in SIDES}
    for _ in range(TIMES):
        for name, (read, _) in SIDES.items():
            times[name].append(_seconds(partial(read, page, url)))
    return {name: min(taken) for name, taken in times.items()}


def _ours(page: bytes, url: str) -> Page:
    try:
        return workers.run(30, NOBODY, extract_page, page, "text/html", url)
    except Failure:
        return Page("", "")


def _plain(page: bytes, url: str) -> str:
    import trafilatura

    return trafilatura.extract(page, fast=True, include_comments=False) or ""


def _plain_text(page: Page) -> str:
    """Our Markdown without its marks, and without a first line that is the title."""
    from markdown_it import MarkdownIt

    first, _, rest = page.text.partition("\n")
    markdown = rest if first.startswith("# ") and first.lstrip("# ") == page.title else page.text
    blocks = MarkdownIt("commonmark").enable("table").parse(markdown)
    return "\n".join(
        block.content if not block.children else "".join(_shown(child) for child in block.children)
        for block in blocks
        if block.content
    )


def _shown(inline: Any) -> str:
    if inline.type in ("softbreak", "hardbreak"):
        return " "
    return "" if inline.type == "html_inline" else str(inline.content)


SIDES: dict[str, tuple[Callable[[bytes, str], Any], Callable[[Any], str]]] = {
    "panel": (_ours, _plain_text),
    "trafilatura": (_plain, str),
}
"""For each side how it reads a page, and how that is taken to text, which is not timed."""


def _score(true: str, found: str) -> Scores:
    expected, given = _shingles(true), _shingles(found)
    hits = sum((expected & given).values())
    wrong, missed = sum((given - expected).values()), sum((expected - given).values())
    if not wrong and not missed:
        return 1.0, 1.0
    return (hits / (hits + wrong) if hits else 0.0), (hits / (hits + missed) if hits else 0.0)


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORDS.findall(text)
    return Counter(tuple(words[at : at + 4]) for at in range(max(1, len(words) - 3)))


def _f1(scores: list[Scores]) -> float:
    precision, recall = (statistics.mean(part) for part in zip(*scores, strict=True))
    return 2 * precision * recall / (precision + recall)


def _paged(promises: dict[str, Promise], rows: list[Row]) -> None:
    """A long page by the tool itself, from a server on loopback."""
    from tests.servers.website import ScriptedSite

    paragraph = "<p>" + "A sentence of a very long page goes on and on, and then it ends. " * 15 + "</p>\n"
    html = f"<title>Long</title><article>{paragraph * (2_000_000 // len(paragraph))}</article>".encode()
    once, ours, parts = [], [], 0
    for number in range(TIMES):
        work = partial(workers.run, 60, NOBODY, extract_page, html, "text/html", "https://example.org/")
        once.append(_seconds(work))
        with ScriptedSite() as site:
            url = site.add(f"/{number}.html", html)
            began = time.perf_counter()
            parts = sum(1 for _ in _read_on("scrape_url", url=url))
            ours.append(time.perf_counter() - began)
    promises["reading.paged_ratio"] = Promise(min(ours) / min(once), 1.2)
    rows.append(_row("panel", f"seconds for 2 MB in {parts} parts", min(ours), machine("trafilatura")))
    rows.append(_row("panel", "seconds for one extraction of it", min(once), machine("trafilatura")))


def _pdf(promises: dict[str, Promise], rows: list[Row]) -> None:
    from tests.servers.website import ScriptedSite

    data = _made_pdf()
    straight, ours, parts = [], [], 0
    for number in range(TIMES):
        straight.append(_seconds(lambda: _straight(data)))
        with ScriptedSite() as site:
            url = site.add(f"/{number}.pdf", data, "application/pdf")
            began = time.perf_counter()
            parts = sum(1 for _ in _read_on("pdf_to_text", url_or_path=url))
            ours.append(time.perf_counter() - began)
    anew = statistics.mean(_seconds(lambda: _by_pypdf(data)) for _ in range(2)) * parts
    of = machine("pypdfium2", "pypdf")
    promises["reading.pdf_ratio"] = Promise(min(ours) / min(straight), 1.4)
    promises["reading.pdf_vs_pypdf"] = Promise(anew / min(ours), 5, "at least")
    rows.append(_row("panel", f"seconds for {PDF_PAGES} pages in {parts} parts", min(ours), of))
    rows.append(_row("pypdfium2", "seconds for one straight pass", min(straight), of))
    rows.append(_row("pypdf", f"seconds, anew for each of {parts} parts (2 measured)", anew, of))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _read_on(tool: str, **arguments: Any) -> Iterator[str]:
    """Every part of a document, as a model gets them."""
    from tools.helper.pagination import parse_paged_result
    from tools.registry import default_registry
    from tools.settings import ToolSettings
    from tools.tool import ToolContext

    context = ToolContext(settings=ToolSettings(allow_hosts=("127.0.0.1",)))
    while True:
        result = default_registry().execute(tool, arguments, context)
        assert result.error is None, result.text
        yield result.text
        token = parse_paged_result(result.text).next_token
        if token is None:
            return
        arguments = {"continue_from": token}


def _made_pdf() -> bytes:
    from fpdf import FPDF

    made = FPDF()
    made.set_font("Helvetica", size=11)
    for number in range(PDF_PAGES):
        made.add_page()
        made.multi_cell(0, 6, f"Page {number + 1} begins. " + "Some words follow that fill its lines. " * 60)
    return bytes(made.output())


def _straight(data: bytes) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    texts = []
    for number in range(len(document)):
        page = document[number]
        shown = page.get_textpage()
        texts.append(shown.get_text_bounded())
        shown.close()
        page.close()
    document.close()
    return "".join(texts)


def _by_pypdf(data: bytes) -> str:
    """What a tool without cursor and cache does for every part: the whole document."""
    from pypdf import PdfReader

    return "".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def _hostile(promises: dict[str, Promise], rows: list[Row]) -> None:
    from tests.servers.website import ScriptedSite

    slowest = 0.0
    with ScriptedSite() as site:
        pages = {
            name: site.add(f"/hostile-{number}", page)
            for number, (name, page) in enumerate(_hostile_pages().items())
        }
        pages |= {"gzip bomb": f"{site.url}/bomb", "endless stream": f"{site.url}/endless"}
        pages["a byte every 2 s"] = f"{site.url}/drip?seconds=2"
        for name, url in pages.items():
            took, outcome = _read_hostile(url)
            slowest = max(slowest, took)
            rows.append(_row(name, f"seconds until {outcome}", took))
    promises["reading.hostile_seconds"] = Promise(slowest, 12)


def _read_hostile(url: str) -> tuple[float, str]:
    from tools.registry import default_registry
    from tools.settings import ToolSettings
    from tools.tool import ToolContext

    context = ToolContext(settings=ToolSettings(allow_hosts=("127.0.0.1",)))
    began = time.perf_counter()
    result = default_registry().execute("scrape_url", {"url": url}, context)
    return time.perf_counter() - began, result.error.kind if result.error else "its text"


def _hostile_pages() -> dict[str, str]:
    return {
        "60,000 spans": "<p>" + "<span>word </span>" * 60_000,
        "60,000 attributes": "<p " + " ".join(f'a{number}="x"' for number in range(60_000)) + ">Some text.",
        "20,000 nested tags": "<div>" * 20_000 + "Deep text." + "</div>" * 20_000,
        "20,000 emphases": "<p>" + "<em>word</em> " * 20_000,
        "40,000 link paragraphs": '<p><a href="/x">link</a></p>' * 40_000,
        "20,000 table rows": "<table>" + "<tr><td>a<td>b" * 20_000 + "</table>",
    }
