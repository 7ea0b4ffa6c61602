"""What an address or a file of the chat has to read: got and parsed once for all its parts."""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from tools.attachments import PREFIX, Attachment, Attachments
from tools.failure import Failure
from tools.helper.cache import Cache
from tools.helper.readable import Pdf, Readable, readable
from tools.helper.safe_http import MEGABYTE, Fetched, fetch_public_bytes, validate_public_http_url
from tools.helper.worker import workers
from tools.tool import ToolContext

_CACHE_BYTES = 64 * MEGABYTE

_cache: Cache[Readable] = Cache(_CACHE_BYTES)


def read_source(name: str, context: ToolContext) -> Readable:
    """What an address leads to, or `attachment:NUMBER` names in this chat.

    Raises Failure: those of fetching, of `readable` and of `Attachments`.
    """
    kept = context.attachments
    if is_attachment(name) or (kept is not None and "/" not in name and kept.has(name)):
        if kept is None:
            raise Failure("attachment_missing", id=name, known="-")
        return _read_attachment(kept, kept.find(name), context)
    return _read_address(name, context)


def is_attachment(name: str) -> bool:
    return name.lower().startswith(PREFIX)


def keep_file(read: Readable, context: ToolContext) -> str:
    """Keep what was read from the web with the chat, where the settings wish it: a line that says so, or why
    it was not kept; "" where there was nothing to do."""
    if not context.settings.keep_files or context.attachments is None or is_attachment(read.url):
        return ""
    name = PurePosixPath(unquote(urlsplit(read.url).path)).name or "page"
    if isinstance(read, Pdf):
        name, content, content_type = f"{name.removesuffix('.pdf')}.pdf", read.body, "application/pdf"
    else:
        name, content, content_type = f"{name}.txt", read.page.text.encode(), "text/plain; charset=utf-8"
    try:
        kept = context.attachments.add(name, content, content_type, read.url)
    except Failure as failure:
        return context.locale("results.not_kept", cause=failure.told(context.locale).cause)
    return context.locale("results.kept", id=kept.id, name=kept.name)


def _read_attachment(kept: Attachments, attachment: Attachment, context: ToolContext) -> Readable:
    def make(_: Readable | None) -> Readable:
        headers = {"Content-Type": attachment.content_type}
        file = Fetched(attachment.id, (), 200, headers, kept.read(attachment))
        return readable(file, context.settings.max_pdf_pages, context.cancel)

    key = (kept.folder, attachment.id)
    return _cache.get(key, context.settings.pagination_token_ttl, make, context.cancel)


def _read_address(url: str, context: ToolContext) -> Readable:
    settings, language = context.settings, context.locale.language
    address = validate_public_http_url(url, settings.allow_hosts)

    def make(old: Readable | None) -> Readable:
        workers.warm()
        fetched = fetch_public_bytes(
            address,
            max_bytes=settings.max_fetch_mb * MEGABYTE,
            allow_hosts=settings.allow_hosts,
            language=language,
            cancel=context.cancel,
            known=old.headers if old else None,
        )
        if old and fetched.status == 304:
            return old
        return readable(fetched, settings.max_pdf_pages, context.cancel)

    seconds = settings.pagination_token_ttl
    read = _cache.get((address, language), seconds, make, context.cancel)
    if read.url != address:  # tokens name the address that it was redirected to
        _cache.get((read.url, language), seconds, lambda _: read, context.cancel)
    return read
