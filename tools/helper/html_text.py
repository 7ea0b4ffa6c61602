"""The text of a page: its main part as Markdown, or the reason why there is nothing to read."""

import logging
import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tools.failure import Failure
from tools.helper.charset import decode_text
from tools.helper.html_markdown import to_markdown
from tools.helper.media_type import media_kind, media_type
from tools.helper.page_tree import PageSigns, is_hidden, keep_visible, page_signs, parse_page, visible_length
from tools.helper.plain_text import one_line, without_unseen

log = logging.getLogger(__name__)

_ENOUGH = 200
"""A page with fewer characters may be a wall before the text rather than the text."""
_MOST_ELEMENTS = 30_000
_MOST_CHILDREN = 5_000
"""Beyond these trafilatura takes seconds, and a gigabyte for 20,000 children of one paragraph."""
_MOST_FOR_SOUP = 300_000
_MOST_SPANS = 1_000
_INLINE_TAGS = re.compile(r"</?(?:span|font)(?=[\s>/])[^<>]*>", re.IGNORECASE)
"""They mean nothing here, and trafilatura's time grows with the square of their number in a paragraph."""
_LOST_MARK = re.compile(r"^([ \t]*-)[ \t]*\n\s*(?=\S)", re.MULTILINE)
_LOST_INDENT = re.compile(r"^[ \t]{4,}(?!(?:[-*+]|\d{1,3}[.)])[ \t])", re.MULTILINE)
"""White space of the page's own lines, which trafilatura takes over and Markdown would take for code."""
_UNDERLINE = re.compile(r"</?u>")
_EMPTY_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")

_CHALLENGE = re.compile(
    r"^(just a moment|attention required|access denied|please wait|one moment, please|ddos-guard|"
    r"verify(ing)? (that )?you are (a )?human|are you (a )?(human|robot)|pardon our interruption|"
    r"security check|checking your browser|robot check|un instant|vérification de sécurité)",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"cookie|consent|rgpd|gdpr|クッキー", re.IGNORECASE)
_ACCEPT = re.compile(
    r"accept all|accept (the )?cookies|accept and continue|agree to all|i (accept|agree)|allow all|"
    r"tout accepter|accepter (et|les|tous)|j'accepte|akzeptieren|aceptar|accetta|同意|すべて許可",
    re.IGNORECASE,
)
_ENABLE_JAVASCRIPT = re.compile(r"java\s?script", re.IGNORECASE)


@dataclass(frozen=True)
class Page:
    """What was read. `partial` when the page keeps its rest for subscribers."""

    title: str
    text: str
    partial: bool = False


def extract_page(body: bytes, content_type: str, url: str) -> Page:
    """The text of an answer; `url` is the address that gave it, to make its links whole.

    Raises Failure "not_text", "empty_page", or why a page shows nothing to read:
    "needs_javascript", "blocked", "paywall", "consent".
    """
    media = media_kind(body, content_type)
    if media in ("pdf", "binary"):
        raise Failure("not_text", url=url, type=media_type(content_type) or "?")
    decoded = decode_text(body, content_type)
    page = _read_html(decoded, url) if media == "html" else Page("", without_unseen(decoded).rstrip())
    if not page.text:
        raise Failure("empty_page", url=url)
    return page


def _read_html(html: str, url: str) -> Page:
    try:
        tree = parse_page(html)
    except ValueError:
        return Page("", _tidy(_by_beautiful_soup(html)))
    signs = page_signs(tree)
    keep_visible(tree, url)
    text = _tidy(_best_text(tree) or _by_beautiful_soup(html))
    if len(text) < _ENOUGH <= len(signs.article):
        text = _tidy(signs.article)
    _check_for_a_wall(text, signs, url)
    return Page(signs.title, text, partial=not signs.free)


