"""Fetching what an address leads to and making it readable, once for all its parts and for whoever asks."""

from tools.helper.cache import Cache
from tools.helper.readable import Readable, readable
from tools.helper.safe_http import MEGABYTE, fetch_public_bytes, validate_public_http_url
from tools.helper.worker import workers
from tools.tool import ToolContext

_CACHE_BYTES = 64 * MEGABYTE

_cache: Cache[Readable] = Cache(_CACHE_BYTES)


def read_address(url: str, context: ToolContext) -> Readable:
    """What an address leads to, fetched and read once however often it is asked for.

    Raises Failure: those of fetching and of `readable`.
    """
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

    return _cache.get((address, language), settings.pagination_token_ttl, make, context.cancel)
