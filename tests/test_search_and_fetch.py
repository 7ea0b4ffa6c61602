"""The tool that finds files and reads them, from the call that a model makes to what it is given."""

from collections.abc import Iterator
from typing import Any

import pytest
from fpdf import FPDF

from tests.servers.searxng import ScriptedSearxng
from tests.servers.website import ScriptedSite
from tools.helper.pagination import make_token, parse_paged_result
from tools.registry import default_registry
from tools.search_and_fetch import FILE_TYPES
from tools.settings import ToolSettings
from tools.tool import ToolContext, ToolResult

ROWS = "name,value\n" + "".join(f"row {number},{number}\n" for number in range(2000))


class World:
    """A search engine that finds what `found` says, and a site that has it."""

    def __init__(self, site: ScriptedSite, searxng: ScriptedSearxng) -> None:
        self.site = site
        self.searxng = searxng
        self.context = ToolContext(
            settings=ToolSettings(
                allow_hosts=("127.0.0.1",), searxng_url=searxng.url, search_backend="searxng"
            )
        )

    def find(self, *paths: str) -> None:
        self.searxng.results = [
            {"title": f"File {path}", "url": self.site.url + path, "content": "…"} for path in paths
        ]

    def fetch(self, **arguments: Any) -> ToolResult:
        return default_registry().execute("search_and_fetch", arguments, self.context)

    def read_on(self, first: ToolResult, **arguments: Any) -> list[ToolResult]:
        results = [first]
        while token := parse_paged_result(results[-1].text).next_token:
            results.append(self.fetch(continue_from=token, **arguments))
            assert len(results) < 200
        return results


@pytest.fixture
def world() -> Iterator[World]:
    with ScriptedSite() as site, ScriptedSearxng([]) as searxng:
        book = FPDF()
        book.set_font("Helvetica", size=11)
        for number in range(1, 31):
            book.add_page()
            book.multi_cell(0, 6, f"Page {number} of the book. " + "Words go on. " * 60)
        site.add("/book.pdf", bytes(book.output()), "application/pdf")
        site.add("/rows.csv", ROWS.encode(), "text/csv")
        site.add("/other.csv", b"a,b\n1,2\n", "text/csv")
        yield World(site, searxng)


def test_a_file_comes_under_a_header_that_tells_which(world: World) -> None:
    world.find("/rows.csv", "/other.csv")
    result = world.fetch(query="rows", file_type="csv")
    header, _, rest = result.text.partition("\n---\n")
    assert header.splitlines() == [
        "=== Candidate 1 ===",
        f"URL: {world.site.url}/rows.csv",
        "Title: File /rows.csv",
        "Type: csv",
        f"Size: {len(ROWS)} bytes",
        f"Characters: {len(ROWS.rstrip())}",
    ]
    assert rest.startswith("name,value\nrow 0,0\n")
    assert len(result.text) <= 8000


def test_all_files_are_read_to_their_ends_without_another_search(world: World) -> None:
    world.find("/rows.csv", "/book.pdf.csv", "/other.csv")
    parts = world.read_on(world.fetch(query="rows", file_type="csv"))
    told = "".join(part.text for part in parts)
    assert "row 1999,1999" in told and "a,b\n1,2" in told
    assert told.index("row 1999") < told.index("a,b")
    assert "book.pdf.csv" in told and "Passed over" in told
    assert len(world.searxng.requests) == 1
    assert sum(request.path == "/rows.csv" for request in world.site.requests) == 1


def test_pdfs_are_read_by_pages(world: World) -> None:
    world.find("/book.pdf")
    parts = world.read_on(world.fetch(query="the book", file_type="pdf", max_chars=4000), max_chars=4000)
    told = "".join(part.text for part in parts)
    assert all(f"Page {number} of the book." in told for number in range(1, 31))
    assert all(part.text.startswith("=== Candidate 1 ===") and len(part.text) <= 4000 for part in parts)
    assert parts[0].data["of_pages"] == 30


def test_files_of_the_type_come_first(world: World) -> None:
    world.find("/ai-news.html", "/other.csv")
    assert "/other.csv" in world.fetch(query="x", file_type="csv").text.splitlines()[1]


def test_a_file_of_another_type_gives_way(world: World) -> None:
    world.find("/ai-news.html", "/book.pdf")
    result = world.fetch(query="x", file_type="pdf", max_results=2)
    assert result.error is None and "/book.pdf" in result.text


def test_max_results_is_capped_by_the_setting(world: World) -> None:
    paths = [f"/{number}.csv" for number in range(6)]
    for path in paths:
        world.site.add(path, f"this is {path}".encode(), "text/csv")
    world.find(*paths)
    assert len(world.read_on(world.fetch(query="x", file_type="csv", max_results=10))) == 3
    assert len(world.read_on(world.fetch(query="x", file_type="csv", max_results=2))) == 2


def test_when_no_file_can_be_read_every_reason_is_told(world: World) -> None:
    world.find("/missing.csv", "/gone.csv")
    result = world.fetch(query="x", file_type="csv")
    assert result.error and result.error.kind == "no_file_read"
    assert "/missing.csv" in result.text and "/gone.csv" in result.text and "404" in result.text


def test_nothing_found_is_no_error(world: World) -> None:
    world.find()
    result = world.fetch(query="x", file_type="csv")
    assert result.error is None and result.data == []


def test_a_search_that_fails_is_an_error(world: World) -> None:
    world.searxng.behave = "no_json"
    result = world.fetch(query="x", file_type="csv")
    assert result.error and result.error.kind == "searxng_no_json"


@pytest.mark.parametrize(("arguments", "kind"), [({"query": " "}, "empty_query"), ({}, "file_type")])
def test_wrong_arguments_name_the_types(world: World, arguments: dict[str, str], kind: str) -> None:
    file_type = "csv" if kind == "empty_query" else "exe"
    result = world.fetch(**{"query": "x", "file_type": file_type, **arguments})
    assert result.error and result.error.kind == kind
    assert all(known in result.text for known in FILE_TYPES)


def test_a_token_that_was_tampered_with_reads_nothing_private(world: World) -> None:
    fields = {
        "file_idx": 0,
        "file_offset": 0,
        "pdf_page_index": 0,
        "pdf_page_char_offset": 0,
        "file_type": "csv",
    }
    private = [{"title": "x", "href": "http://10.0.0.1/secret.csv"}]
    for matched in (private, [], [1], [{"title": "x"}]):
        token = make_token("search_and_fetch", matched=matched, **fields)
        result = world.fetch(continue_from=token)
        assert result.error and result.error.kind in ("invalid_token", "no_file_read")
    assert not world.site.requests
