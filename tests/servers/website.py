"""A web site on loopback: pages that are added to it, and those that try a client's patience.

Tools fetch public addresses only, so whoever lets them read from here names 127.0.0.1 in `allow_hosts`.
"""

from collections.abc import Mapping

from tests.servers.http import LoopbackServer, Reply, Request
from tests.servers.trials import TRIALS, Page


class ScriptedSite(LoopbackServer):
    """Serves what `add` and `add_page` gave it, the pages of `TRIALS`, and 404 for the rest."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self._pages: dict[str, Page] = dict(TRIALS)

    def add(
        self,
        path: str,
        body: bytes | str,
        content_type: str = "text/html; charset=utf-8",
        headers: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> str:
        """A fixed page; gives back its URL."""
        content = body.encode() if isinstance(body, str) else body
        return self.add_page(path, lambda _, reply: reply.send(status, content, content_type, headers))

    def add_page(self, path: str, page: Page) -> str:
        """A page that answers as it likes; gives back its URL."""
        self._pages[path] = page
        return self.url + path

    def handle(self, request: Request, reply: Reply) -> None:
        page = self._pages.get(request.path)
        if page:
            page(request, reply)
        else:
            reply.send(404, b"<h1>Not Found</h1>", "text/html; charset=utf-8")
