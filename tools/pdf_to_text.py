"""The tool that reads a PDF, page by page."""

from typing import Any

from pydantic import model_validator

from tools.failure import Failure
from tools.reading_parts import PDF_TOOL, Place, place_of, read_part
from tools.tool import Arguments, Tool, ToolContext, ToolResult


class PdfArguments(Arguments):
    """`continue_from` beats the rest; 0 or less means the default. `page` counts from 1."""

    url_or_path: str = ""
    max_chars: int = 0
    continue_from: str = ""
    page: int = 0

    @model_validator(mode="before")
    @classmethod
    def _by_other_names(cls, given: Any) -> Any:
        """Models that know `scrape_url` call the address `url` here too."""
        if isinstance(given, dict) and "url_or_path" not in given and given.get("url"):
            return {**given, "url_or_path": given["url"]}
        return given


def pdf_to_text(arguments: PdfArguments, context: ToolContext) -> ToolResult:
    """The part of a PDF's text that fits, its pages numbered; of a page as `scrape_url`.

    Raises Failure: "no_address", and those of `place_of` and `read_part`.
    """
    if arguments.continue_from.strip():
        place = place_of(arguments.continue_from, PDF_TOOL)
    elif arguments.url_or_path.strip():
        place = Place(arguments.url_or_path.strip(), page=max(arguments.page - 1, 0))
    else:
        raise Failure("no_address")
    wished = arguments.max_chars if arguments.max_chars > 0 else context.settings.fetch_max_chars
    return read_part(place, wished, context)


TOOL = Tool(PDF_TOOL, pdf_to_text, PdfArguments, read_only=True, seconds=60)
