"""The tool that makes a PDF from Markdown."""

import re

from tools.failure import Failure
from tools.tool import Arguments, Document, Source, Tool, ToolContext, ToolResult

_LONGEST_TITLE = 300
_WRAPPED = re.compile(r"\A\s*(`{3,}|~{3,})(?:markdown|md)[ \t]*\n(.*)\n\1[ \t]*\s*\Z", re.DOTALL)
"""The whole document in a fence, as some models send it."""

_TARGETS = re.compile(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+[\"'(][^\n]*?)?\)|\]:[ \t]*\S+")
"""Where links lead, which only a click shows: `](target)` and `[name]: target`."""


class CreatePdfArguments(Arguments):
    """A document: its title and its whole content."""

    title: str
    markdown: str


def _create_pdf(arguments: CreatePdfArguments, context: ToolContext) -> ToolResult:
    from tools.helper.pdf.render import render_pdf

    markdown = _unwrapped(arguments.markdown)
    if not markdown.strip():
        face = context.locale.face("create_pdf")
        raise Failure("empty_document", name=face.name, markdown=face.arguments["markdown"]["name"])
    title = _clean_title(arguments.title) or _first_words(markdown)
    sources = _uncited(markdown, context.sources)
    rendered = render_pdf(
        title,
        markdown,
        language=context.locale.language,
        sources=[(source.url, source.title) for source in sources],
    )
    document = context.documents.save(
        context.owner, title, rendered.bytes, [source.url for source in context.sources if source.read]
    )
    notes = [note.told(context.locale) for note in rendered.notes]
    text = "\n".join([context.locale("results.pdf_made", url=document.url), *notes])
    return ToolResult(text, data=_data(document, notes), documents=(document,))


def _unwrapped(markdown: str) -> str:
    wrapped = _WRAPPED.match(markdown)
    return wrapped[2] if wrapped else markdown


def _clean_title(title: str) -> str:
    """The title on one line, without the marks of a heading."""
    words = " ".join(title.split()).lstrip("# ")
    return words[:_LONGEST_TITLE].strip()


def _first_words(markdown: str) -> str:
    """A title for a document that came without one."""
    line = next((line for line in markdown.splitlines() if re.search(r"\w", line)), "")
    return _clean_title(re.sub(r"[*_`#>\[\]]", "", line))[:80] or "Document"


def _uncited(markdown: str, sources: tuple[Source, ...]) -> list[Source]:
    """The pages that were read for this document and whose address nobody would see on paper."""
    seen = _TARGETS.sub("]", markdown)
    read = {source.url: source for source in sources if source.read}
    return [source for url, source in read.items() if url.rstrip("/") not in seen]


def _data(document: Document, notes: list[str]) -> dict[str, object]:
    return {
        "name": document.name,
        "title": document.title,
        "url": document.url,
        "pages": document.pages,
        "bytes": document.bytes,
        "notes": notes,
    }


TOOL = Tool("create_pdf", _create_pdf, CreatePdfArguments, read_only=False, seconds=60, content="markdown")
