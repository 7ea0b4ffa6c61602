"""The files that the panel makes: the only place that writes, lists, opens or deletes one.

A document is two files: `NAME.pdf`, and `.about/NAME.json` with its owner, title and sources. The second is
there first and the PDF gets its name last, so that whatever has its name is whole, and described, after a
kill at any moment. Any number of processes may share a folder.
"""

import json
import logging
import os
import re
import secrets
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tools.failure import Failure
from tools.helper.files import TEMPORARY, sync_folder
from tools.tool import Document

DEFAULT_FOLDER = Path("outputs/pdfs")

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,120}\.pdf")
_LONGEST_TITLE = 50
_STALE_SECONDS = 600
"""Age from which on a temporary file has lost its process; saving takes less than a second."""

_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d"}
)
"""Letters that Unicode does not take apart into a plain one and an accent."""


@dataclass(frozen=True)
class DocumentStore:
    """The documents in a folder, each seen by its owner alone.

    An owner is any text: a login, "local", or the id of a session. Raises Failure: `document_missing` for a
    name that is not one of the owner's documents, `documents_folder` where the disk refuses.
    """

    folder: Path

    def save(self, owner: str, title: str, content: bytes, sources: Sequence[str] = ()) -> Document:
        """Keep a PDF under a new name made of the time and the title. Returns when it is on the disk."""
        created = datetime.now().astimezone()
        with _disk():
            (self.folder / ".about").mkdir(parents=True, exist_ok=True)
            self._sweep()
            temporary = self.folder / f".{secrets.token_hex(8)}{TEMPORARY}"
            try:
                _write(temporary, content)
                pages = _count_pages(temporary)
                about = {
                    "owner": owner,
                    "title": title,
                    "pages": pages,
                    "created": created.isoformat(),
                    "sources": list(sources),
                }
                path = self._reserve(f"{created:%Y%m%d-%H%M%S}_{safe_title(title)}", about)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            sync_folder(self.folder)
        return Document(path.name, title, pages, len(content), created)

    def list(self, owner: str) -> Sequence[Document]:
        """The owner's documents, newest first."""
        with _disk():
            found = [self._document(path, owner) for path in self.folder.glob("*.pdf")]
        documents = [document for document in found if document is not None]
        return sorted(documents, key=lambda document: (document.created, document.name), reverse=True)

    def path(self, owner: str, name: str) -> Path:
        """Where a document of the owner's lies, for serving it; never outside the folder."""
        path = self.folder / name
        if not _NAME.fullmatch(name) or self._document(path, owner) is None:
            raise Failure("document_missing", name=name)
        return path

    def delete(self, owner: str, name: str) -> None:
        """Delete a document of the owner's."""
        path = self.path(owner, name)
        with _disk():
            path.unlink(missing_ok=True)
            self._about(path).unlink(missing_ok=True)

    def _about(self, path: Path) -> Path:
        return self.folder / ".about" / f"{path.stem}.json"

    def _document(self, path: Path, owner: str) -> Document | None:
        """The document at a path, or None if there is none or it is another owner's."""
        try:
            about = json.loads(self._about(path).read_text(encoding="utf-8"))
            if about["owner"] != owner:
                return None
            created = datetime.fromisoformat(about["created"])
            return Document(path.name, about["title"], about["pages"], path.stat().st_size, created)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError) as error:
            log.warning("the description of %s is damaged: %r", path.name, error)
            return None

    def _reserve(self, stem: str, about: Mapping[str, object]) -> Path:
        """Describe a document under the first free name, which thereby is taken for all processes."""
        number = 1
        while True:
            path = self.folder / (f"{stem}-{number}.pdf" if number > 1 else f"{stem}.pdf")
            try:
                if not path.exists():
                    _write(self._about(path), json.dumps(about).encode("ascii"))
                    sync_folder(self.folder / ".about")
                    return path
            except FileExistsError:
                pass  # another process was faster
            number += 1

    def _sweep(self) -> None:
        """Take away what a killed process left: temporaries, and descriptions of PDFs that never came."""
        limit = time.time() - _STALE_SECONDS
        for temporary in self.folder.glob(f".*{TEMPORARY}"):
            _unlink_older(temporary, limit)
        for about in (self.folder / ".about").glob("*.json"):
            if not (self.folder / f"{about.stem}.pdf").exists():
                _unlink_older(about, limit)


def safe_title(title: str) -> str:
    """The title as a part of a file name: plain letters, digits and hyphens, on any system."""
    plain = unicodedata.normalize("NFKD", title.translate(_LETTERS))
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    words = re.sub(r"[^A-Za-z0-9]+", "-", letters)
    return words.strip("-")[:_LONGEST_TITLE].strip("-") or "document"


def _write(path: Path, content: bytes) -> None:
    """Write a file that does not exist yet, down to the disk."""
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _count_pages(path: Path) -> int:
    """How many pages a PDF has, read from the disk as a reader would."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        with path.open("rb") as file:
            pages = len(PdfReader(file).pages)
    except (PyPdfError, ValueError) as error:
        raise Failure("document_damaged", error=str(error)) from error
    if not pages:
        raise Failure("document_damaged", error="no pages")
    return pages


def _unlink_older(path: Path, limit: float) -> None:
    try:
        if path.stat().st_mtime < limit:
            path.unlink()
    except FileNotFoundError:
        pass  # another process swept it


@contextmanager
def _disk() -> Iterator[None]:
    """Within the block, what the disk refuses is told as a Failure."""
    try:
        yield
    except OSError as error:
        raise Failure("documents_folder", reason=error.strerror or str(error)) from error
