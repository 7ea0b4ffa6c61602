"""The tool that searches the web, by SearXNG or by DuckDuckGo."""

import time
from dataclasses import dataclass

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.duckduckgo import search_duckduckgo
from tools.helper.plain_text import one_line
from tools.helper.search_result import SearchResult
from tools.helper.searxng import search_searxng
from tools.tool import Arguments, Source, Tool, ToolContext, ToolResult

_MOST_RESULTS = 20
_SNIPPETS = (500, 300, 160, 80, 1)
"""How long snippets may be, each tried until all results fit."""


class SearchArguments(Arguments):
    """0 or less `max_results` means the default."""

    query: str
    max_results: int = 0


@dataclass(frozen=True)
class Found:
    """What a search found, by whom, and why not by the one that was asked first."""

    results: list[SearchResult]
    backend: str
    note: str = ""


@dataclass(frozen=True)
class SearxngCheck:
    """That a SearXNG works: seconds to answer, number of results, and the engines that gave them."""

    seconds: float
    results: int
    engines: tuple[str, ...]
    failed: tuple[str, ...]


def web_search(arguments: SearchArguments, context: ToolContext) -> ToolResult:
    """Three lines for each result, and an empty line between them.

    Raises Failure where no search could be made: that nothing was found is no failure.
    """
    query = one_line(arguments.query)
    if not query:
        return ToolResult(context.locale("results.no_results", query=""), data=[])
    wished = arguments.max_results if arguments.max_results > 0 else context.settings.search_max_results
    found = search(query, min(wished, _MOST_RESULTS), context)
    context.progress(context.locale("results.searched", backend=found.backend, count=len(found.results)))
    note = f"\n\n{found.note}" if found.note else ""
    if not found.results:
        return ToolResult(context.locale("results.no_results", query=query) + note, data=[])
    results, text = _told(found.results, context.max_result_chars - len(note))
    return ToolResult(
        text=text + note,
        data=[result.as_data() for result in results],
        sources=tuple(Source(result.href, result.title) for result in results),
    )


TOOL = Tool("web_search", web_search, SearchArguments, read_only=True, seconds=60)


def check_searxng(url: str) -> SearxngCheck:
    """Make one real search: nothing less shows whether JSON is allowed. Raises Failure "searxng_…"."""
    began = time.monotonic()
    answer = search_searxng(url, "weather", "en", Cancel())
    seconds = time.monotonic() - began
    if not answer.results:
        raise Failure("searxng_empty", url=url)
    return SearxngCheck(seconds, len(answer.results), answer.engines, answer.failed)


def search(query: str, wanted: int, context: ToolContext) -> Found:
    """By the backend of the settings; with "auto", by DuckDuckGo where SearXNG does not answer."""
    backend = context.settings.search_backend
    if backend == "searxng":
        return _by_searxng(query, wanted, context)
    if backend == "duckduckgo":
        return _by_duckduckgo(query, wanted, context)
    try:
        return _by_searxng(query, wanted, context)
    except Failure as failure:
        if failure.kind == "stopped":
            raise
        first = failure.told(context.locale)
    note = context.locale("results.searched_instead", cause=first.cause)
    context.progress(note)
    try:
        return _by_duckduckgo(query, wanted, context, note)
    except Failure as failure:
        if failure.kind == "stopped":
            raise
        second = failure.told(context.locale)
        raise Failure("search_unavailable", searxng=first, duckduckgo=second) from failure


def _by_searxng(query: str, wanted: int, context: ToolContext) -> Found:
    url, language = context.settings.searxng_url, context.locale.language
    return Found(search_searxng(url, query, language, context.cancel).results[:wanted], "SearXNG")


def _by_duckduckgo(query: str, wanted: int, context: ToolContext, note: str = "") -> Found:
    results = search_duckduckgo(query, wanted, context.locale.language, context.cancel)
    return Found(results[:wanted], "DuckDuckGo", note)


def _told(results: list[SearchResult], limit: int) -> tuple[list[SearchResult], str]:
    """The results as text, and those that are in it: the last ones give way if even titles are too long."""
    for longest in _SNIPPETS:
        text = _lines(results, longest)
        if len(text) <= limit:
            return results, text
    while len(results) > 1 and len(text) > limit:
        results = results[:-1]
        text = _lines(results, _SNIPPETS[-1])
    return results, text


def _lines(results: list[SearchResult], longest: int) -> str:
    return "\n\n".join(
        f"[{number}] {result.title}\nURL: {result.href}\nSnippet: {one_line(result.body, longest)}"
        for number, result in enumerate(results, 1)
    )
