"""Which addresses of the web may be fetched: a rule on text alone, without any look-up.

Python's `ipaddress` is not the rule: what it calls global differs between its versions, and it counts
multicast, NAT64 and Azure's metadata address as global. So the networks are listed here. Sources: IANA's
special-purpose address registries; WHATWG URL, section 3.5, on hosts that end in a number.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlsplit, urlunsplit

from tools.failure import Failure

DEFAULT_PORTS = {"http": 80, "https": 443}
_PORTS = frozenset({80, 443, 8000, 8080, 8443})
_LONGEST_URL = 2048

_PRIVATE_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # Azure's metadata server, on a public address
    )
)
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
"""All that is given out for public use. Loopback, NAT64, link-local and the like lie outside."""
_PRIVATE_6 = tuple(
    ipaddress.IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
_ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")
"""Bytes 8 to 11 of an address that embeds an IPv4 address (RFC 5214)."""

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]+)(?::(?P<port>[0-9]{0,5}))?", re.ASCII)
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PRIVATE_SUFFIXES = tuple(
    f".{name}"
    for name in (
        "localhost",
        "localdomain",
        "local",
        "internal",
        "home.arpa",
        "home",
        "lan",
        "corp",
        "intranet",
    )
)
_PATH_SIGNS = "/%:@!$&'()*+,;=~-._"
_QUERY_SIGNS = _PATH_SIGNS + '?[]|{}^`"<>'

AddressRule = Callable[[str], bool]


@dataclass(frozen=True)
class WebAddress:
    """A checked URL and its parts. `owned` when the owner of the panel opened this host by name."""

    url: str
    scheme: str
    host: str
    port: int
    target: str
    owned: bool


def is_public_address(address: str) -> bool:
    """Whether an IP address, as text, belongs to the public internet. False for what is no address."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is None:
            return (
                ip in _PUBLIC_6
                and not any(ip in network for network in _PRIVATE_6)
                and ip.packed[8:12] not in _ISATAP
            )
        ip = ip.ipv4_mapped
    return not any(ip in network for network in _PRIVATE_4)


def validate_public_http_url(
    url: str, allow_hosts: Iterable[str] = (), is_public: AddressRule = is_public_address
) -> str:
    """The URL in its canonical form, without its fragment; pure, looks nothing up.

    Hosts in `allow_hosts` pass whatever their address and port. Raises Failure "invalid_url",
    "blocked_scheme", "blocked_login", "blocked_host" or "blocked_port".
    """
    return parse_web_address(url, allow_hosts, is_public).url


def parse_web_address(
    url: str, allow_hosts: Iterable[str] = (), is_public: AddressRule = is_public_address
) -> WebAddress:
    """As `validate_public_http_url`, with the parts of the URL.

    The canonical URL is built anew from the parts, so that no other parser can read it differently.
    """
    return _parsed(url, tuple(allow_hosts), is_public)


@lru_cache(maxsize=256)
def _parsed(url: str, allow_hosts: tuple[str, ...], is_public: AddressRule) -> WebAddress:
    scheme, authority, path, query = _split(url)
    host, port = _host_and_port(authority, DEFAULT_PORTS[scheme])
    owned = host.strip("[]") in {allowed.strip("[]. ").lower() for allowed in allow_hosts}
    if not owned:
        _check_public(host, is_public)
        if port not in _PORTS:
            raise Failure("blocked_port", port=port)
    shown = host if port == DEFAULT_PORTS[scheme] else f"{host}:{port}"
    path, query = quote(path or "/", safe=_PATH_SIGNS), quote(query, safe=_QUERY_SIGNS)
    return WebAddress(
        url=urlunsplit((scheme, shown, path, query, "")),
        scheme=scheme,
        host=host.strip("[]"),
        port=port,
        target=f"{path}?{query}" if query else path,
        owned=owned,
    )


def _split(url: str) -> tuple[str, str, str, str]:
    url = url.strip()
    if len(url) > _LONGEST_URL or _FORBIDDEN.search(url):
        raise Failure("invalid_url")
    try:
        url.encode()
        parts = urlsplit(url)
    except ValueError as error:
        raise Failure("invalid_url") from error
    if parts.scheme and parts.scheme not in DEFAULT_PORTS:
        raise Failure("blocked_scheme", scheme=parts.scheme)
    if not parts.scheme or not parts.netloc:
        raise Failure("invalid_url")
    if "@" in parts.netloc:
        raise Failure("blocked_login")
    return parts.scheme, parts.netloc, parts.path, parts.query


def _host_and_port(authority: str, default_port: int) -> tuple[str, int]:
    """The canonical host (IPv6 in brackets) and the port."""
    match = _AUTHORITY.fullmatch(authority)
    if not match:
        raise Failure("invalid_url")
    port = int(match["port"] or default_port)
    if not 0 < port < 65536:
        raise Failure("invalid_url")
    try:
        return _canonical_host(match["host"]), port
    except ValueError as error:
        raise Failure("invalid_url") from error


def _canonical_host(host: str) -> str:
    """Raises ValueError for what is no host. Zone identifiers (`fe80::1%eth0`) are none."""
    if host.startswith("["):
        if "%" in host:
            raise ValueError(host)
        return f"[{ipaddress.IPv6Address(host[1:-1])}]"
    if not host.isascii():
        import idna  # only names outside ASCII need it

        host = idna.encode(host, uts46=True).decode()
    host = host.removesuffix(".").lower()
    if not _HOST_NAME.fullmatch(host):
        raise ValueError(host)
    return host


def _check_public(host: str, is_public: AddressRule) -> None:
    """Raises Failure "blocked_host" for addresses that are not public and names that can't be."""
    if host.startswith("["):
        public = is_public(host[1:-1])
    elif _NUMBER.fullmatch(host.rpartition(".")[2]):
        public = _is_dotted_quad(host) and is_public(host)
    else:
        public = "." in host and not host.endswith(_PRIVATE_SUFFIXES)
    if not public:
        raise Failure("blocked_host", host=host)


def _is_dotted_quad(host: str) -> bool:
    """The only way of writing an IPv4 address that every resolver reads alike: not 127.1, 0x7f.1, 017."""
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True
