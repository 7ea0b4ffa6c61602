"""Who is asking: one browser session, whose files it may see, and whether it may change settings."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.helper.files import write_atomically
from tools.tool import LOCAL_OWNER

OWNER_LOGIN = ":owner"
"""The login of whoever opened the owner's link that the terminal printed. No account has a colon."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Person:
    """`session` is one browser, `owner` whose documents it sees: a login, the local user or itself."""

    session: str
    owner: str
    may_configure: bool
    language: str = "en"


@dataclass(frozen=True)
class Ticket:
    """What the cookie holds: a session, and the login that it gave, "" for none."""

    session: str
    login: str = ""


class CookieKey:
    """Signs the cookie. The key is kept in a file, so that a restart does not end the sessions."""

    def __init__(self, file: Path) -> None:
        try:
            self._key = file.read_bytes()
        except FileNotFoundError:
            self._key = secrets.token_bytes(32)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, self._key)
            file.chmod(0o600)
        self.cookie = f"panel_{hashlib.sha256(self._key).hexdigest()[:8]}"
        """The cookie's name: browsers share cookies between ports, so each panel has one of its own."""

    def seal(self, ticket: Ticket) -> str:
        """The value of the cookie."""
        body = f"{ticket.session}.{_encoded(ticket.login.encode())}"
        return f"{body}.{self._signature(body)}"

    def open(self, value: str) -> Ticket | None:
        """The ticket that a cookie holds; None where it is not one of ours."""
        body, _, signature = value.rpartition(".")
        session, _, login = body.partition(".")
        if not session or not hmac.compare_digest(signature.encode(), self._signature(body).encode()):
            return None
        return Ticket(session, base64.urlsafe_b64decode(login + "=" * (-len(login) % 4)).decode())

    def _signature(self, body: str) -> str:
        return _encoded(hmac.digest(self._key, body.encode(), hashlib.sha256))


class Doorkeeper:
    """Tells a person's rights from their cookie and the way the panel was started.

    `accounts` maps logins to passwords; the first one is the owner's. Without accounts, whoever sits at
    this machine is the owner, unless the panel is `open` to others: then only the owner's link makes one.
    """

    def __init__(self, key: CookieKey, accounts: Mapping[str, str]) -> None:
        self.key = key
        self.owner_token = secrets.token_urlsafe(16)
        self._accounts = dict(accounts)

    @property
    def needs_login(self) -> bool:
        return bool(self._accounts)

    def admits(self, login: str, password: str) -> bool:
        """Whether this is one of the accounts; takes as long for a wrong name as for a wrong password."""
        known = self._accounts.get(login, secrets.token_hex(8))
        return hmac.compare_digest(known.encode(), password.encode()) and login in self._accounts

    def is_owner_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.owner_token.encode())

    def person(self, ticket: Ticket, host: str, is_open: bool, language: str) -> Person | None:
        """The person behind a request to `host`; None where a login is needed first.

        A request to another name than a loopback one came through a proxy or a rebound DNS name: it
        has no owner's rights by itself.
        """
        if self._accounts:
            if ticket.login not in self._accounts:
                return None
            first = next(iter(self._accounts))
            return Person(ticket.session, ticket.login, ticket.login == first, language)
        at_the_machine = not is_open and host_name(host) in LOOPBACK
        if at_the_machine or ticket.login == OWNER_LOGIN:
            return Person(ticket.session, LOCAL_OWNER, True, language)
        return Person(ticket.session, ticket.session, False, language)


def new_ticket(login: str = "") -> Ticket:
    """A fresh session."""
    return Ticket(secrets.token_urlsafe(18), login)


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
