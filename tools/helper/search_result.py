"""What a search engine found, made clean: engines pass on markup, bad addresses and the same page twice."""

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tools.helper.plain_text import one_line

_LONGEST_TITLE = 200
_LONGEST_SNIPPET = 500
_SCRIPT = re.compile(r"<(script|style)\b[^<>]*>[^<]*</\1\s*>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|b|big|br|code|div|em|font|h[1-6]|i|li|mark|ol|p|small|span|strong|sub|sup|u|ul|wbr)"
    r"(?:\s+[\w:-]+=(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*\s*/?>",
    re.IGNORECASE,
)
"""Tags as engines write them; `5 < 6` and `a<b and c>d` are text."""


@dataclass(frozen=True)
class SearchResult:
    """A page that a search found. `body` is the engine's snippet; it may be ""."""

    title: str
    href: str
    body: str

    def as_data(self) -> dict[str, str]:
        return asdict(self)


def clean_results(entries: Iterable[Mapping[str, Any]]) -> list[SearchResult]:
    """The entries that lead to a web page, each once, in their order.

    The address is taken from `href` or `url`, the snippet from `body`, `snippet` or `content`.
    """
    found: dict[tuple[str, ...], SearchResult] = {}
    for entry in entries:
        href = _web_address(_first(entry, "href", "url"))
        if href:
            body = _plain(_first(entry, "body", "snippet", "content"), _LONGEST_SNIPPET)
            title = _plain(_first(entry, "title"), _LONGEST_TITLE) or href
            found.setdefault(_page_key(href), SearchResult(title, href, body))
    return list(found.values())


def _first(entry: Mapping[str, Any], *names: str) -> str:
    return next((entry[name] for name in names if isinstance(entry.get(name), str) and entry[name]), "")


def _plain(text: str, limit: int) -> str:
    return one_line(html.unescape(_TAG.sub("", _SCRIPT.sub("", text))), limit)


def _web_address(url: str) -> str:
    """The address, or "" if it leads to no web page or carries a login."""
    url = one_line(url).replace("&amp;", "&").replace(" ", "%20")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    return parts.geturl() if usable and "@" not in parts.netloc else ""


def _page_key(url: str) -> tuple[str, ...]:
    """Equal for addresses that lead to the same page: scheme, www., a last slash and campaign tags aside."""
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query, True) if not name.startswith("utm_")]
    place = parts.fragment if parts.fragment[:1] in ("/", "!") else ""
    return (parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/"), urlencode(query), place)
