"""What the scripted servers share: HTTP/1.1 on loopback, with a hand on every byte that goes out."""

import contextlib
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    """What a client sent. `target` is the request line's, undecoded."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    def json(self) -> Any:
        return json.loads(self.body)


class Reply:
    """One answer, written whole (`send`, `raw`) or piece by piece (`start`, `write`, `end`)."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._chunked = False
        self.keep_alive = True

    def send(
        self,
        status: int,
        body: bytes = b"",
        content_type: str = "application/json; charset=utf-8",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """A whole answer with its Content-Length."""
        lines = {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}
        self._socket.sendall(_head(status, lines) + body)

    def raw(self, answer: bytes) -> None:
        """An answer as recorded, status line and headers included; then the connection ends."""
        self._socket.sendall(answer)
        self.keep_alive = False

    def start(self, status: int, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        """Begin a chunked answer."""
        self._chunked = True
        lines = {"Content-Type": content_type, "Transfer-Encoding": "chunked", **(headers or {})}
        self._socket.sendall(_head(status, lines))

    def write(self, piece: bytes) -> None:
        """One chunk, sent at once."""
        if piece:
            self._socket.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if self._chunked else piece)

    def write_all(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self.write(piece)

    def end(self) -> None:
        """The end of a chunked answer."""
        self._socket.sendall(b"0\r\n\r\n")

    def hang_up(self, reset: bool = False) -> None:
        """Close the connection without ending the answer; with `reset`, by a TCP reset."""
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self.keep_alive = False

    def pause(self, seconds: float) -> bool:
        """Wait; False as soon as the client has gone."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            readable, _, _ = select.select([self._socket], [], [], max(left, 0))
            if readable and self._gone():
                return False
            if left <= 0:
                return True
            if readable:  # a pipelined request: nothing to wait on, so only watch the clock
                time.sleep(min(left, 0.01))

    def _gone(self) -> bool:
        try:
            return self._socket.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True


class LoopbackServer:
    """A threaded HTTP server on a free port of 127.0.0.1; a subclass answers in `handle`.

    `requests` is the log of what came in. Use it as a context manager.
    """

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.hung_up_at: list[float] = []
        """When clients went away before their answer was complete (time.monotonic)."""
        self._connections: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", port), _handler_for(self, self._connections))
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def handle(self, request: Request, reply: Reply) -> None:
        """Answer one request."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering, as a server does that is shut down. Again is no harm."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, *_: object) -> None:
        """A client that hung up is no news."""


def _handler_for(owner: LoopbackServer, connections: set[socket.socket]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            connections.add(self.connection)

        def finish(self) -> None:
            connections.discard(self.connection)
            with contextlib.suppress(OSError):
                super().finish()

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, body, time.monotonic())
            owner.requests.append(request)
            reply = Reply(self.connection)
            try:
                owner.handle(request, reply)
            except OSError:
                owner.hung_up_at.append(time.monotonic())
                reply.keep_alive = False
            self.close_connection = self.close_connection or not reply.keep_alive

        do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = answer

        def log_message(self, *_: object) -> None:
            """Tests read `requests` instead."""

    return Handler


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    reason = {200: "OK", 302: "Found", 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error"}
    lines = [f"HTTP/1.1 {status} {reason.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
