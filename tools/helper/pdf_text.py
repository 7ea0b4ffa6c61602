"""The text of a PDF, page by page: by pdfium, and by pypdf where pdfium gives up.

To be run in a worker process alone: pdfium is not safe in threads, and what reads strange files may crash.
"""

import io
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from tools.failure import Failure
from tools.helper.pdf_columns import columns_text
from tools.helper.pdf_repair import BULLET, repaired
from tools.helper.plain_text import one_line

State = Literal["text", "no_text_layer", "damaged"]

_FEW = 20
"""A page with fewer characters than this beside an image is a scan with a stamp on it; beside signs that
nobody can read, a page with a number on it."""

_ODD = re.compile(
    f"[\ufffd\ufffe\uffff\ue000-\uf8ff\U000f0000-\U0010ffff\x00-\x08\x0e-\x1f](?<!{BULLET.pattern})"
)
_MANY_ODD = 10
"""One in so many characters that are none: the page's fonts do not tell what their signs mean."""

_UNFELT_SECONDS = 0.1

_NO_TITLE = re.compile(
    r"untitled.*|sans titre|title|document\d*|\(.*\)|.*\.(?:pdf|docx?|tex|dvi|indd|qxd)", re.I
)
_MAKERS_PREFIX = re.compile(r"^Microsoft \w+ - ")


@dataclass(frozen=True)
class PdfPage:
    """A page. `number` counts from 1. A blank page has the state "text", and "" as its text."""

    number: int
    text: str
    state: State = "text"


@dataclass(frozen=True)
class PdfPages:
    """Pages that follow one another; `count` is how many the whole document has. `title` may be ""."""

    pages: tuple[PdfPage, ...]
    count: int
    title: str


def read_pdf(data: bytes, first: int = 0, most: int = 25, ahead: int = 0) -> PdfPages:
    """At most `most` pages from `first` on, which counts from 0; and up to `ahead` more in no time.

    A page that can't be read is told as such and passed over. Raises Failure "password_needed" or
    "pdf_broken" where there is no page to be had at all.
    """
    with _Document(data) as document:
        pages = tuple(map(document.page, _indexes(first, most, ahead, document.count)))
        return PdfPages(pages, document.count, document.title)


def _indexes(first: int, most: int, ahead: int, count: int) -> Iterator[int]:
    """The pages to be read; those ahead only while nobody would feel it."""
    soon = time.monotonic() + _UNFELT_SECONDS
    yield from range(first, min(first + most, count))
    for index in range(first + most, min(first + most + ahead, count)):
        if time.monotonic() > soon:
            return
        yield index


class _Document:
    """An open PDF, by pdfium if that can open it; pypdf is loaded when it is needed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pdfium: Any = None

    def __enter__(self) -> "_Document":
        import pypdfium2

        try:
            self._pdfium = pypdfium2.PdfDocument(self._data)
            if self._pdfium.get_formtype():
                self._pdfium.init_forms()  # or what was filled in is not part of the text
        except pypdfium2.PdfiumError:
            self._pdfium = None
            self._check_pypdf()
        return self

    def __exit__(self, *_: object) -> None:
        if self._pdfium is not None:
            self._pdfium.close()

    @cached_property
    def count(self) -> int:
        return len(self._pdfium) if self._pdfium is not None else len(self._pypdf.pages)

    @cached_property
    def title(self) -> str:
        """What the document says its title is, unless that is a program's own filling."""
        if self._pdfium is not None:
            title = self._pdfium.get_metadata_value("Title")
        else:
            title = _tried(lambda: self._pypdf.metadata.title) or ""
        title = one_line(_MAKERS_PREFIX.sub("", str(title)))
        return "" if _NO_TITLE.fullmatch(title) else title

    def page(self, index: int) -> PdfPage:
        found = self._by_pdfium(index) if self._pdfium is not None else None
        if found is None or (found.state == "text" and _is_odd(found.text)):
            other = self._by_pypdf(index)
            if other is not None and (found is None or not _is_odd(other)):
                found = PdfPage(index + 1, other)
        if found is None:
            return PdfPage(index + 1, "", "damaged")
        text = repaired(found.text)
        is_unread = len(text) < _FEW and _is_odd(found.text)
        return replace(found, text=text, state="no_text_layer" if is_unread else found.state)

    def _by_pdfium(self, index: int) -> PdfPage | None:
        """The text as pdfium gives it; None where it can't."""
        import pypdfium2

        try:
            if self._pdfium.formenv is not None:
                with _closing(self._pdfium[index]) as page:
                    page.flatten()
            with _closing(self._pdfium[index]) as page, _closing(page.get_textpage()) as shown:
                text = columns_text(shown) or shown.get_text_bounded()
                is_scan = len(text.strip()) < _FEW and _has_image(page)
        except (pypdfium2.PdfiumError, ValueError, UnicodeError):
            return None
        return PdfPage(index + 1, text, "no_text_layer" if is_scan else "text")

    @cached_property
    def _pypdf(self) -> Any:
        import pypdf

        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        return pypdf.PdfReader(io.BytesIO(self._data))

    def _by_pypdf(self, index: int) -> str | None:
        text = _tried(lambda: self._pypdf.pages[index].extract_text())
        return text if isinstance(text, str) else None

    def _check_pypdf(self) -> None:
        """Raises Failure where pypdf can't open it either."""
        try:
            if self._pypdf.is_encrypted and not self._pypdf.decrypt(""):
                raise Failure("password_needed")
            if not len(self._pypdf.pages):
                raise Failure("pdf_broken")
        except Failure:
            raise
        except Exception as error:  # it raises what it happens to come across
            raise Failure("pdf_broken") from error


def _tried(get: Any) -> Any:
    """What it gives, None where it fails: pypdf raises whatever it comes across in a broken file."""
    try:
        return get()
    except Exception:
        return None


def _is_odd(text: str) -> bool:
    """Whether so many signs are none that the page's fonts can't have told what they mean."""
    return bool(_ODD.search(text)) and len(_ODD.findall(text)) * _MANY_ODD > len(text)


def _has_image(page: Any) -> bool:
    import pypdfium2.raw

    return next(page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=4), None) is not None


@contextmanager
def _closing(opened: Any) -> Iterator[Any]:
    try:
        yield opened
    finally:
        opened.close()
