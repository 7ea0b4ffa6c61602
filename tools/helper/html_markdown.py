"""A page written as Markdown, block by block, in time that grows with its size alone."""

import re
from dataclasses import dataclass, field
from typing import Any

_SKIPPED = frozenset({"head", "nav", "footer", "aside", "button", "select", "textarea", "map"})
_INLINE = frozenset(
    {
        *(
            "a",
            "abbr",
            "acronym",
            "b",
            "bdi",
            "bdo",
            "big",
            "cite",
            "code",
            "data",
            "del",
            "dfn",
            "em",
            "font",
        ),
        *("i", "img", "input", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small"),
        *("span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    }
)
_MARKS = {"b": "**", "strong": "**", "em": "*", "i": "*", "code": "`", "kbd": "`", "samp": "`", "tt": "`"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_CELL_BLOCKS = ("p", "div", "ul", "ol", "table", "pre", "h1", "h2", "h3", "h4", "blockquote", "section")
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight|brush)[-:\s]+([a-zA-Z0-9+#]{1,20})")


def to_markdown(root: Any, *, with_header: bool = True) -> str:
    """The text under an lxml element, with its headings, lists, links, tables and code.

    Navigation, footers, asides and the controls of forms are left out, and the page's header unless
    `with_header`.
    """
    from lxml import etree

    writer = _Writer()
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, node in walk:
        if not isinstance(node.tag, str):
            continue
        if event == "end":
            writer.end(node)
            if node is not root:
                writer.text(node.tail)
        elif (
            _written_whole(writer, node) or node.tag in _SKIPPED or (node.tag == "header" and not with_header)
        ):
            walk.skip_subtree()
            writer.skipped.add(node)
        else:
            writer.start(node)
            writer.text(node.text)
    return writer.result()


def _written_whole(writer: "_Writer", node: Any) -> bool:
    """Write code and tables of data at once; False for anything else."""
    if node.tag == "pre":
        writer.block(_fenced(node))
        return True
    if node.tag == "table" and (rows := _rows(node)):
        writer.block("\n".join(rows))
        return True
    return False


@dataclass
class _Writer:
    """Collects the text of the block at hand, and the finished blocks with what parts them."""

    pieces: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    """Where in `inline` each open inline element began."""
    lists: list[int] = field(default_factory=list)
    """For each open list, the number of its next entry; 0 for a list without numbers."""
    quotes: int = 0
    prefix: str = ""
    tight: bool = False
    skipped: set[Any] = field(default_factory=set)

    def start(self, node: Any) -> None:
        if node.tag == "br":
            self.inline.append("\n")
        elif node.tag in _INLINE:
            self.opened.append(len(self.inline))
        else:
            self._finish_block()
            self._open_block(node.tag)

    def end(self, node: Any) -> None:
        if node in self.skipped or node.tag == "br":
            return
        if node.tag in _INLINE:
            self._close_inline(node)
            return
        self._finish_block()
        self.prefix = ""
        if node.tag in ("ul", "ol") and self.lists:
            self.lists.pop()
            self.tight = bool(self.lists)
        elif node.tag == "blockquote":
            self.quotes -= 1

    def text(self, text: str | None) -> None:
        if text:
            self.inline.append(text.replace("\n", " "))

    def block(self, text: str) -> None:
        """A block that is complete as it stands."""
        self._finish_block()
        self._add(text, tight=False)

    def result(self) -> str:
        self._finish_block()
        return "".join(self.pieces)

    def _open_block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self.tight = bool(self.lists)  # an empty line before a list, none within it
            self.lists.append(1 if tag == "ol" else 0)
        elif tag == "li":
            self.prefix = self._entry_mark()
        elif tag == "blockquote":
            self.quotes += 1
        elif tag == "dd":
            self.prefix = ": "
        elif tag in _HEADINGS:
            self.prefix = _HEADINGS[tag]
        elif tag == "hr":
            self._add("---", tight=False)

    def _entry_mark(self) -> str:
        if not self.lists or self.lists[-1] == 0:
            return "- "
        self.lists[-1] += 1
        return f"{self.lists[-1] - 1}. "

    def _close_inline(self, node: Any) -> None:
        start = self.opened.pop() if self.opened else len(self.inline)
        mark, href = _MARKS.get(node.tag), node.get("href") if node.tag == "a" else ""
        if not (mark or href):
            return
        text = "".join(self.inline[start:])
        if core := " ".join(text.split()):
            lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
            told = f"[{core}]({href})" if href else f"{mark}{core}{mark}"
            self.inline[start:] = [lead + told + trail]

    def _finish_block(self) -> None:
        lines = [" ".join(line.split()) for line in "".join(self.inline).split("\n")]
        text = "\n".join(line for line in lines if line)
        self.inline.clear()
        self.opened = [0] * len(self.opened)
        if text:
            is_entry = bool(self.lists and self.prefix)
            self._add(self.prefix + text, tight=is_entry and self.tight)
            self.tight = self.tight or is_entry
            self.prefix = ""

    def _add(self, text: str, tight: bool) -> None:
        if not text:
            return
        depth = len(self.lists) - bool(self.lists and self.prefix)
        lead = "> " * self.quotes + "  " * depth
        if self.pieces:
            self.pieces.append("\n" if tight else "\n\n")
        self.pieces.append("\n".join(lead + line for line in text.split("\n")) if lead else text)


def _fenced(node: Any) -> str:
    code = _text_with_breaks(node, "\n").strip("\n").rstrip()
    if not code:
        return ""
    classes = " ".join(filter(None, (inner.get("class") for inner in node.iter("pre", "code"))))
    language = match[1] if (match := _LANGUAGE.search(classes)) else ""
    fence = "```" if "```" not in code else "````"
    return f"{fence}{language}\n{code}\n{fence}"


def _text_with_breaks(node: Any, sign: str) -> str:
    for line_break in node.iter("br"):
        line_break.tail = sign + (line_break.tail or "")
    return str(node.text_content())


def _rows(table: Any) -> list[str]:
    """The lines of a table of data; [] for one that only lays out a page."""
    rows = [list(row.iterchildren("td", "th")) for row in table.iter("tr")]
    rows = [row for row in rows if row]
    if (
        len(rows) < 2
        or max(map(len, rows)) < 2
        or any(True for _ in table.iterdescendants(*_CELL_BLOCKS[3:]))
    ):
        return []
    width = max(map(len, rows))
    lines = []
    for row in rows:
        cells = [" ".join(_text_with_breaks(cell, " ").split()).replace("|", "\\|") for cell in row]
        lines.append("| " + " | ".join(cells + [""] * (width - len(cells))) + " |")
    return [lines[0], "|" + " --- |" * width, *lines[1:]]
