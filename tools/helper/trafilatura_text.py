"""The main text of a page as Markdown, by trafilatura; and what that would lose, kept."""

import logging
import re
from copy import deepcopy
from typing import Any

from tools.helper.page_tree import BLOCKS, text_length

log = logging.getLogger(__name__)

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


def main_text(tree: Any, recall: bool) -> str:
    """The text, "" where it finds none; with `recall` rather too much of it than too little."""
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
    """What trafilatura would lose, in a form that it keeps: divisions between paragraphs, which entries of a
    definition list are the meanings, and lists within the cells of tables of data."""
    _make_paragraphs(page)
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


def _make_paragraphs(page: Any) -> None:
    """Divisions of text alone beside paragraphs are made such, unless they are mostly links."""
    for parent in {node.getparent() for node in page.iter("p")}:
        for node in parent.iterchildren("div"):
            if any(inner.tag in BLOCKS for inner in node.iterdescendants()):
                continue
            if 3 * sum(text_length(link) for link in node.iter("a")) <= text_length(node):
                node.tag = "p"


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
