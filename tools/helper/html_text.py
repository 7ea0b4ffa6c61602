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
_LONGEST_SAID = 1500
_MOST_SPANS = 1_000
_INLINE_TAGS = re.compile(r"</?(?:span|font)(?=[\s>/])[^<>]*>", re.IGNORECASE)
"""They mean nothing here, and trafilatura's time grows with the square of their number in a paragraph."""
_LOST_MARK = re.compile(r"^([ \t]*-)[ \t]*\n\s*(?=\S)", re.MULTILINE)
_LOST_INDENT = re.compile(r"^[ \t]{4,}(?!(?:[-*+]|\d{1,3}[.)])[ \t])", re.MULTILINE)
"""White space of the page's own lines, which trafilatura takes over and Markdown would take for code."""
_UNDERLINE = re.compile(r"</?u>")
_MEANING = re.compile(r"^([ \t]*)- (: )", re.MULTILINE)
_LAID_OUT = ("table", "h1", "h2", "h3", "pre", "blockquote")
"""What stands in a cell only where its table lays out the page."""
_EMPTY_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")

_CHALLENGE = re.compile(
    r"^(just a moment|attention required|access denied|please wait|one moment, please|ddos-guard|"
    r"verify(ing)? (that )?you are (a )?human|are you (a )?(human|robot)|pardon our interruption|"
    r"security check|checking your browser|robot check|un instant|vérification de sécurité|"
    r"access to this page has been denied|robot or human|human verification|bot verification|"
    r"making sure you.re not a bot|vercel security checkpoint|client challenge|sucuri website firewall|"
    r"(un momento|um momento|(nur )?einen moment|één moment|een moment geduld|しばらくお待ちください|"
    r"请稍候|請稍候|잠시만 기다리십시오|один момент)\s*(…|\.\.\.))",
    re.IGNORECASE,
)
"""Titles of pages that stand before a site and look for programs; some in the reader's own language."""
_CHALLENGE_SAID = re.compile(
    r"enable javascript and cookies to continue|checking if the site connection is secure|"
    r"needs to review the security of your connection|incapsula incident id|"
    r"unusual traffic from your computer network|blocked by network security|"
    r"verify(ing)? (that )?you are (a )?human|(make|making) sure you.re not a (ro)?bot",
    re.IGNORECASE,
)
_LOADING = re.compile(
    r"\W*(loading|please wait|chargement|patientez|読み込み中|加载中|載入中|wird geladen|cargando)"
    r"(\W+(the|app|application|page|content|data|please|wait|en|cours))*\W*",
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
    """By trafilatura where it keeps enough of the page; by our own walk where it doesn't, and for code and
    for pages that a table lays out, which it makes one line of."""
    if not (_has_code(tree) or _is_unwieldy(tree) or _is_laid_out(tree)):
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


def _is_laid_out(tree: Any) -> bool:
    """Whether one cell of a table holds half of the text, or more."""
    cells = tree.xpath(".//td[not(ancestor::td)]")
    return bool(cells) and 2 * max(map(_length, cells)) >= visible_length(tree)


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
    _make_plainer(page)
    if page.xpath("count(.//span | .//font)") > _MOST_SPANS:
        page = _INLINE_TAGS.sub("", etree.tostring(page, encoding="unicode", method="html"))
    options = {"include_comments": True, "favor_recall": True} if recall else {"include_comments": False}
    try:
        text = trafilatura.extract(
            page, fast=True, output_format="markdown", include_links=True, include_tables=True, **options
        )
    except Exception:  # a page that it trips over is still read by our own walk
        log.warning("trafilatura could not read a page", exc_info=True)
        return ""
    text = _LOST_MARK.sub(r"\1 ", _one_rule(_UNDERLINE.sub("", text or "")))
    return _LOST_INDENT.sub("", _MEANING.sub(r"\1\2", text))


def _make_plainer(page: Any) -> None:
    """What trafilatura would lose, in a form that it keeps: which entries of a definition list are the
    meanings, and lists within the cells of tables of data."""
    for cell in page.iter("td", "th"):
        if any(True for _ in cell.iterdescendants(*_LAID_OUT)):
            continue
        for number, node in enumerate(list(cell.iter("li", "dt", "dd"))):
            node.text = f"{', ' if number else ''}{(node.text or '').lstrip()}"
            node.tail = node.tail if (node.tail or "").strip() else ""
            node.tag = "span"
        for node in list(cell.iter("ul", "ol", "dl")):
            node.tag = "span"
    for meaning in page.iter("dd"):
        has_block = len(meaning) and meaning[0].tag in ("p", "div") and not (meaning.text or "").strip()
        first = meaning[0] if has_block else meaning
        first.text = f": {(first.text or '').lstrip()}"


def _one_rule(text: str) -> str:
    """Tables with one line, below their first row: trafilatura draws one below each row with a heading."""
    if text.count("\n|---") < 2:
        return text
    lines: list[str] = []
    ruled = False
    for line in text.split("\n"):
        is_rule = line.startswith("|---") and not line.strip("|-")
        if not (is_rule and ruled):
            lines.append(line)
        ruled = line.startswith("|") and (ruled or is_rule)
    return "\n".join(lines)


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
    if len(text) < 3 * _ENOUGH and (evidence := _challenge(text, signs)):
        raise Failure("blocked", url=url, evidence=evidence)
    if (urlsplit(url).hostname or "").startswith("consent.") or (
        len(text) < 3 * _ENOUGH and _COOKIES.search(text) and _ACCEPT.search(text)
    ):
        raise Failure("consent", url=url)
    if len(text) >= _ENOUGH:
        return
    if not signs.free:
        raise Failure("paywall", url=url)
    bare = signs.scripts > 0 and (not text or _LOADING.fullmatch(text))
    if bare or signs.scripts >= 5 or signs.app_root or _ENABLE_JAVASCRIPT.search(signs.without_scripts):
        told = (signs.title, signs.description, signs.linked, signs.without_scripts, text)
        said = one_line(" · ".join(filter(None, dict.fromkeys(told))), _LONGEST_SAID)
        raise Failure("needs_javascript", url=url, said=said or "-")


def _challenge(text: str, signs: PageSigns) -> str:
    """What shows that a site looks for programs here, "" where nothing does."""
    if _CHALLENGE.search(signs.title):
        return signs.title
    found = _CHALLENGE_SAID.search(f"{text}\n{signs.without_scripts}")
    return one_line(found[0]) if found else ""
