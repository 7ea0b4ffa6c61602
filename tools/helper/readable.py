"""What was fetched, as something to read: a text, or a PDF whose pages are read when they are asked for.

What it is is decided by what came, not by who asks: a PDF is a PDF for every tool. All parsing is done in a
worker process.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.html_text import Page, extract_page
from tools.helper.media_type import media_kind
from tools.helper.pagination import without_footer_mark
from tools.helper.pdf_text import PdfPage, PdfPages, read_pdf
from tools.helper.safe_http import Fetched
from tools.helper.worker import workers

_PAGE_SECONDS = 8.0
"""For a page or a text; the slowest real ones take one."""
_PDF_SECONDS = 15.0
_PDF_PAGE_SECONDS = 4.0
_AHEAD = 4
"""So many times the pages that were asked for are read ahead: one who reads on will ask for them."""

_WORKER_FAILURES = frozenset({"reading_timeout", "reading_memory", "reading_crash", "internal"})


@dataclass(frozen=True)
class Text:
    """A page or another text. `url` is the address that gave it, after redirects."""

    url: str
    page: Page
    bytes: int
    headers: Mapping[str, str]

    @property
    def size(self) -> int:
        return 4 * len(self.page.text)


class Pdf:
    """A PDF, whose pages are read when they are asked for. May be used from any thread."""

    def __init__(self, fetched: Fetched, first: PdfPages) -> None:
        self.url = fetched.url
        self.headers = fetched.headers
        self.title = first.title
        self.count = first.count
        self.body = fetched.body
        self._lock = threading.Lock()
        self._pages = _by_number(first)
        self._alone_below = 0

    @property
    def bytes(self) -> int:
        return len(self.body)

    @property
    def size(self) -> int:
        return len(self.body) + 4 * self.characters

    @property
    def characters(self) -> int:
        """Of the pages that were read so far."""
        return sum(len(page.text) for page in list(self._pages.values()))

    def page(self, number: int, most: int, cancel: Cancel) -> PdfPage:
        """A page, from 1 on. Those after it are read with it, `most` in all and more where that is quick.

        Where that goes wrong, each of them is read alone, and one that even so can't be read is a damaged
        one. Raises Failure "stopped".
        """
        with self._lock:
            if number not in self._pages and number >= self._alone_below:
                ahead = _AHEAD * most
                went_well = self._read(number, most, ahead, _PDF_SECONDS, cancel)
                self._alone_below = 0 if went_well else number + most + ahead
            if number not in self._pages:
                self._read(number, 1, 0, _PDF_PAGE_SECONDS, cancel)
            return self._pages.setdefault(number, PdfPage(number, "", "damaged"))

    def _read(self, number: int, most: int, ahead: int, seconds: float, cancel: Cancel) -> bool:
        """Whether the pages could be read."""
        try:
            read = workers.run(seconds, cancel, read_pdf, self.body, number - 1, most, ahead)
        except Failure as failure:
            if failure.kind not in _WORKER_FAILURES:
                raise
            return False
        self._pages |= _by_number(read)
        return True


Readable = Text | Pdf


def readable(fetched: Fetched, most_pages: int, cancel: Cancel) -> Readable:
    """An answer as what it is; of a PDF, the first pages are read at once.

    Raises Failure: those of `extract_page`, of `read_pdf`, and of the worker.
    """
    body, content_type = fetched.body, fetched.content_type
    if media_kind(body, content_type) == "pdf":
        return Pdf(fetched, _first_pages(body, most_pages, cancel))
    page = workers.run(_PAGE_SECONDS, cancel, extract_page, body, content_type, fetched.url)
    page = replace(page, text=without_footer_mark(page.text))
    return Text(fetched.url, page, len(body), fetched.headers)


def _first_pages(body: bytes, most: int, cancel: Cancel) -> PdfPages:
    """As many as one call may read; where that goes wrong, the bare facts, so that pages are tried alone."""
    try:
        return workers.run(_PDF_SECONDS, cancel, read_pdf, body, 0, most)
    except Failure as failure:
        if failure.kind not in _WORKER_FAILURES:
            raise
    return workers.run(_PDF_PAGE_SECONDS, cancel, read_pdf, body, 0, 0)


def _by_number(read: PdfPages) -> dict[int, PdfPage]:
    return {page.number: replace(page, text=without_footer_mark(page.text)) for page in read.pages}
