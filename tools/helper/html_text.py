"""The text of a page: its main part as Markdown, or the reason why there is nothing to read."""

import re
from dataclasses import dataclass
from typing import Any

from tools.failure import Failure
from tools.helper.charset import decode_text
from tools.helper.html_markdown import to_markdown
from tools.helper.media_type import media_kind, media_type
from tools.helper.page_tree import (
    is_hidden,
    keep_visible,
    mark_article,
    page_signs,
    parse_page,
    text_length,
    visible_length,
)
from tools.helper.page_walls import ENOUGH, check_for_a_wall
from tools.helper.plain_text import without_unseen
from tools.helper.trafilatura_text import main_text

_MOST_ELEMENTS = 30_000
_MOST_CHILDREN = 5_000
"""Beyond these trafilatura takes seconds, and a gigabyte for 20,000 children of one paragraph."""
_MOST_FOR_SOUP = 300_000
_EMPTY_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


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
    if len(text) < ENOUGH <= len(signs.article):
        text = _tidy(signs.article)
    check_for_a_wall(text, signs, url)
    return Page(signs.title, text, partial=not signs.free)


def _best_text(tree: Any) -> str:
    """By trafilatura where it keeps enough of the page; by our own walk where it doesn't, and for code and
    for pages that a table lays out, which it makes one line of."""
    mark_article(tree)
    if not (_has_code(tree) or _is_unwieldy(tree) or _is_laid_out(tree)):
        enough = max(ENOUGH, visible_length(tree) // 10)
        for recall in (False, True):
            text = main_text(tree, recall)
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


def _is_laid_out(tree: Any) -> bool:
    """Whether one cell of a table holds half of the text, or more."""
    cells = tree.xpath(".//td[not(ancestor::td)]")
    return bool(cells) and 2 * max(map(text_length, cells)) >= visible_length(tree)


def _main_part(tree: Any) -> Any:
    """The article that most of the text is in, else the main element, else the body."""
    whole = visible_length(tree)
    for tag in ("article", "main"):
        largest = max(tree.iter(tag), key=text_length, default=None)
        if largest is not None and 2 * text_length(largest) >= whole:
            return largest
    body = tree.find("body")
    return tree if body is None else body


def _is_lump(text: str) -> bool:
    """Where it finds no main text, trafilatura's last resort is all text on one line."""
    return len(text) > 5 * ENOUGH and "\n" not in text


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
