"""The tool that reads a web page, part by part."""

from typing import Any

from pydantic import model_validator

from tools.reading_parts import TEXT_TOOL, Place, place_of, read_part
from tools.tool import Arguments, Tool, ToolContext, ToolResult


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
    """The part of a page's text that fits, its title before the first one; of a PDF as `pdf_to_text`.

    Raises Failure: those of `place_of` and `read_part`.
    """
    if arguments.continue_from.strip():
        place = place_of(arguments.continue_from, TEXT_TOOL)
    else:
        place = Place(arguments.url, max(arguments.offset, 0))
    wished = arguments.max_chars if arguments.max_chars > 0 else context.settings.scrape_max_chars
    return read_part(place, wished, context)


TOOL = Tool(TEXT_TOOL, scrape_url, ScrapeArguments, read_only=True, seconds=60)
