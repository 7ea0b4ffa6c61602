"""The gate before every request: who it is, whether it may pass, and what a page may load.

Pure ASGI middleware (https://asgi.readthedocs.io, HTTP part), since it must not buffer streams.
"""

import json
from collections.abc import Callable, Sequence
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from locales import choose_language
from ui.identity import OWNER_LOGIN, Doorkeeper, Person, Ticket, new_ticket

SIGN_IN = "/sign-in"
_SHARE_SCRIPTS = "https://gradio.s3-us-west-2.amazonaws.com"
"""Where Gradio's page loads its script from when it is shared; nowhere else."""

_WITHOUT_LOGIN = (SIGN_IN, "/gradio_api/startup-events")
"""Gradio asks itself for the second one when it starts; it does nothing for anybody else."""

_FRAMERS = ("'self'", "http://localhost:*", "http://127.0.0.1:*", "vscode-webview:", "vscode-file:")
"""Whose pages may show the panel in a frame: its own, and a notebook's on this machine. Anybody else's
could lay it unseen under buttons of their own, and let a person click in it who does not know of it."""

_FRAMED = "_framed"
"""What the name of the cookie ends with where the panel is in a frame of another site."""

_YEAR = 365 * 24 * 3600


class Guard:
    """Gives every request its person (`request.state.person`) or turns it away.

    `is_open` tells whether others than the person at this machine may come in; `language` is the one
    fixed by the settings, or "auto"; `framers` are the sites that may show the panel in a frame, beside
    those of this machine.
    """

    def __init__(
        self,
        app: ASGIApp,
        doorkeeper: Doorkeeper,
        is_open: Callable[[], bool],
        is_shared: Callable[[], bool],
        language: Callable[[], str],
        framers: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.app = app
        self.doorkeeper = doorkeeper
        self.is_open = is_open
        self.is_shared = is_shared
        self.language = language
        self.framers = framers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        if is_cross_site(request.headers):
            refusal = PlainTextResponse("This request comes from another web site.", 403)
            await refusal(scope, receive, send)
            return
        ticket, is_new = self._ticket(request)
        if entered := self._owner_link(request, ticket):
            await entered(scope, receive, send)
            return
        person = self._person(request, ticket)
        if person is None and request.url.path not in _WITHOUT_LOGIN:
            await _sign_in_first(request)(scope, receive, send)
            return
        scope.setdefault("state", {}).update(person=person, ticket=ticket, language=self._language(request))
        page = _Page(send, self._policy(), self._language(request))
        if is_new:
            page.cookie = cookie_header(self.doorkeeper, ticket, request)
        await self.app(scope, receive, page.send)

    def _ticket(self, request: Request) -> tuple[Ticket, bool]:
        name = self.doorkeeper.key.cookie
        sealed = request.cookies.get(name + _FRAMED) or request.cookies.get(name, "")
        ticket = self.doorkeeper.key.open(sealed)
        return (ticket, False) if ticket else (new_ticket(), True)

    def _person(self, request: Request, ticket: Ticket) -> Person | None:
        host = request.headers.get("host", "")
        return self.doorkeeper.person(ticket, host, self.is_open(), self._language(request))

    def _language(self, request: Request) -> str:
        return choose_language(request.headers.get("accept-language", ""), self.language())

    def _owner_link(self, request: Request, ticket: Ticket) -> Response | None:
        """The answer to the link that the terminal prints: a cookie, and the page without the token."""
        token = parse_qs(request.url.query).get("owner", [""])[0]
        if request.method != "GET" or not token or not self.doorkeeper.is_owner_token(token):
            return None
        answer = RedirectResponse("./", 303)
        owner = Ticket(ticket.session, OWNER_LOGIN)
        answer.headers["set-cookie"] = cookie_header(self.doorkeeper, owner, request)
        return answer

    def _policy(self) -> str:
        scripts = f" {_SHARE_SCRIPTS}" if self.is_shared() else ""
        return (
            f"default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:{scripts}; "
            "img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'self'; "
            f"frame-ancestors {' '.join((*_FRAMERS, *self.framers()))}"
        )


def is_cross_site(headers: Headers) -> bool:
    """Whether a browser sent this for a page of another origin, other than by following a link.

    `Sec-Fetch-Site` tells it (https://www.w3.org/TR/fetch-metadata/), and survives proxies that rewrite
    Host. Browsers leave it out on plain http to other machines; there Origin must match the host.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        follows_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("origin") is None
        return site in ("cross-site", "same-site") and not follows_link
    origin = headers.get("origin")
    if origin is None:
        return False
    hosts = {headers.get("host"), headers.get("x-forwarded-host")}
    return urlsplit(origin).netloc not in hosts


def cookie_header(doorkeeper: Doorkeeper, ticket: Ticket, request: Request) -> str:
    """The Set-Cookie value for a ticket.

    In a frame of another site, as a notebook's page or a Space's, a browser keeps it only so: partitioned,
    it is sent within pages of that site alone (https://github.com/privacycg/CHIPS).
    """
    name, rules = doorkeeper.key.cookie, "SameSite=Lax"
    if _is_framed(request, name):
        name, rules = name + _FRAMED, "SameSite=None; Secure; Partitioned"
    elif request.headers.get("x-forwarded-proto", request.url.scheme) == "https":
        rules += "; Secure"
    return f"{name}={doorkeeper.key.seal(ticket)}; Path=/; Max-Age={_YEAR}; HttpOnly; {rules}"


def _is_framed(request: Request, cookie: str) -> bool:
    """Whether the panel is in a frame of another site: it was just opened there, or has the cookie for it."""
    headers = request.headers
    opened = headers.get("sec-fetch-dest") == "iframe" and headers.get("sec-fetch-site") == "cross-site"
    return opened or cookie + _FRAMED in request.cookies


def _sign_in_first(request: Request) -> Response:
    if "text/html" in request.headers.get("accept", "") and request.method == "GET":
        return RedirectResponse(f".{SIGN_IN}", 303)
    return PlainTextResponse("Sign in first.", 401)


class _Page:
    """Adds headers to an answer, and to an HTML page the script that fixes its language.

    Gradio's labels follow `navigator.language`, so the page is told the language that Python's texts
    use. The script goes right after <head>, in the first piece of the body.
    """

    def __init__(self, send: Send, policy: str, language: str) -> None:
        self._send = send
        self._policy = policy
        self._script = _language_script(language)
        self._start: Message | None = None
        self.cookie = ""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            headers["content-security-policy"] = self._policy
            headers["x-content-type-options"] = "nosniff"
            headers["referrer-policy"] = "no-referrer"
            if self.cookie and "set-cookie" not in headers:
                headers.append("set-cookie", self.cookie)
            if headers.get("content-type", "").startswith("text/html"):
                self._start = message  # its length is known only with the body
                return
        elif self._start is not None:
            start, self._start = self._start, None
            body = message.get("body", b"").replace(b"<head>", b"<head>" + self._script, 1)
            headers = MutableHeaders(raw=start["headers"])
            if "content-length" in headers and not message.get("more_body"):
                headers["content-length"] = str(len(body))
            message = {**message, "body": body}
            await self._send(start)
        await self._send(message)


def _language_script(language: str) -> bytes:
    value = json.dumps(language)
    properties = (("language", value), ("languages", f"[{value}]"))
    code = "".join(
        f'Object.defineProperty(navigator, "{name}", {{get: () => {told}}});' for name, told in properties
    )
    return f"<script>{code}</script>".encode()