def _best_text(tree: Any) -> str:
    """By trafilatura where it keeps enough of the page; by our own walk where it doesn't, and for code."""
    if not _has_code(tree) and not _is_unwieldy(tree):
        enough = max(_ENOUGH, visible_length(tree) // 10)
        for recall in (False, True):
            text = _by_trafilatura(tree, recall)
            if len(text) >= enough and not _is_lump(text):
                return text
    main = _main_part(tree)
    return to_markdown(main, with_header=main.tag != "body")


def _has_code(tree: Any) -> bool:
    return tree.find(".//pre") is not None and _main_part(tree).find(".//pre") is not None


def _is_unwieldy(tree: Any) -> bool:
    elements = tree.xpath("count(.//*)")
    if elements <= _MOST_CHILDREN:
        return False
    return elements > _MOST_ELEMENTS or max(len(node) for node in tree.iter()) > _MOST_CHILDREN


def _main_part(tree: Any) -> Any:
    """The article that most of the text is in, else the main element, else the body."""
    whole = visible_length(tree)
    for tag in ("article", "main"):
        largest = max(tree.iter(tag), key=_length, default=None)
        if largest is not None and 2 * _length(largest) >= whole:
            return largest
    body = tree.find("body")
    return tree if body is None else body


def _length(node: Any) -> int:
    return len(" ".join(node.text_content().split()))


def _by_trafilatura(tree: Any, recall: bool) -> str:
    import trafilatura
    from lxml import etree

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it reports every page without a text
    page = deepcopy(tree)
    if tree.xpath("count(.//span | .//font)") > _MOST_SPANS:
        page = _INLINE_TAGS.sub("", etree.tostring(tree, encoding="unicode", method="html"))
    options = {"include_comments": True, "favor_recall": True} if recall else {"include_comments": False}
    try:
        text = trafilatura.extract(
            page, fast=True, output_format="markdown", include_links=True, include_tables=True, **options
        )
    except Exception:  # a page that it trips over is still read by our own walk
        log.warning("trafilatura could not read a page", exc_info=True)
        return ""
    return _LOST_INDENT.sub("", _LOST_MARK.sub(r"\1 ", _UNDERLINE.sub("", text or "")))


def _is_lump(text: str) -> bool:
    """Where it finds no main text, trafilatura's last resort is all text on one line."""
    return len(text) > 5 * _ENOUGH and "\n" not in text


def _by_beautiful_soup(html: str) -> str:
    """The last resort, for what lxml makes nothing of; it is slow, so for small pages only."""
    from bs4 import BeautifulSoup

    if len(html) > _MOST_FOR_SOUP:
        return ""
    soup = BeautifulSoup(html, "html.parser")
    unwanted = ("script", "style", "noscript", "template", "head", "nav", "footer", "header", "aside")
    for node in soup(lambda tag: tag.name in unwanted or is_hidden(tag.get("hidden"), tag.get("style"))):
        node.decompose()
    root = soup.find("article") or soup.find("main") or soup
    return root.get_text("\n", strip=True)


def _tidy(text: str) -> str:
    lines = (line.rstrip() for line in without_unseen(text).split("\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()


def _check_for_a_wall(text: str, signs: PageSigns, url: str) -> None:
    """Raises Failure where a page shows a wall instead of its text; a wall is never given as the text."""
    if len(text) < 3 * _ENOUGH and _CHALLENGE.search(signs.title):
        raise Failure("blocked", url=url, evidence=signs.title)
    if (urlsplit(url).hostname or "").startswith("consent.") or (
        len(text) < 3 * _ENOUGH and _COOKIES.search(text) and _ACCEPT.search(text)
    ):
        raise Failure("consent", url=url)
    if len(text) >= _ENOUGH:
        return
    if not signs.free:
        raise Failure("paywall", url=url)
    if signs.scripts >= 5 or signs.app_root or _ENABLE_JAVASCRIPT.search(signs.without_scripts):
        said = one_line(" · ".join(filter(None, (signs.title, signs.description, text))))
        raise Failure("needs_javascript", url=url, said=said or "-")
