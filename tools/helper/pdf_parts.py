"""The text of a PDF in parts, its pages marked. A place in it is a page and a character of that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from locales import Locale
from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.pagination import footer_length, format_paged_result, make_token
from tools.helper.pdf_text import PdfPage
from tools.helper.readable import Pdf
from tools.helper.text_cut import cut_end

PDF_FACTS: Mapping[str, str] = {
    "replaces_earlier_tokens": "true",
    "keep_token_in_final_answer": "true",
    "resume_with_continue_from_only": "true",
}
"""Further lines of the footer below a part of a PDF, the same in every language."""

_SHORTEST_PART = 40
_LONGEST_PLACE = (99_999, 9_999_999)

Fields = Callable[[int, int], Mapping[str, Any]]
"""The fields of a token for the part that begins at a page, from 0, and a character of it."""


@dataclass(frozen=True)
class PdfPart:
    """A part: `result` is what the model reads, `text` what of the PDF is in it, without marks.

    It holds pages `first` to `last`, from 1, and reaches to the place `end`.
    """

    result: str
    text: str
    first: int
    last: int
    end: tuple[int, int]
    next_token: str | None


@dataclass(frozen=True)
class PdfReader:
    """What all parts of a PDF share. The text of a PDF is that of its pages with an empty line between."""

    pdf: Pdf
    most_pages: int
    locale: Locale
    cancel: Cancel

    def part(
        self,
        start: tuple[int, int],
        limit: int,
        tool: str,
        fields: Fields,
        header: str = "",
        following: Mapping[str, Any] | None = None,
    ) -> PdfPart:
        """The part from `start` on whose whole result, `header` and footer included, fits `limit`.

        `following` are the fields of the token for what comes after the PDF, if anything does. Raises
        Failure "page_beyond_end", "no_text_layer", "pdf_broken", "pdf_empty", "max_chars_too_small",
        "stopped".
        """
        if start[0] >= self.pdf.count:
            raise Failure("page_beyond_end", page=start[0] + 1, count=self.pdf.count)
        footer = footer_length(tool, (fields(*_LONGEST_PLACE), following), PDF_FACTS)
        taken = self._take(start, limit - len(header) - footer)
        if taken.end == start:
            raise Failure("max_chars_too_small", needed=len(header) + footer + 2 * _SHORTEST_PART)
        self._check(taken)
        more = fields(*taken.end) if taken.end[0] < self.pdf.count else following
        token = None if more is None else make_token(tool, **more)
        result = format_paged_result(header + taken.shown, token, PDF_FACTS)
        return PdfPart(result, taken.text, start[0] + 1, taken.last, taken.end, token)

    def _take(self, start: tuple[int, int], room: int) -> "_Taken":
        """As many pages, and of the last one as much, as there is room and work for."""
        taken = _Taken(start)
        last = min(start[0] + self.most_pages, self.pdf.count)
        while taken.end[0] < last and self._take_page(taken, room):
            pass
        return taken

    def _take_page(self, taken: "_Taken", room: int) -> bool:
        """Take the next page or its beginning; False where it was not taken whole."""
        index, offset = taken.end
        page = self.pdf.page(index + 1, self.most_pages, self.cancel)
        text = page.text if index + 1 == self.pdf.count else f"{page.text}\n\n"
        mark = self._mark(page) if offset == 0 or not taken.shown else ""
        left = room - len(taken.shown) - len(mark)
        if len(text) - offset <= left:
            taken.add(mark, text[offset:], page, (index + 1, 0))
            return True
        if left >= _SHORTEST_PART:
            end = cut_end(text, offset, left)
            whole = end == len(text)
            taken.add(mark, text[offset:end], page, (index + 1, 0) if whole else (index, end))
        return False

    def _mark(self, page: PdfPage) -> str:
        state = "" if page.state == "text" else f": {self.locale(f'results.page_{page.state}')}"
        return f"[Page {page.number}/{self.pdf.count}{state}]\n"

    def _check(self, taken: "_Taken") -> None:
        """Raises Failure where the whole PDF was seen, and nothing of it can be read."""
        if taken.text.strip() or len(taken.states) < self.pdf.count:
            return
        reasons = {"no_text_layer": "no_text_layer", "damaged": "pdf_broken", "text": "pdf_empty"}
        kind = next(reason for state, reason in reasons.items() if state in taken.states)
        raise Failure(kind, pages=self.pdf.count)


class _Taken:
    """What a part holds so far."""

    def __init__(self, start: tuple[int, int]) -> None:
        self.shown = ""
        self.text = ""
        self.end = start
        self.last = start[0] + 1
        self.states: list[str] = []

    def add(self, mark: str, text: str, page: PdfPage, end: tuple[int, int]) -> None:
        self.shown += mark + text
        self.text += text
        self.last = page.number
        self.states.append(page.state)
        self.end = end
