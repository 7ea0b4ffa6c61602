"""One page for each way in which a web server can be a trial. `TRIALS` maps their paths to them."""

import gzip
import zlib
from collections.abc import Callable

from tests.servers.http import Reply, Request

Page = Callable[[Request, Reply], None]


def plain(request: Request, reply: Reply) -> None:
    reply.send(200, b"<p>hello", "text/html; charset=utf-8", {"X-Own": "1"})


def jump(request: Request, reply: Reply) -> None:
    """302 to whatever the query says, with a body that nobody should read."""
    reply.start(302, "text/html", {"Location": request.query["to"], "Content-Encoding": "gzip"})
    while reply.pause(0.001):
        reply.write(gzip.compress(b"\0" * 100_000))


def steps(request: Request, reply: Reply) -> None:
    left = int(request.query["left"])
    if left:
        reply.send(302, headers={"Location": f"/steps?left={left - 1}", "Set-Cookie": "a=b"})
    else:
        plain(request, reply)


def status(request: Request, reply: Reply) -> None:
    headers = {"cf-mitigated": "challenge"} if "cf" in request.query else {}
    reply.send(int(request.query["code"]), b"private detail", "text/html", headers)


def sized(request: Request, reply: Reply) -> None:
    reply.send(200, b"x" * int(request.query["size"]), "text/plain")


def endless(request: Request, reply: Reply) -> None:
    reply.start(200, "text/plain")
    while True:
        reply.write(b"x" * 65536)


def bomb(request: Request, reply: Reply) -> None:
    body = gzip.compress(b"\0" * 60_000_000)
    coding = "gzip"
    if "twice" in request.query:
        body, coding = gzip.compress(body), "gzip, gzip"
    reply.send(200, body, "text/html", {"Content-Encoding": coding})


def gzipped(request: Request, reply: Reply) -> None:
    assert request.headers["accept-encoding"] == "gzip, deflate"
    reply.send(200, gzip.compress(b"unpacked"), "text/plain", {"Content-Encoding": "gzip"})


def deflated(request: Request, reply: Reply) -> None:
    reply.send(200, zlib.compress(b"unpacked"), "text/plain", {"Content-Encoding": "deflate"})


def brotli(request: Request, reply: Reply) -> None:
    reply.send(200, b"\x0b\x02\x80hello\x03", "text/plain", {"Content-Encoding": "br"})


def broken_gzip(request: Request, reply: Reply) -> None:
    reply.send(200, b"no gzip at all", "text/plain", {"Content-Encoding": "gzip"})


def cut(request: Request, reply: Reply) -> None:
    reply.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
    reply.hang_up()


def cut_chunk(request: Request, reply: Reply) -> None:
    reply.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    reply.hang_up()


def reset(request: Request, reply: Reply) -> None:
    reply.hang_up(reset=True)


def not_http(request: Request, reply: Reply) -> None:
    reply.raw(b"SSH-2.0-OpenSSH_9.2\r\n")
    reply.hang_up()


def many_headers(request: Request, reply: Reply) -> None:
    reply.raw(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 2000 + b"\r\n")
    reply.hang_up()


def long_header(request: Request, reply: Reply) -> None:
    reply.raw(b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 1_000_000 + b"\r\n\r\n")
    reply.hang_up()


def two_lengths(request: Request, reply: Reply) -> None:
    reply.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello")
    reply.hang_up()


def huge_chunk(request: Request, reply: Reply) -> None:
    reply.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"F" * 19 + b"\r\nhello")
    reply.hang_up()


def silent(request: Request, reply: Reply) -> None:
    reply.pause(30)


def drip(request: Request, reply: Reply) -> None:
    reply.start(200, "text/html")
    while reply.pause(0.02):
        reply.write(b"x")


def drip_unsized(request: Request, reply: Reply) -> None:
    reply.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while reply.pause(0.02):
        reply.write(b"x")


def drip_headers(request: Request, reply: Reply) -> None:
    reply.write(b"HTTP/1.1 200 OK\r\nX-A: ")
    while reply.pause(0.02):
        reply.write(b"x")


def hundred_continue(request: Request, reply: Reply) -> None:
    while reply.pause(0.005):
        reply.write(b"HTTP/1.1 100 Continue\r\n\r\n")


_WHOLE = (plain, jump, steps, status, sized, gzipped, deflated)
_TOO_MUCH = (endless, bomb)
_FAULTY = (
    brotli,
    broken_gzip,
    cut,
    cut_chunk,
    reset,
    not_http,
    many_headers,
    long_header,
    two_lengths,
    huge_chunk,
)
_SLOW = (silent, drip, drip_unsized, drip_headers, hundred_continue)

TRIALS: dict[str, Page] = {
    "/" + page.__name__.replace("_", "-"): page for page in (*_WHOLE, *_TOO_MUCH, *_FAULTY, *_SLOW)
}
