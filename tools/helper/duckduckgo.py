"""Searching without a server of one's own, by the ddgs package.

It asks the public pages of search engines, which refuse programs now and then. ddgs tells a refusal and
an empty answer alike, and may outlast its own time-out, so both are dealt with here.
"""

import time
from functools import partial

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.search_result import SearchResult, clean_results
from tools.helper.waiting import wait_for

_TRIES = (("duckduckgo", 0.6), ("brave,mojeek,startpage,yahoo", 1.0))
"""Which engines are asked, and until which part of the time is over. ddgs's own choice is slow."""
_LONGEST_QUERY = 499
_REGIONS = {"en": "us-en", "fr": "fr-fr", "ja": "jp-jp", "de": "de-de", "es": "es-es", "it": "it-it"}
_NO_CONNECTION = ("ConnectError", "DNSError")


def search_duckduckgo(
    query: str, wanted: int, language: str, cancel: Cancel, seconds: float = 12.0
) -> list[SearchResult]:
    """At least one result, within `seconds`.

    Raises Failure "duckduckgo_nothing", "duckduckgo_unreachable", "duckduckgo_timeout" or "stopped".
    """
    began = time.monotonic()
    problem = Failure("duckduckgo_nothing")
    for engines, part in _TRIES:
        left = began + part * seconds - time.monotonic()
        try:
            return wait_for(partial(_ask, engines, query, wanted, language), left, cancel)
        except TimeoutError:
            problem = Failure("duckduckgo_timeout", seconds=f"{seconds:g}")
        except Failure as failure:
            if failure.kind == "stopped":
                raise
            problem = failure
    raise problem


def _ask(engines: str, query: str, wanted: int, language: str) -> list[SearchResult]:
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException

    _keep_addresses_as_they_are()
    region = _REGIONS.get(language, "wt-wt")
    try:
        entries = DDGS(timeout=6).text(
            query[:_LONGEST_QUERY], region=region, max_results=min(max(wanted, 10), 20), backend=engines
        )
    except DDGSException as error:
        unreachable = any(sign in str(error) for sign in _NO_CONNECTION)
        raise Failure("duckduckgo_unreachable" if unreachable else "duckduckgo_nothing") from error
    if results := clean_results(entries):
        return results
    raise Failure("duckduckgo_nothing")


def _keep_addresses_as_they_are() -> None:
    """ddgs unquotes addresses: `a%20b?x=1%26y` would become `a+b?x=1&y`, which is another page."""
    from ddgs.results import BaseResult

    BaseResult._normalizers = {**BaseResult._normalizers, "href": str}
