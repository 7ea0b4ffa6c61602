"""The one way out to web pages: what it refuses, what it fetches, and when it gives up."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.conftest import DATA
from tests.servers.http import LoopbackServer
from tests.servers.website import ScriptedSite
from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.checked_connection import Network
from tools.helper.public_address import is_public_address
from tools.helper.safe_http import MEGABYTE, Fetched, fetch_public_bytes

URLS = json.loads((DATA / "urls.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site() -> Iterator[ScriptedSite]:
    with ScriptedSite() as server:
        yield server


def answers(*targets: tuple[str, int]) -> list[Any]:
    """What getaddrinfo gives for these addresses and ports."""
    return [
        (socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))
        for host, port in targets
    ]


def network(server: LoopbackServer, **options: Any) -> Network:
    """Every name leads to `server`, and 127.0.0.1 counts as public."""
    looked_up = answers(("127.0.0.1", server.port))
    options = {"is_public": lambda ip: ip == "127.0.0.1" or is_public_address(ip), **options}
    return Network(resolve=lambda host, port, type=0: looked_up, **options)


def fetch(site: ScriptedSite, page: str = "plain", **options: Any) -> Fetched:
    options = {"network": network(site), "seconds": 5, **options}
    return fetch_public_bytes(f"http://news.example.com/{page}", **options)


def kind_of(site: ScriptedSite, page: str, **options: Any) -> str:
    with pytest.raises(Failure) as caught:
        fetch(site, page, **options)
    return caught.value.kind


def test_a_page_comes_with_what_is_known_of_it(site: ScriptedSite) -> None:
    fetched = fetch(site, "plain?a=b&c=%20d#e")
    assert (fetched.status, fetched.body) == (200, b"<p>hello")
    assert fetched.content_type == "text/html; charset=utf-8"
    assert fetched.headers["x-own"] == "1"
    assert fetched.url == "http://news.example.com/plain?a=b&c=%20d"
    request = site.requests[-1]
    assert request.target == "/plain?a=b&c=%20d"
    assert request.headers["user-agent"] == "Mozilla/5.0 (compatible; OllamaAgent/1.0)"
    assert request.headers["host"] == "news.example.com"


def test_redirects_are_followed_and_recorded(site: ScriptedSite) -> None:
    fetched = fetch(site, "steps?left=6")
    assert len(fetched.chain) == 7
    assert fetched.url == fetched.chain[-1] == "http://news.example.com/steps?left=0"
    assert not any("cookie" in request.headers for request in site.requests)
    assert kind_of(site, "steps?left=7") == "too_many_redirects"


@pytest.mark.parametrize("target", URLS["private_redirects"])
def test_redirects_pass_the_same_gate(site: ScriptedSite, target: str) -> None:
    with pytest.raises(Failure, match="Blocked URL: "):
        fetch(site, f"jump?to={quote(target)}")


def test_a_redirect_to_nonsense_is_an_invalid_url(site: ScriptedSite) -> None:
    assert kind_of(site, "jump?to=/%5C127.0.0.2/") == "invalid_url"
    assert kind_of(site, f"jump?to={quote('http://[::1')}") == "invalid_url"


def test_a_redirect_in_raw_utf8_is_understood(site: ScriptedSite) -> None:
    fetched = fetch(site, f"jump?to={quote('/plain?q=été à Paris')}")
    assert fetched.url.endswith("/plain?q=%C3%A9t%C3%A9%20%C3%A0%20Paris")


def test_one_private_answer_refuses_the_host(site: ScriptedSite) -> None:
    for private in ("10.0.0.1", "::1", "fe80::1%eth0", "64:ff9b::7f00:1"):
        mixed = Network(
            resolve=lambda *_, private=private, **__: answers(("127.0.0.1", site.port), (private, 80))
        )
        seen = len(site.requests)
        with pytest.raises(Failure, match=r"news\.example\.com is not a public address") as caught:
            fetch(site, network=mixed)
        assert private not in str(caught.value)
        assert len(site.requests) == seen


def test_the_answer_that_was_checked_is_the_one_connected_to(site: ScriptedSite) -> None:
    asked: list[str] = []

    def rebinding(host: str, port: int, type: int = 0) -> list[Any]:
        asked.append(host)
        return answers(("127.0.0.1", site.port)) if len(asked) == 1 else answers(("10.0.0.1", 80))

    public = network(site).is_public
    assert fetch(site, network=Network(resolve=rebinding, is_public=public)).status == 200
    assert asked == ["news.example.com"]
    with pytest.raises(Failure, match="is not a public address"):
        fetch(site, network=Network(resolve=rebinding, is_public=public))


def test_a_dead_address_gives_way_to_the_next(site: ScriptedSite) -> None:
    several = answers(("::1", 1), ("::1", 1), ("127.0.0.1", site.port))
    assert (
        fetch(site, network=Network(resolve=lambda *_, **__: several, is_public=lambda ip: True)).status
        == 200
    )


def test_a_private_port_open_or_closed_looks_the_same(site: ScriptedSite) -> None:
    texts = set()
    for port in (site.port, 1):
        own = Network(resolve=lambda *_, port=port, **__: answers(("127.0.0.1", port)))
        with pytest.raises(Failure) as caught:
            fetch(site, network=own)
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_no_such_host_and_nobody_there(site: ScriptedSite) -> None:
    def unknown(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    assert kind_of(site, "plain", network=Network(resolve=unknown)) == "unknown_host"
    assert kind_of(site, "plain", network=Network(resolve=lambda *_, **__: [])) == "unknown_host"
    closed = Network(resolve=lambda *_, **__: answers(("127.0.0.1", 1)), is_public=lambda ip: True)
    assert kind_of(site, "plain", network=closed) == "no_connection"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((401, "blocked"), (403, "blocked"), (451, "blocked"), (402, "paywall"), (404, "page_not_found")),
        *((410, "page_not_found"), (429, "too_many_requests"), (500, "http_status"), (503, "http_status")),
        *((304, "http_status"), (302, "http_status")),
    ],
)
def test_a_status_that_is_no_page(site: ScriptedSite, status: int, kind: str) -> None:
    with pytest.raises(Failure, match=f"Failed to fetch .*{'' if kind == 'paywall' else status}") as caught:
        fetch(site, f"status?code={status}")
    assert caught.value.kind == kind
    assert "private detail" not in str(caught.value)


def test_a_challenge_is_told_from_an_outage(site: ScriptedSite) -> None:
    assert kind_of(site, "status?code=503&cf=1") == "blocked"


def test_the_size_limit_refuses_and_never_cuts(site: ScriptedSite) -> None:
    assert len(fetch(site, f"sized?size={MEGABYTE}", max_bytes=MEGABYTE).body) == MEGABYTE
    with pytest.raises(Failure, match="limit of 1 MB"):
        fetch(site, f"sized?size={MEGABYTE + 1}", max_bytes=MEGABYTE)
    assert kind_of(site, "endless", max_bytes=MEGABYTE) == "too_large"


@pytest.mark.parametrize("page", ["bomb", "bomb?twice=1"])
def test_a_bomb_is_refused(site: ScriptedSite, page: str) -> None:
    assert kind_of(site, page, max_bytes=MEGABYTE) == "too_large"


def test_codings(site: ScriptedSite) -> None:
    assert fetch(site, "gzipped").body == b"unpacked"
    assert fetch(site, "deflated").body == b"unpacked"
    assert kind_of(site, "brotli") == "bad_response"


@pytest.mark.parametrize(
    "page",
    [
        "broken-gzip",
        "cut",
        "cut-chunk",
        "not-http",
        "many-headers",
        "long-header",
        "two-lengths",
        "huge-chunk",
    ],
)
def test_a_faulty_answer(site: ScriptedSite, page: str) -> None:
    assert kind_of(site, page) == "bad_response"


def test_a_reset_connection(site: ScriptedSite) -> None:
    assert kind_of(site, "reset") == "no_connection"


SLOW = ["silent", "drip", "drip-unsized", "drip-headers", "hundred-continue"]


@pytest.mark.parametrize("page", SLOW)
def test_the_deadline_holds_wherever_the_server_stalls(site: ScriptedSite, page: str) -> None:
    began = time.monotonic()
    with pytest.raises(Failure, match=r"not done within 0\.3 s"):
        fetch(site, page, seconds=0.3)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("page", SLOW)
def test_cancel_wakes_a_blocked_fetch(site: ScriptedSite, page: str) -> None:
    cancel = Cancel()
    threading.Timer(0.2, cancel.set).start()
    began = time.monotonic()
    assert kind_of(site, page, seconds=30, cancel=cancel) == "stopped"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_a_look_up_that_hangs_is_left_behind(site: ScriptedSite, how: str) -> None:
    release = threading.Event()

    def hanging(*_: Any, **__: Any) -> list[Any]:
        release.wait(30)
        return answers(("127.0.0.1", site.port))

    cancel = Cancel()
    seconds = 0.2 if how == "deadline" else 30.0
    if how == "cancel":
        threading.Timer(0.2, cancel.set).start()
    slow = Network(resolve=hanging, is_public=lambda ip: True)
    assert kind_of(site, "plain", network=slow, seconds=seconds, cancel=cancel) in (
        "fetch_timeout",
        "stopped",
    )
    release.set()


def test_proxies_of_the_environment_are_ignored(site: ScriptedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert fetch(site).status == 200


def test_an_opened_host_may_be_on_any_port_but_opens_no_other(site: ScriptedSite) -> None:
    assert fetch_public_bytes(f"{site.url}/plain", allow_hosts=["127.0.0.1"]).body == b"<p>hello"
    by_name = f"http://localhost:{site.port}"
    assert fetch_public_bytes(f"{by_name}/plain", allow_hosts=["localhost"]).body == b"<p>hello"
    with pytest.raises(Failure, match=r"Blocked URL: 127\.0\.0\.1 is"):
        fetch_public_bytes(f"{by_name}/jump?to={site.url}/", allow_hosts=["localhost"])


class SecureSite(ScriptedSite):
    """The same over TLS, with a certificate for secure.example.com that nobody signed."""

    def __enter__(self) -> "SecureSite":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(DATA / "tls" / "secure.example.com.pem")
        context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self.names: list[str] = []
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        return super().__enter__()


@pytest.fixture(scope="module")
def secure() -> Iterator[SecureSite]:
    with SecureSite() as server:
        yield server


def own_authority() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(DATA / "tls" / "secure.example.com.pem"))


def test_https_keeps_the_host_name_for_the_certificate(secure: SecureSite) -> None:
    trusting = network(secure, tls=own_authority)
    fetched = fetch_public_bytes("https://secure.example.com/plain", network=trusting)
    assert fetched.body == b"<p>hello"
    assert secure.names[-1] == "secure.example.com"


@pytest.mark.parametrize("host", ["secure.example.com", "other.example.com"])
def test_a_wrong_certificate_is_refused(secure: SecureSite, host: str) -> None:
    options = {} if host == "secure.example.com" else {"tls": own_authority}
    with pytest.raises(Failure) as caught:
        fetch_public_bytes(f"https://{host}/", network=network(secure, **options))
    assert caught.value.kind == "bad_certificate"


def test_a_handshake_that_never_ends_meets_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silent = answers(("127.0.0.1", listener.getsockname()[1]))
        mute = Network(resolve=lambda *_, **__: silent, is_public=lambda ip: True)
        with pytest.raises(Failure, match=r"not done within 0\.3 s"):
            fetch_public_bytes("https://secure.example.com/", seconds=0.3, network=mute)
