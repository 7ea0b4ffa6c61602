"""Searching by a SearXNG server's JSON interface (docs.searxng.org, "Search API").

The server is the owner's choice and mostly on a private address, so it has a client of its own: one
origin, no proxies of the environment, no redirects, no cookies. SearXNG says little about why it refuses;
each way of refusing is told here with its remedy, and never as "no results".
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.plain_text import one_line
from tools.helper.search_result import SearchResult, clean_results
from tools.helper.waiting import wait_for

_SECONDS = 30.0
_HEADERS = {
    # The least that the server's limiter lets pass, if it is on.
    "User-Agent": "OllamaAgentPanel/1.0",
    "Accept": "application/json, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Accept-Language": "en",
}
_SYNTAX = re.compile(r"(?<!\S)([!:?<]+)(?=\S)")
"""At the beginning of a word: `!news` changes the engines, `:fr` the language, `<5` the time-out."""
_ANSWERED_WORDS = frozenset({"avg", "max", "min", "prod", "random", "range", "sum"})
"""As first word, they make SearXNG calculate and ask no engine."""
_NOT_JSON = "have the permission to access the requested resource"
_PROXY = "<center>nginx"
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True)
class SearxngAnswer:
    """What a search gave. `failed` are the engines that did not answer, each with its reason."""

    results: list[SearchResult]
    engines: tuple[str, ...]
    failed: tuple[str, ...]


def search_searxng(base_url: str, query: str, language: str, cancel: Cancel) -> SearxngAnswer:
    """Search in `language`, and in all languages where that finds nothing.

    `base_url` may end in `/search`. Raises Failure "searxng_…" for whatever keeps it from answering,
    "searxng_engines" if no engine of it did, and "stopped".
    """
    url = search_address(base_url)
    answer = _search(url, query, language, cancel)
    if not answer.results and not answer.failed:  # engines that don't know a language are left out in silence
        answer = _search(url, query, "all", cancel)
    if answer.failed and not answer.results:
        raise Failure("searxng_engines", url=url, engines=", ".join(answer.failed))
    return answer


def search_address(base_url: str) -> str:
    """The address to ask, from whatever people give: with or without `/search`, a slash, `?q=<query>`."""
    text = base_url.strip()
    try:
        parts = urlsplit(text if _ADDRESS.match(text) else f"http://{text}")
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise Failure("searxng_not_found", url=base_url)
    path = parts.path.rstrip("/").removesuffix("/search").rstrip("/") + "/search"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def as_plain_text(query: str) -> str:
    """The query with SearXNG's own syntax made harmless: a question is not an order to the server."""
    query = _SYNTAX.sub(r"\1 ", query)
    first, _, rest = query.partition(" ")
    return f'"{first}" {rest}' if first.lower() in _ANSWERED_WORDS and rest else query


def _search(url: str, query: str, language: str, cancel: Cancel) -> SearxngAnswer:
    parameters = {"q": as_plain_text(query), "format": "json", "language": language, "locale": "en"}
    response = _get(url, parameters, cancel)
    if response.status_code != 200:
        raise _refusal(response, url)
    answer = _decoded(response)
    if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
        raise Failure("searxng_not_searxng", url=url)
    entries = [entry for entry in answer["results"] if isinstance(entry, dict)]
    return SearxngAnswer(
        results=clean_results([*entries, *_beside_the_results(answer)]),
        engines=tuple(sorted({str(entry["engine"]) for entry in entries if entry.get("engine")})),
        failed=tuple(_failed_engines(answer)),
    )


def _get(url: str, parameters: dict[str, str], cancel: Cancel) -> requests.Response:
    def ask() -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            session.headers.update(_HEADERS)
            return session.get(url, params=parameters, timeout=(5, _SECONDS), allow_redirects=False)

    try:
        return wait_for(ask, _SECONDS, cancel)
    except (requests.Timeout, TimeoutError) as error:
        raise Failure("searxng_timeout", url=url, seconds=f"{_SECONDS:g}") from error
    except requests.exceptions.SSLError as error:
        raise Failure("searxng_protocol", url=url) from error
    except (requests.RequestException, UnicodeError) as error:
        raise Failure("searxng_refused", url=url) from error


def _decoded(response: requests.Response) -> Any:
    try:
        return json.loads(response.content)  # takes NaN too, which some engines give
    except (ValueError, RecursionError):
        return None


def _refusal(response: requests.Response, url: str) -> Failure:
    """Why a server gave no results. The texts are SearXNG's, werkzeug's and nginx's own."""
    status, body = response.status_code, response.text[:4000]
    details = {"url": url, "status": status}
    if 300 <= status < 400:
        return _redirect(response.headers.get("Location", ""), url)
    if status == 400:
        return _bad_request(response, url)
    if status == 403 and _NOT_JSON in body:
        return Failure("searxng_no_json", url=url)
    if status == 429 and "BLOCKLIST" in body:
        return Failure("searxng_blocked", url=url)
    if status == 429 and _PROXY not in body:
        return Failure("searxng_limiter", url=url)
    if status in (413, 414, 431):
        return Failure("searxng_query_too_long")
    kinds = {401: "searxng_login", 404: "searxng_not_found", 405: "searxng_not_found", 500: "searxng_broken"}
    return Failure(kinds.get(status, "searxng_proxy"), **details)


def _redirect(location: str, url: str) -> Failure:
    """The limiter sends suspects to its own start page; anything else is another address."""
    return (
        Failure("searxng_limiter", url=url)
        if location == "/"
        else Failure("searxng_redirect", url=url, location=one_line(location, 200))
    )


def _bad_request(response: requests.Response, url: str) -> Failure:
    answer = _decoded(response)
    if isinstance(answer, dict) and answer.get("error"):
        return Failure("searxng_rejected", url=url, error=one_line(str(answer["error"]), 200))
    return Failure("searxng_protocol", url=url)  # no body, or nginx's: https was expected, or not


def _beside_the_results(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Info boxes and direct answers, where they name a page. Older servers give answers as bare texts."""
    for box in _listed(answer.get("infoboxes")):
        if isinstance(box, dict):
            urls = [link.get("url") for link in _listed(box.get("urls")) if isinstance(link, dict)]
            yield {
                "title": box.get("infobox"),
                "url": next(iter(urls), box.get("id")),
                "content": box.get("content"),
            }
    for direct in _listed(answer.get("answers")):
        if isinstance(direct, dict) and direct.get("answer"):
            yield {"title": direct["answer"], "url": direct.get("url"), "content": direct["answer"]}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _failed_engines(answer: dict[str, Any]) -> Iterator[str]:
    for entry in _listed(answer.get("unresponsive_engines")):
        if isinstance(entry, list) and len(entry) >= 2:
            yield f"{one_line(str(entry[0]), 60)} ({one_line(str(entry[1]), 80)})"
