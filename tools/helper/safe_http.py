"""The only way by which tools fetch a page: public addresses, within limits of time and size.

No proxies from the environment, no cookies, no logins; every redirect goes through the same gate.
"""

import contextlib
import http.client
import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as ReadTimeout
from urllib3.response import HTTPResponse

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.checked_connection import Alarm, Network, open_connection
from tools.helper.public_address import WebAddress, parse_web_address, validate_public_http_url
from tools.helper.unpack import BadPacking, unpacker

__all__ = ["MEGABYTE", "Fetched", "fetch_public_bytes", "validate_public_http_url"]

USER_AGENT = "Mozilla/5.0 (compatible; OllamaAgent/1.0)"
MEGABYTE = 1024 * 1024
_REDIRECTS = 6
_REDIRECT_STATUS = frozenset({301, 302, 303, 307, 308})
_PIECE = 65536

_STATUS_KINDS = {
    **dict.fromkeys((401, 403, 407, 451), "blocked"),
    402: "paywall",
    **dict.fromkeys((404, 410), "page_not_found"),
    429: "too_many_requests",
}


@dataclass(frozen=True)
class Fetched:
    """An answer. `url` is the address that gave it, `chain` every address that was asked, in order."""

    url: str
    chain: tuple[str, ...]
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """The header with its parameters, such as "text/html; charset=utf-8"; "" without one."""
        return self.headers.get("Content-Type", "")


def fetch_public_bytes(
    url: str,
    *,
    seconds: float = 10.0,
    max_bytes: int = 10 * MEGABYTE,
    allow_hosts: Iterable[str] = (),
    language: str = "en",
    cancel: Cancel | None = None,
    network: Network | None = None,
    known: Mapping[str, str] | None = None,
) -> Fetched:
    """Get a page or a file from a public address.

    `seconds` bound everything from the look-up to the last byte. A body over `max_bytes`, by its header
    or as read and unpacked, is refused, never cut. With `known`, the headers of an earlier answer, the
    server may say that nothing has changed (status 304, without a body).

    Raises Failure: those of `validate_public_http_url`, "unknown_host", "no_connection",
    "bad_certificate", "bad_response", "fetch_timeout", "too_large", "too_many_redirects", "blocked",
    "paywall", "page_not_found", "too_many_requests", "http_status", or "stopped" as soon as `cancel` is
    set.
    """
    fetch = _Fetch(max_bytes, tuple(allow_hosts), language, network or Network(), _validators(known or {}))
    with Alarm(seconds, cancel or Cancel()) as alarm:
        try:
            return fetch.follow(url, alarm)
        except (OSError, HTTPError, http.client.HTTPException, UnicodeError, BadPacking) as error:
            if alarm.cancel.is_set():
                raise Failure("stopped") from error
            if alarm.rung or isinstance(error, TimeoutError | ReadTimeout):
                raise Failure("fetch_timeout", url=url, seconds=f"{seconds:g}") from error
            raise _network_failure(error, url) from error


@dataclass(frozen=True)
class _Fetch:
    max_bytes: int
    allow_hosts: tuple[str, ...]
    language: str
    network: Network
    validators: Mapping[str, str]

    def follow(self, url: str, alarm: Alarm) -> Fetched:
        """Ask `url`, then wherever it redirects to. The body of a redirect is never read."""
        chain: list[str] = []
        while len(chain) <= _REDIRECTS:
            address = parse_web_address(url, self.allow_hosts, self.network.is_public)
            chain.append(address.url)
            with contextlib.closing(open_connection(address, self.network, alarm)) as connection:
                connection.request("GET", address.target, headers=self._headers(), preload_content=False)
                response = connection.getresponse()
                location = _location(response)
                if not location:
                    return self._read(response, tuple(chain), address, alarm)
            url = _joined(address.url, location)
        raise Failure("too_many_redirects", url=chain[0], count=_REDIRECTS)

    def _headers(self) -> dict[str, str]:
        return {
            "User-Agent": USER_AGENT,
            "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.5",
            "Accept-Encoding": "gzip, deflate",
            "Accept-Language": f"{self.language},en;q=0.7,*;q=0.3",
            **self.validators,
        }

    def _read(
        self, response: HTTPResponse, chain: tuple[str, ...], address: WebAddress, alarm: Alarm
    ) -> Fetched:
        if response.status == 304 and self.validators:
            return Fetched(address.url, chain, 304, response.headers, b"")
        _check_status(response, address.url)
        if (response.length_remaining or 0) > self.max_bytes:
            raise self._too_large(address.url)
        unpack = unpacker(response.headers.get("Content-Encoding", ""))
        body = bytearray()
        while packed := response.read1(_PIECE, decode_content=False):
            for piece in unpack.feed(packed):
                body += piece
                if len(body) > self.max_bytes:
                    raise self._too_large(address.url)
        if alarm.rung:  # a connection that was shut down looks like the end of the body
            raise TimeoutError("the alarm ended the body")
        unpack.end()
        return Fetched(address.url, chain, response.status, response.headers, bytes(body))

    def _too_large(self, url: str) -> Failure:
        return Failure("too_large", url=url, limit=f"{self.max_bytes / MEGABYTE:g}")


def _validators(known: Mapping[str, str]) -> dict[str, str]:
    """The headers that ask for an answer only if it differs from a known one (RFC 9110, 13.1)."""
    named = {"If-None-Match": "ETag", "If-Modified-Since": "Last-Modified"}
    return {ask: known[told] for ask, told in named.items() if told in known}


def _location(response: HTTPResponse) -> str:
    """Where a redirect leads; "" for any other answer. Servers send UTF-8 here, which is read as Latin-1."""
    if response.status not in _REDIRECT_STATUS:
        return ""
    raw = response.headers.get("Location", "").strip()
    with contextlib.suppress(UnicodeError):
        raw = raw.encode("latin-1").decode()
    return raw.replace(" ", "%20")


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:  # such as http://[::1
        raise Failure("invalid_url") from error


def _check_status(response: HTTPResponse, url: str) -> None:
    status = response.status
    if 200 <= status < 300:
        return
    kind = _STATUS_KINDS.get(status, "http_status")
    if response.headers.get("cf-mitigated"):  # Cloudflare's mark of a challenge, whatever the status
        kind = "blocked"
    raise Failure(kind, url=url, status=status, evidence=f"HTTP {status}")


def _network_failure(error: Exception, url: str) -> Failure:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Failure("bad_certificate", url=url)
    if isinstance(error, socket.gaierror | UnicodeError):
        return Failure("unknown_host", url=url)
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return Failure("no_connection", url=url)
    return Failure("bad_response", url=url)
