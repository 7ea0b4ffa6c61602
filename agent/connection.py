"""The connection to an Ollama server: one origin, no proxy on the way to a local one, and it can be cut."""

import contextlib
import ipaddress
import json
import re
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import ollama

from agent.chat_errors import TRANSPORT_ERRORS, ModelFailure, page_failure, status_failure, transport_failure

_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


class Connection(ollama.Client):
    """Ollama's own client, with what it lacks.

    A redirect is not followed: whoever runs the server at that address must not send chats elsewhere.
    A local server is reached directly, whatever proxy the environment names. `silence` is how long a
    server may say nothing, loading of the model included; `connect` how long a connection may take to
    stand; both in seconds. Without `keep_alive` every request has a connection of its own. Requests may
    be made from several threads.
    """

    def __init__(
        self, host: str, *, silence: float = 600.0, connect: float = 5.0, keep_alive: bool = True
    ) -> None:
        self.host = host
        self.silence = silence
        url = urlsplit(host)
        secure = url.scheme == "https"
        direct = _is_local(url.hostname or "")
        try:
            super().__init__(
                host,
                follow_redirects=False,
                timeout=httpx.Timeout(connect, read=silence, write=60.0),
                verify=secure,  # reading the certificates takes 20 ms, which http does not need
                trust_env=secure or not direct,
                mounts={"all://": None, "http://": None, "https://": None} if direct else None,
                limits=httpx.Limits(max_keepalive_connections=20 if keep_alive else 0),
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            # The address, or a proxy in the environment that httpx can't use.
            raise transport_failure(error, host=host) from error

    def fetch(self, method: str, path: str, body: Any = None, seconds: float = 10.0) -> Any:
        """A whole JSON answer, as the server wrote it. Raises ModelFailure."""
        try:
            wire = self._client.build_request(
                method, path, json=body, timeout=httpx.Timeout(seconds, connect=5)
            )
            answer = self._client.send(wire)
        except TRANSPORT_ERRORS as error:
            raise transport_failure(error, host=self.host, silence=seconds) from error
        model = str((body or {}).get("model", ""))
        if answer.status_code != 200:
            raise self.status_failure(answer, answer.content, model)
        try:
            return json.loads(answer.content)
        except ValueError as error:
            raise page_failure(answer.headers.get("content-type", ""), host=self.host, model=model) from error

    def version(self) -> str:
        """The server's version; "" where it does not say. Raises ModelFailure when nothing answers."""
        try:
            answer = self.fetch("GET", "/api/version", seconds=3.0)
        except ModelFailure as failure:
            if failure.kind == "unreachable":
                raise
            return ""
        version = answer.get("version") if isinstance(answer, dict) else None
        return version if isinstance(version, str) else ""

    def status_failure(self, answer: httpx.Response, body: bytes, model: str) -> ModelFailure:
        """The failure that a response with an error status tells."""
        location = answer.headers.get("location", "")
        return status_failure(answer.status_code, body, host=self.host, model=model, location=location)


def version_numbers(version: str) -> tuple[int, ...]:
    """A version such as "0.12.3-rc1" to compare by. One that tells nothing counts as new: an Ollama that
    was built from source says 0.0.0."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    numbers = tuple(map(int, found.groups())) if found else (0, 0, 0)
    return numbers if any(numbers) else (9_999,)


def shut_down(connection: Any) -> None:
    """Shut one connection of httpcore down, from any thread: a blocked read or write on it ends at once."""
    with contextlib.suppress(OSError):  # it may have ended by itself meanwhile
        connection.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def _is_local(host: str) -> bool:
    """Whether a host name or address is this machine or one of its own network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.lower().endswith(_LOCAL_SUFFIXES)
    return address.is_private or address.is_loopback or address.is_link_local
