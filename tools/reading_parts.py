"""What the tools that read have in common: where to read on, and the part that is given from there."""

from dataclasses import dataclass
from typing import Any

from tools.failure import Failure
from tools.helper.pagination import (
    InvalidTokenError,
    format_page_to_limit,
    parse_token,
    was_repaired,
)
from tools.helper.pdf_parts import PdfReader
from tools.helper.readable import Pdf, Readable, Text
from tools.reading import is_attachment, keep_file, read_source
from tools.tool import Source, ToolContext, ToolResult

TEXT_TOOL = "scrape_url"
PDF_TOOL = "pdf_to_text"
"""The tools that tokens name: each reads on in what the other began, since an address may lead to both."""


@dataclass(frozen=True)
class Place:
    """Where to read: a character of a text, or a page of a PDF, from 0, and a character of it."""

    url: str
    offset: int = 0
    page: int = 0
    page_offset: int = 0
    repaired: bool = False

    @property
    def is_start(self) -> bool:
        return not (self.offset or self.page or self.page_offset)


def place_of(token: str, own: str) -> Place:
    """The place that a token names, for the tool `own`. Raises InvalidTokenError."""
    try:
        return _place(token, own)
    except InvalidTokenError as error:
        other = PDF_TOOL if own == TEXT_TOOL else TEXT_TOOL
        if error.kind != "token_of_other_tool" or error.details["tool"] != other:
            raise
        return _place(token, other)


def _place(token: str, tool: str) -> Place:
    fields = ("offset",) if tool == TEXT_TOOL else ("page_index", "page_char_offset")
    parsed = parse_token(token, tool, "url", *fields)
    repaired = was_repaired(token, parsed)
    if tool == TEXT_TOOL:
        return Place(parsed["url"], parsed["offset"], repaired=repaired)
    return Place(
        parsed["url"], page=parsed["page_index"], page_offset=parsed["page_char_offset"], repaired=repaired
    )


def read_part(place: Place, wished: int, context: ToolContext) -> ToolResult:
    """The part that begins at a place, in at most `wished` characters.

    Raises Failure: those of `read_source`, "offset_beyond_end", "page_beyond_end", "no_text_layer",
    "max_chars_too_small".
    """
    read = read_source(place.url, context)
    limit = min(wished, context.max_result_chars)
    give = _text_part if isinstance(read, Text) else _pdf_part
    return give(read, place, limit, context)  # type: ignore[arg-type]


def title_line(title: str, text: str) -> str:
    """The heading of a first part, unless the text begins with it anyway."""
    return "" if not title or text[: len(title) + 8].lstrip("# ").startswith(title) else f"# {title}\n\n"


def _text_part(read: Text, place: Place, limit: int, context: ToolContext) -> ToolResult:
    page = read.page
    if place.offset >= len(page.text):
        raise Failure("offset_beyond_end", offset=place.offset, characters=len(page.text))
    part = format_page_to_limit(
        page.text,
        place.offset,
        limit,
        TEXT_TOOL,
        lambda end: {"url": read.url, "offset": end},
        title_line(page.title, page.text),
        _note(read, place, context),
    )
    facts = {"part": part.number, "of": part.of, "offset": place.offset, "end": part.end}
    return _result(part.result, read, page.title, facts | {"characters": len(page.text)})


def _pdf_part(read: Pdf, place: Place, limit: int, context: ToolContext) -> ToolResult:
    reader = PdfReader(read, context.settings.max_pdf_pages, context.locale, context.cancel)
    title = title_line(read.title, "") if place.is_start else ""
    part = reader.part(
        (place.page, place.page_offset),
        limit,
        PDF_TOOL,
        lambda page, offset: {"url": read.url, "page_index": page, "page_char_offset": offset},
        title + _note(read, place, context),
    )
    return _result(part.result, read, read.title, {"pages": [part.first, part.last], "of_pages": read.count})


def _result(text: str, read: Readable, title: str, facts: dict[str, Any]) -> ToolResult:
    """`facts` tell the interface which part it is."""
    data = {"url": read.url, "title": title, **facts}
    sources = () if is_attachment(read.url) else (Source(read.url, title, read=True),)
    return ToolResult(text, data, sources=sources)


def _note(read: Readable, place: Place, context: ToolContext) -> str:
    """What the model has to know of this part beside its text."""
    lines = []
    if place.repaired:
        key = "token_repaired" if isinstance(read, Text) else "token_repaired_pdf"
        where = {"url": read.url, "offset": place.offset, "page": place.page + 1}
        lines.append(context.locale(f"results.{key}", **where))
    if isinstance(read, Text) and read.page.partial and place.is_start:
        lines.append(context.locale("results.partial_page"))
    if isinstance(read, Pdf) and place.is_start and (kept := keep_file(read, context)):
        lines.append(kept)
    return "".join(f"{line}\n\n" for line in lines)
