"""Addresses in a document: which links lead somewhere, and those that stand bare in the text."""

import re
from collections.abc import Iterator

from tools.helper.pdf.blocks import Span

_BARE_URL = re.compile(r"https?://[^\s<>\"'`\\^{|}、。「」（）]{1,1900}")
_URL_END = re.compile(r"[.,;:!?*_~'\"\])]+$")
_USABLE_LINK = re.compile(r"(?:https?|mailto|ftp|tel):|#.", re.IGNORECASE)


def usable_link(href: str) -> str:
    """The address that a link leads to; "" where it is none that a PDF should open."""
    return href if _USABLE_LINK.match(href) else ""


def image_span(alt: str, source: str, link: str = "") -> Span:
    """An image as the text that stands for it, linked to where it is."""
    web = source if source.startswith(("http://", "https://")) else ""
    return Span(f"[{alt or source[:80] or '?'}]", italic=True, link=link or web)


def linked(span: Span) -> Iterator[Span]:
    """The span in pieces: a bare address in it is a link of its own."""
    done = 0
    for found in _BARE_URL.finditer(span.text):
        url = _without_tail(found[0])
        if found.start() > done:
            yield span._replace(text=span.text[done : found.start()])
        yield span._replace(text=url, link=url)
        done = found.start() + len(url)
    if done < len(span.text):
        yield span._replace(text=span.text[done:])


def _without_tail(url: str) -> str:
    """The address without the signs that end a sentence; a bracket that it opened itself is its own."""
    tail = _URL_END.search(url)
    if not tail:
        return url
    kept = tail.start()
    if tail[0].startswith(")") and url.count("(", 0, kept) > url.count(")", 0, kept):
        kept += 1
    return url[:kept]
