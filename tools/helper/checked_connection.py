"""Connections to addresses that were checked, ended at a deadline wherever they block.

The name is looked up once, every answer is judged, and the socket goes to one of these very answers: a
name that leads elsewhere the next time (DNS rebinding) has no next time. The host name itself stays with
the connection, so the certificate is checked against it.
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from typing import Any, Self

import certifi
from urllib3.connection import HTTPConnection, HTTPSConnection

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.public_address import AddressRule, WebAddress, is_public_address
from tools.helper.waiting import wait_for

_CONNECT_SECONDS = 4.0
_MOST_ADDRESSES = 4


@cache
def certificate_check() -> ssl.SSLContext:
    """The TLS settings of the process: the system's authorities and certifi's. Making them takes 50 ms."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@dataclass(frozen=True)
class Network:
    """What a fetch takes from outside. Only tests bring their own.

    `resolve` is called as `socket.getaddrinfo(host, port, type=…)`.
    """

    resolve: Callable[..., list[Any]] = socket.getaddrinfo
    is_public: AddressRule = is_public_address
    tls: Callable[[], ssl.SSLContext] = certificate_check


class Alarm:
    """Rings once, at the deadline or when the work is cancelled, and wakes who blocks on a watched socket.

    A time-out of the socket starts anew with every byte, so a server that drips would never meet it.
    The alarm shuts the connection down through a duplicate of the socket: that wakes any read, in the
    TLS handshake, the headers or the body. A context manager.
    """

    def __init__(self, seconds: float, cancel: Cancel) -> None:
        self.rung = False
        self.cancel = cancel
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._timer.start()
        self._exits.enter_context(self.cancel.calling(self._ring))
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._exits.close()
        with self._lock:
            self.rung = True  # a connection that comes too late finds nobody waiting
            for watched in self._watched:
                watched.close()

    def left(self) -> float:
        """Seconds until the deadline, never quite zero: sockets take 0 for "don't block"."""
        return max(self._end - time.monotonic(), 0.01)

    def watch(self, connection: socket.socket) -> None:
        """Wake who reads from `connection` when the alarm rings. Raises TimeoutError if it has rung."""
        with self._lock:
            if self.rung:
                raise TimeoutError("too late")
            self._watched.append(connection.dup())

    def _ring(self) -> None:
        with self._lock:
            self.rung = True
            for watched in self._watched:
                with contextlib.suppress(OSError):  # it may be closed at the other end already
                    watched.shutdown(socket.SHUT_RDWR)


def open_connection(address: WebAddress, network: Network, alarm: Alarm) -> HTTPConnection:
    """A connection for one request; it connects when the request is sent.

    Connecting raises Failure "blocked_host" or "stopped", OSError, or TimeoutError.
    """

    def dial() -> socket.socket:
        connect = _Connect(address, network, alarm)
        return wait_for(connect, alarm.left(), alarm.cancel)

    if address.scheme == "https":
        return _Https(address.host, address.port, dial=dial, timeout=alarm.left(), ssl_context=network.tls())
    return _Http(address.host, address.port, dial=dial, timeout=alarm.left())


@dataclass(frozen=True)
class _Connect:
    """Looks a host up and connects to one of the answers, if each of them may be connected to."""

    address: WebAddress
    network: Network
    alarm: Alarm

    def __call__(self) -> socket.socket:
        answers = self.network.resolve(self.address.host, self.address.port, type=socket.SOCK_STREAM)
        for answer in answers:
            self._check(answer[4][0])
        if not answers:
            raise socket.gaierror("the name has no address")
        error = None
        for family, kind, protocol, _, target in _families_in_turn(answers)[:_MOST_ADDRESSES]:
            try:
                return self._open(socket.socket(family, kind, protocol), target)
            except OSError as refused:
                error = refused
        raise ConnectionError("no address answered") from error

    def _open(self, connection: socket.socket, target: Any) -> socket.socket:
        try:
            connection.settimeout(min(_CONNECT_SECONDS, self.alarm.left()))
            connection.connect(target)
            self._check(connection.getpeername()[0])
            self.alarm.watch(connection)
            connection.settimeout(self.alarm.left())
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, address: str) -> None:
        if not self.address.owned and not self.network.is_public(address):
            raise Failure("blocked_host", host=self.address.host)


def _families_in_turn(answers: list[Any]) -> list[Any]:
    """IPv6 and IPv4 by turns, so that a dead family does not use up every attempt."""
    first = [answer for answer in answers if answer[0] == answers[0][0]]
    others = [answer for answer in answers if answer[0] != answers[0][0]]
    pairs = chain.from_iterable(zip_longest(first, others))
    return [answer for answer in pairs if answer is not None]


class _Http(HTTPConnection):
    def __init__(self, *arguments: Any, dial: Callable[[], socket.socket], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._dial = dial

    def _new_conn(self) -> socket.socket:
        return self._dial()


class _Https(HTTPSConnection):
    """urllib3 wraps the dialled socket in TLS, with the host name for SNI and the certificate."""

    def __init__(self, *arguments: Any, dial: Callable[[], socket.socket], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._dial = dial

    def _new_conn(self) -> socket.socket:
        return self._dial()
