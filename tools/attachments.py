"""Files that a person dropped into a chat, or that a tool kept with it: they belong to that chat alone.

A model names one by `attachment:NUMBER`; a short number is copied right by small models too, and leads
nowhere outside of its chat.
"""

import mimetypes
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.failure import Failure
from tools.helper.files import write_atomically
from tools.helper.media_type import media_kind
from tools.helper.plain_text import one_line

Kind = Literal["pdf", "text", "image"]

PREFIX = "attachment:"
MEGABYTE = 1024 * 1024
MOST_BYTES = 25 * MEGABYTE
MOST_FILES = 20
"""Of one chat."""

IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
SUFFIXES = (".pdf", ".txt", ".md", ".csv", ".json", ".html", ".htm", ".xml", ".py", ".js", ".ts", ".log")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif")

_UNSAFE = re.compile(r"[^\w.() -]+")
_SIGNATURES = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


@dataclass(frozen=True)
class Attachment:
    """A file of a chat. `id` is how a model names it; `name` is the one that it came with.

    `source` is the address that it was taken from, "" for a file that a person attached.
    """

    id: str
    name: str
    kind: Kind
    content_type: str
    bytes: int
    source: str = ""

    @property
    def number(self) -> str:
        return self.id.removeprefix(PREFIX)


class Attachments:
    """The files of one chat, in a folder of its own. Every method may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._kept: dict[str, Attachment] = {}

    def __iter__(self) -> Iterator[Attachment]:
        return iter(list(self._kept.values()))

    def add(self, name: str, content: bytes, content_type: str = "", source: str = "") -> Attachment:
        """Keep a file; one that was taken from the same `source` before is kept once.

        Raises Failure "attachment_type", "attachment_size", "attachment_count", or
        "file_unwritable".
        """
        name = _UNSAFE.sub("_", one_line(name, 100)) or "file"
        kind, content_type = _kind(name, content, content_type)
        if len(content) > MOST_BYTES:
            raise Failure("attachment_size", name=name, limit=MOST_BYTES // MEGABYTE)
        with self._lock:
            for kept in self._kept.values():
                if source and kept.source == source:
                    return kept
            if len(self._kept) >= MOST_FILES:
                raise Failure("attachment_count", limit=MOST_FILES)
            id = str(len(self._kept) + 1)
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                write_atomically(self.folder / id, content)
            except OSError as error:
                raise Failure("file_unwritable", path=self.folder, reason=error.strerror) from error
            self._kept[id] = Attachment(PREFIX + id, name, kind, content_type, len(content), source)
            return self._kept[id]

    def find(self, id: str) -> Attachment:
        """The file that `attachment:NUMBER` names, or one by its name, as models write it too.

        Raises Failure "attachment_missing".
        """
        wanted = one_line(id)
        if wanted.lower().startswith(PREFIX):
            wanted = wanted[len(PREFIX) :]
        wanted = wanted.strip(" <>")
        named = [each for each in self if each.name.casefold() == wanted.casefold()]
        found = self._kept.get(wanted) or (named[-1] if named else None)
        if found is None:
            known = ", ".join(f"{each.id} ({each.name})" for each in self)
            raise Failure("attachment_missing", id=one_line(id, 100), known=known or "-")
        return found

    def has(self, name: str) -> bool:
        """Whether `find` would find it, where nothing says that a file of the chat is meant."""
        try:
            return bool(self.find(name))
        except Failure:
            return False

    def read(self, attachment: Attachment) -> bytes:
        """Its content. Raises Failure "attachment_missing" where it is no longer on the disk."""
        try:
            return (self.folder / attachment.number).read_bytes()
        except OSError as error:
            raise Failure("attachment_missing", id=attachment.id, known="-") from error

    def delete(self) -> None:
        """Remove them all."""
        with self._lock:
            self._kept.clear()
            shutil.rmtree(self.folder, ignore_errors=True)


def _kind(name: str, content: bytes, content_type: str) -> tuple[Kind, str]:
    """What a file is, by its first bytes and then by its name. Raises Failure "attachment_type"."""
    guessed = content_type or mimetypes.guess_type(name)[0] or ""
    image = next((of for start, of in _SIGNATURES if content.startswith(start)), "")
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        image = "image/webp"
    if image:
        return "image", image
    if not guessed.startswith(("text/", "application/")):
        guessed = ""
    if name.lower().endswith(SUFFIXES) and media_kind(content, guessed) == "binary":
        guessed = ""  # Windows and others have types of their own for .csv, .ts and the like
    match media_kind(content, guessed):
        case "pdf":
            return "pdf", "application/pdf"
        case "html":
            return "text", guessed or "text/html"
        case "text":
            return "text", guessed if guessed.startswith("text/") and guessed != "text/html" else "text/plain"
    raise Failure("attachment_type", name=name, known=" ".join(SUFFIXES + IMAGE_SUFFIXES))
