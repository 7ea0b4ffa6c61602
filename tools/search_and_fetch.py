"""The tool that finds files of a type on the web and reads them, one after the other, part by part."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import model_validator

from tools.failure import Failure
from tools.helper.pagination import format_page_to_limit, parse_token, was_repaired
from tools.helper.pdf_parts import PdfReader
from tools.helper.plain_text import one_line
from tools.helper.readable import Pdf, Readable, Text
from tools.helper.search_result import SearchResult
from tools.reading import keep_file, read_source
from tools.tool import Arguments, Source, Tool, ToolContext, ToolResult
from tools.web_search import search

NAME = "search_and_fetch"
FILE_TYPES = ("pdf", "csv", "txt", "md", "json", "html", "htm", "xml", "py", "js", "ts")

_CANDIDATES = 10
"""Search results among which files of the type are looked for."""

_LONGEST_TITLE = 100


class FetchArguments(Arguments):
    """`continue_from` beats the rest; 0 or less means the default."""

    query: str
    file_type: str
    max_results: int = 0
    max_chars: int = 0
    continue_from: str = ""

    @model_validator(mode="before")
    @classmethod
    def _token_is_enough(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("continue_from"):
            return {"query": "", "file_type": "", **given}
        return given


@dataclass(frozen=True)
class _Place:
    """Where to read: among the files that were found, in a text or on a page of a PDF (from 0)."""

    matched: tuple[Mapping[str, str], ...]
    file_type: str
    file: int = 0
    offset: int = 0
    page: int = 0
    page_offset: int = 0

    @property
    def is_start(self) -> bool:
        return not (self.offset or self.page or self.page_offset)

    @property
    def url(self) -> str:
        return self.matched[self.file]["href"]

    def fields(self, file: int, offset: int = 0, page: int = 0, page_offset: int = 0) -> dict[str, Any]:
        """Those of a token for another place among the same files."""
        return {
            "matched": list(self.matched),
            "file_idx": file,
            "file_offset": offset,
            "pdf_page_index": page,
            "pdf_page_char_offset": page_offset,
            "file_type": self.file_type,
        }

    def next_file(self) -> "_Place | None":
        if self.file + 1 >= len(self.matched):
            return None
        return _Place(self.matched, self.file_type, self.file + 1)


def search_and_fetch(arguments: FetchArguments, context: ToolContext) -> ToolResult:
    """A part of one of the files that were found, under a header that tells which.

    A file that can't be read gives way to the next, and the result says so. Raises Failure: "empty_query",
    "file_type", those of searching and of tokens, "no_file_read" when none could be read.
    """
    wished = arguments.max_chars if arguments.max_chars > 0 else context.settings.fetch_max_chars
    limit = min(wished, context.max_result_chars)
    notes: list[str] = []
    if arguments.continue_from.strip():
        place: _Place | None = _resumed(arguments.continue_from, notes, context)
    else:
        place = _found(arguments, context)
    if place is None:
        return ToolResult(context.locale("results.no_results", query=one_line(arguments.query)), data=[])
    failed: list[str] = []
    while place:
        try:
            return _part(place, limit, "".join(f"{line}\n" for line in notes + failed), context)
        except Failure as failure:
            if failure.kind in ("stopped", "max_chars_too_small"):
                raise
            told = failure.told(context.locale)
            failed.append(context.locale("results.file_failed", url=place.url, cause=told.cause))
            context.progress(failed[-1])
        place = place.next_file()
    raise Failure("no_file_read", reasons=" ".join(failed))


TOOL = Tool(NAME, search_and_fetch, FetchArguments, read_only=True, seconds=120)


def _resumed(token: str, notes: list[str], context: ToolContext) -> _Place:
    """The place that a token names; a repaired one is told in `notes`. Raises InvalidTokenError."""
    names = ("matched", "file_idx", "file_offset", "pdf_page_index", "pdf_page_char_offset", "file_type")
    parsed = parse_token(token, NAME, *names)
    matched, file = tuple(parsed["matched"]), parsed["file_idx"]
    sound = all(isinstance(each, dict) and isinstance(each.get("href"), str) for each in matched)
    if not sound or file >= len(matched):
        raise Failure("invalid_token")
    places = (parsed[name] for name in ("file_offset", "pdf_page_index", "pdf_page_char_offset"))
    place = _Place(matched, parsed["file_type"], file, *places)
    if was_repaired(token, parsed):
        key = "token_repaired_pdf" if place.file_type == "pdf" else "token_repaired"
        where = {"url": place.url, "offset": place.offset, "page": place.page + 1}
        notes.append(context.locale(f"results.{key}", **where))
    return place


def _found(arguments: FetchArguments, context: ToolContext) -> _Place | None:
    """The beginning of the first file that a search finds; None when it finds nothing."""
    query, file_type = one_line(arguments.query), arguments.file_type.strip().lower().lstrip(".")
    if not query:
        raise Failure("empty_query", types=", ".join(FILE_TYPES))
    if file_type not in FILE_TYPES:
        raise Failure("file_type", given=file_type, types=", ".join(FILE_TYPES))
    most = context.settings.fetch_max_results
    wanted = min(arguments.max_results, most) if arguments.max_results > 0 else most
    results = search(f"{query} filetype:{file_type}", _CANDIDATES, context).results
    ranked = sorted(results, key=lambda result: _ending(result.href) != file_type)[:wanted]
    return _Place(tuple(map(_matched, ranked)), file_type) if ranked else None


def _matched(result: SearchResult) -> dict[str, str]:
    return {"title": one_line(result.title, _LONGEST_TITLE), "href": result.href}


def _ending(url: str) -> str:
    """The type that an address names, such as "pdf"; "" where it names none."""
    return PurePosixPath(unquote(urlsplit(url).path)).suffix.lstrip(".").lower()


def _part(place: _Place, limit: int, note: str, context: ToolContext) -> ToolResult:
    context.progress(context.locale("results.file_reading", url=place.url))
    read = read_source(place.url, context)
    _check_type(read, place.file_type)
    next_file = place.next_file()
    following = place.fields(next_file.file) if next_file else None
    if place.is_start and (kept := keep_file(read, context)):
        note += f"{kept}\n"
    header = note + _header(read, place)
    if isinstance(read, Text):
        text = read.page.text
        if place.offset >= len(text):
            raise Failure("offset_beyond_end", offset=place.offset, characters=len(text))
        part = format_page_to_limit(
            text,
            place.offset,
            limit,
            NAME,
            lambda end: place.fields(place.file, end),
            note=header,
            following=following,
        )
        facts = {"part": part.number, "of": part.of, "offset": place.offset, "end": part.end}
        return _result(part.result, read, place, facts)
    reader = PdfReader(read, context.settings.max_pdf_pages, context.locale, context.cancel)
    pdf_part = reader.part(
        (place.page, place.page_offset),
        limit,
        NAME,
        lambda page, offset: place.fields(place.file, 0, page, offset),
        header,
        following,
    )
    pages = {"pages": [pdf_part.first, pdf_part.last], "of_pages": read.count}
    return _result(pdf_part.result, read, place, pages)


def _check_type(read: Readable, file_type: str) -> None:
    """Raises Failure where the file is of another kind than was asked for."""
    if (file_type == "pdf") != isinstance(read, Pdf):
        raise Failure("other_file_type", url=read.url, type=file_type)


def _header(read: Readable, place: _Place) -> str:
    title = place.matched[place.file].get("title", "")
    whole = "" if isinstance(read, Text) else f" ({read.count} pages)"
    characters = len(read.page.text) if isinstance(read, Text) else read.characters
    return (
        f"=== Candidate {place.file + 1} ===\nURL: {read.url}\nTitle: {one_line(title)}\n"
        f"Type: {place.file_type}\nSize: {read.bytes} bytes\nCharacters: {characters}{whole}\n---\n"
    )


def _result(text: str, read: Readable, place: _Place, facts: dict[str, Any]) -> ToolResult:
    title = place.matched[place.file].get("title", "")
    data = {"url": read.url, "title": title, "file": place.file + 1, "of_files": len(place.matched), **facts}
    return ToolResult(text, data, sources=(Source(read.url, title, read=True),))
