"""What a tool is, what it is given and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from locales import Locale, load_locale
from tools.cancel import Cancel
from tools.failure import Problem
from tools.settings import ToolSettings

if TYPE_CHECKING:
    from tools.attachments import Attachments
    from tools.documents import DocumentStore

LOCAL_OWNER = "local"


class Arguments(BaseModel):
    """Arguments of a tool. Models write "5" for 5 and 2026 for "2026": both are taken."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


@dataclass(frozen=True)
class Source:
    """An address that a result rests on: `read` if its text was fetched, else only seen in a search."""

    url: str
    title: str = ""
    read: bool = False


@dataclass(frozen=True)
class Document:
    """A file that the panel made. `name` is its file name; `bytes` its size."""

    name: str
    title: str
    pages: int
    bytes: int
    created: datetime

    @property
    def url(self) -> str:
        """Where the panel serves it, relative to the panel's own root."""
        return f"pdfs/{self.name}"


@dataclass(frozen=True)
class ToolResult:
    """What a call gave: `text` for the model, `data` for the interface.

    With `error` the call failed, and `text` tells the model why and what it can do instead.
    """

    text: str
    data: Any = None
    sources: tuple[Source, ...] = ()
    documents: tuple[Document, ...] = ()
    error: Problem | None = None


def _default_documents() -> "DocumentStore":
    from tools.documents import DEFAULT_FOLDER, DocumentStore

    return DocumentStore(DEFAULT_FOLDER)


@dataclass(frozen=True)
class ToolContext:
    """What surrounds a call: for whom, in which language, within which limits, after which reading.

    A result's text may have `max_result_chars` characters, its footer included. `attachments` are the
    files of the chat that the call is made in; None where there is no chat.
    """

    settings: ToolSettings = field(default_factory=ToolSettings)
    locale: Locale = field(default_factory=lambda: load_locale("en"))
    owner: str = LOCAL_OWNER
    cancel: Cancel = field(default_factory=Cancel)
    progress: Callable[[str], None] = lambda text: None
    max_result_chars: int = 40_000
    sources: tuple[Source, ...] = ()
    documents: "DocumentStore" = field(default_factory=_default_documents)
    attachments: "Attachments | None" = None


@dataclass(frozen=True)
class Tool:
    """A tool under its canonical name; its face in each language stands in the locales.

    `function` gets the validated arguments and the context, and raises `Failure` for what it can't do.
    `read_only` tools may run side by side; `seconds` is the longest that one call may take. `content`
    names the argument that is a whole text, if there is one.
    """

    name: str
    function: Callable[[Any, ToolContext], ToolResult]
    arguments: type[Arguments]
    read_only: bool
    seconds: float
    content: str = ""
