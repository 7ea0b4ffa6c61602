"""Which URLs may be fetched at all, told by their text alone."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urllib3.util import parse_url

from tests.conftest import DATA
from tools.failure import Failure
from tools.helper.public_address import is_public_address, validate_public_http_url

URLS = json.loads((DATA / "urls.json").read_text(encoding="utf-8"))
PRIVATE_HOSTS = [host for hosts in URLS["private_hosts"].values() for host in hosts]


@pytest.mark.parametrize("host", PRIVATE_HOSTS)
def test_private_hosts_are_blocked(host: str) -> None:
    with pytest.raises(Failure) as caught:
        validate_public_http_url(f"http://{host}/latest/meta-data")
    assert caught.value.kind == "blocked_host"
    assert str(caught.value).startswith("Blocked URL: ")


@pytest.mark.parametrize(("url", "kind"), URLS["blocked"])
def test_other_rules_that_block(url: str, kind: str) -> None:
    with pytest.raises(Failure) as caught:
        validate_public_http_url(url)
    assert caught.value.kind == kind
    assert str(caught.value).startswith("Blocked URL: ")


@pytest.mark.parametrize("url", URLS["invalid"])
def test_invalid_urls(url: str) -> None:
    with pytest.raises(Failure) as caught:
        validate_public_http_url(url)
    assert caught.value.kind == "invalid_url"
    assert str(caught.value).startswith("Invalid URL.")


@pytest.mark.parametrize(("url", "canonical"), URLS["public"])
def test_public_urls_in_canonical_form(url: str, canonical: str) -> None:
    assert validate_public_http_url(url) == canonical
    assert validate_public_http_url(canonical) == canonical


def test_mapped_public_address_passes() -> None:
    assert validate_public_http_url("http://[::ffff:8.8.8.8]/").startswith("http://[::ffff:")


@given(st.text(max_size=40), st.text(max_size=20))
@settings(max_examples=300)
def test_any_text_is_refused_or_read_alike_by_another_parser(authority: str, path: str) -> None:
    try:
        url = validate_public_http_url(f"http://{authority}/{path}")
    except Failure:
        return
    other = parse_url(url)
    assert other.scheme == "http"
    assert url.startswith(f"http://{other.host}/") or url.startswith(f"http://{other.host}:{other.port}/")


@given(st.ip_addresses())
@settings(max_examples=300)
def test_the_rule_is_stricter_than_the_standard_library(address: Any) -> None:
    if is_public_address(str(address)):
        judged = getattr(address, "ipv4_mapped", None) or address
        for name in ("loopback", "link_local", "multicast", "reserved", "unspecified", "private"):
            assert not getattr(judged, f"is_{name}")


@pytest.mark.parametrize("host", ["127.0.0.1", "wiki.corp", "localhost", "[::1]"])
def test_the_owner_can_open_a_host_by_name(host: str) -> None:
    url = f"http://{host}:3000/x"
    assert validate_public_http_url(url, allow_hosts=[host.upper()]) == url
    for other in (
        "http://10.0.0.1/",
        "http://127.1/",
        "http://localhost.localdomain/",
        "http://[::ffff:7f00:1]/",
    ):
        with pytest.raises(Failure, match="Blocked URL"):
            validate_public_http_url(other, allow_hosts=[host])
