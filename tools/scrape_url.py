"""The tool that reads a web page, part by part."""

from dataclasses import replace
from typing import Any

from pydantic import model_validator

from tools.failure import Failure
from tools.helper.html_text import Page, extract_page
from tools.helper.page_store import ReadPage, page_once
from tools.helper.pagination import Part, format_page_to_limit, parse_token, was_repaired, without_footer_mark
from tools.helper.safe_http import MEGABYTE, fetch_public_bytes, validate_public_http_url
from tools.tool import Arguments, Source, Tool, ToolContext, ToolResult

NAME = "scrape_url"


class ScrapeArguments(Arguments):
    """`continue_from` beats the rest; 0 or less means the default."""

    url: str
    max_chars: int = 0
    continue_from: str = ""
    offset: int = 0

    @model_validator(mode="before")
    @classmethod
    def _token_is_enough(cls, given: Any) -> Any:
        """A token holds the address, so a call with a token alone is complete."""
        if isinstance(given, dict) and given.get("continue_from"):
            return {"url": "", **given}
        return given


def scrape_url(arguments: ScrapeArguments, context: ToolContext) -> ToolResult:
    """The part of a page's text that fits, its title before the first one.

    Raises Failure: those of fetching, of `extract_page`, of tokens, and "offset_beyond_end".
    """
    url, offset, repaired = _asked(arguments)
    read = _read(url, context)
    text = read.page.text
    if offset >= len(text):
        raise Failure("offset_beyond_end", offset=offset, characters=len(text))
    wished = arguments.max_chars if arguments.max_chars > 0 else context.settings.scrape_max_chars
    limit = min(wished, context.max_result_chars)
    note = _note(read, offset, repaired, context)
    part = format_page_to_limit(
        text, offset, limit, NAME, lambda end: {"url": read.url, "offset": end}, _title(read.page), note
    )
    return ToolResult(
        text=part.result,
        data=_facts(read, offset, part),
        sources=(Source(read.url, read.page.title, read=True),),
    )


TOOL = Tool(NAME, scrape_url, ScrapeArguments, read_only=True, seconds=30)


def _asked(arguments: ScrapeArguments) -> tuple[str, int, bool]:
    """The address, the character to begin at, and whether they come from a token that had to be repaired."""
    token = arguments.continue_from
    if not token.strip():
        return arguments.url, max(arguments.offset, 0), False
    parsed = parse_token(token, NAME, "url", "offset")
    return parsed["url"], parsed["offset"], was_repaired(token, parsed)


def _read(url: str, context: ToolContext) -> ReadPage:
    """Fetch a page and take its text out, once for all its parts."""
    settings, language = context.settings, context.locale.language
    address = validate_public_http_url(url, settings.allow_hosts)

    def read() -> ReadPage:
        fetched = fetch_public_bytes(
            address,
            max_bytes=settings.max_fetch_mb * MEGABYTE,
            allow_hosts=settings.allow_hosts,
            language=language,
            cancel=context.cancel,
        )
        page = extract_page(fetched.body, fetched.content_type, fetched.url)
        return ReadPage(fetched.url, replace(page, text=without_footer_mark(page.text)))

    return page_once((address, language), settings.pagination_token_ttl, read)


def _note(read: ReadPage, offset: int, repaired: bool, context: ToolContext) -> str:
    """What the model has to know of this part beside its text."""
    lines = []
    if repaired:
        lines.append(context.locale("results.token_repaired", url=read.url, offset=offset))
    if read.page.partial and not offset:
        lines.append(context.locale("results.partial_page"))
    return "".join(f"{line}\n\n" for line in lines)


def _title(page: Page) -> str:
    """The heading of the first part, unless the text begins with it anyway."""
    return "" if not page.title or page.text.lstrip("# ").startswith(page.title) else f"# {page.title}\n\n"


def _facts(read: ReadPage, offset: int, part: Part) -> dict[str, Any]:
    """For the interface: which part was given, of how many, and which characters of all."""
    return {
        "url": read.url,
        "title": read.page.title,
        "part": part.number,
        "of": part.of,
        "offset": offset,
        "end": part.end,
        "characters": len(read.page.text),
    }
