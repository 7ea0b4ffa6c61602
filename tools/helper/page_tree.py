"""A web page as a tree of what a reader sees, and what the page tells about itself."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any
from urllib.parse import urljoin

from tools.helper.plain_text import one_line

_HUGE = 20_000
_TAG_NAME = re.compile(r"[a-zA-Z][^\s<>/]*")
_HEAD_TAGS = frozenset({"title", "meta", "link", "script", "style", "base", "noscript", "template"})
_UNSEEN_TAGS = (
    *("script", "style", "template", "noscript", "object", "svg", "iframe", "canvas", "dialog", "base"),
    *("meta", "link", "img", "picture", "source", "video", "audio", "input", "button", "select", "textarea"),
)
"""What holds no text of the page; images and controls too, since all that follows takes time by the node."""
_UNSEEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*(?:0|1\s*p[xt])(?![.\d])|"
    r"(?:left|right|top|bottom|text-indent)\s*:\s*-(?:999|\d{5})",
    re.I,
)
"""Not shown, too small to be seen, or far outside of the window."""
_APP_ROOTS = frozenset({"root", "app", "__next", "__nuxt", "___gatsby", "svelte", "ember-app"})
_LONGEST_TITLE = 200
_ARTICLE = 200
"""Characters of paragraphs below which there is no article worth the name."""

BLOCKS = frozenset(
    {
        *("p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "form", "figure"),
        *(
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "ul",
            "ol",
            "li",
            "dl",
            "table",
            "tr",
            "td",
            "pre",
            "blockquote",
        ),
    }
)
"""What begins a line of its own."""


@dataclass(frozen=True)
class PageSigns:
    """What a page says beside its text. `article` is the text that it gives to search engines, `linked` the
    names and descriptions of what it tells them about."""

    title: str
    description: str
    article: str
    linked: str
    free: bool
    scripts: int
    without_scripts: str
    app_root: bool


def parse_page(html: str) -> Any:
    """The page as an lxml tree. Raises ValueError where there is nothing to parse, or too deep a nesting."""
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        cleaned = _without_huge_tags(_without_open_comment(html))
        tree = document_fromstring(cleaned.encode("utf-8", "replace"), parser=parser)
    except etree.LxmlError as error:
        raise ValueError(str(error)) from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise ValueError("nested deeper than lxml follows: the rest would be lost")
    _begin_body(tree)
    return tree


def _begin_body(tree: Any) -> None:
    """Where a page leaves out its body tag, libxml2 takes `article` or `main` for a part of the head."""
    head, body = tree.find("head"), tree.find("body")
    strays = [] if head is None else list(dropwhile(lambda node: node.tag in _HEAD_TAGS, head))
    if strays:
        if body is None:
            body = tree.makeelement("body")
            tree.append(body)
        for place, node in enumerate(strays):
            body.insert(place, node)


def _without_huge_tags(html: str) -> str:
    """Attributes that are data are dropped: parsing them takes time that grows with their square."""
    if not _has_huge_tag(html):
        return html
    pieces = html.split("<")
    for number, piece in enumerate(pieces):
        if len(piece) > _HUGE and number and (end := piece.find(">", _HUGE)) > 0 and ">" not in piece[:_HUGE]:
            name = _TAG_NAME.match(piece)
            pieces[number] = (name[0] if name else "") + piece[end:]
    return "<".join(pieces)


def _has_huge_tag(html: str) -> bool:
    """False where there is surely none: of every two windows of half its length, it would fill one."""
    half = _HUGE // 2
    return any(html.find(">", start, start + half) < 0 for start in range(0, len(html) - half, half))


def _without_open_comment(html: str) -> str:
    """Where comments are never closed, what follows is kept; browsers drop it."""
    start = html.rfind("-->") + 1
    return html[:start] + html[start:].replace("<!--", "")


def page_signs(tree: Any) -> PageSigns:
    """To be read before `keep_visible`, which drops most of it."""
    meta = _meta(tree)
    articles = list(_linked_data(tree))
    heading = tree.xpath("string((//h1)[1])")
    title = meta.get("og:title") or tree.findtext(".//title") or heading
    return PageSigns(
        title=one_line(title, _LONGEST_TITLE),
        description=one_line(meta.get("og:description") or meta.get("description", ""), 500),
        article=max((entry["articleBody"] for entry in articles if _is_text(entry)), key=len, default=""),
        linked=one_line(" · ".join(dict.fromkeys(_told(articles))), 500),
        free=not any(str(entry.get("isAccessibleForFree")).lower() == "false" for entry in articles),
        scripts=len(tree.findall(".//script")),
        without_scripts=one_line(" ".join(node.text_content() for node in tree.iter("noscript")), 2000),
        app_root=any(node.get("id") in _APP_ROOTS for node in tree.iter("div")),
    )


def keep_visible(tree: Any, url: str) -> None:
    """Drop what no reader sees, and make the addresses of links whole; links that lead nowhere lose theirs.

    Only what a tag itself says is known: a style sheet may hide more.
    """
    from lxml import etree

    base = urljoin(url, next((node.get("href") for node in tree.iter("base") if node.get("href")), ""))
    origin = base[: base.find("/", base.find("//") + 2)] if base.count("/") > 2 else base
    etree.strip_elements(tree, *_UNSEEN_TAGS, with_tail=False)
    hidden = tree.xpath(".//*[@hidden or @style]")
    for node in hidden:
        if node.tag != "body" and is_hidden(node.get("hidden"), node.get("style")):
            node.drop_tree()
    for link in tree.iter("a"):
        href = link.get("href", "")
        address = _whole_address(href.strip(), base, origin)
        if address != href:
            link.set("href", address)


def mark_article(tree: Any) -> None:
    """Where a page names no main part, what holds half of the text of all paragraphs, or more, is made its
    article: extractors know one by its tag, and lose the headings and lists of any other."""
    if next(tree.iter("article", "main"), None) is not None:
        return
    lengths: Counter[Any] = Counter()
    for paragraph in tree.iter("p"):
        lengths[paragraph.getparent()] += text_length(paragraph)
    if not lengths:
        return
    node, length = lengths.most_common(1)[0]
    if length < _ARTICLE or 2 * length < lengths.total():
        return
    if node.tag in ("div", "section", "center"):
        node.tag = "article"
    elif node.tag == "body":
        article = node.makeelement("article")
        article.text, node.text = node.text, None
        article.extend(node.getchildren())
        node.append(article)


def visible_length(tree: Any) -> int:
    """How many characters of text a reader can see."""
    body = tree.find("body")
    return text_length(tree if body is None else body)


def text_length(node: Any) -> int:
    """Characters of all text in it, each run of white space counted as one."""
    return len(" ".join(node.text_content().split()))


def is_hidden(hidden: str | None, style: str | None) -> bool:
    """Whether an element with these attributes, None where it lacks them, is not shown."""
    by_attribute = hidden is not None and hidden.lower() != "until-found"
    return by_attribute or bool(_UNSEEN_STYLE.search(style or ""))


def _whole_address(href: str, base: str, origin: str) -> str:
    """The address that a link leads to, or "" within the page and to what is no page. The common kinds are
    told apart at a glance: joining takes as long as parsing the page."""
    if not href or href[0] == "#":
        return ""
    if href.startswith(("http://", "https://")):
        address = href
    elif href[0] == "/" and not href.startswith(("//", "/.")) and "/." not in href:
        address = origin + href
    else:
        try:
            address = urljoin(base, href)
        except ValueError:
            return ""
    return address if address.startswith(("http://", "https://")) and len(address) < 2048 else ""


def _meta(tree: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.iter("meta"):
        name = (node.get("property") or node.get("name") or "").lower()
        if node.get("content"):
            found.setdefault(name, node.get("content"))
    return found


def _linked_data(tree: Any) -> Iterator[dict[str, Any]]:
    """The objects of the page's JSON-LD (schema.org); what can't be parsed is no statement."""
    for node in tree.iter("script"):
        if node.get("type", "").strip().lower() == "application/ld+json":
            try:
                yield from _objects(json.loads(node.text or "null", strict=False))
            except (ValueError, RecursionError):
                continue


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        yield value
        inner = value.get("@graph") or ()
    elif isinstance(value, list):
        inner = value
    for entry in inner if isinstance(inner, list) else ():
        yield from _objects(entry)


def _told(entries: Iterable[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        told = (entry.get(name) for name in ("headline", "name", "description"))
        yield from (text for text in told if isinstance(text, str) and text.strip())


def _is_text(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("articleBody"), str)
