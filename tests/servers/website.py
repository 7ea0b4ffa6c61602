"""A web site on loopback: a few real-looking pages, what is added, and what tries a client's patience.

Tools fetch public addresses only, so whoever lets them read from here names 127.0.0.1 in `allow_hosts`.
"""

from collections.abc import Mapping
from pathlib import Path

from tests.servers.http import LoopbackServer, Reply, Request
from tests.servers.trials import TRIALS, Page

_FILES = Path(__file__).parent.parent / "data" / "site"
_STATUS = {"challenge.html": 403}
_SEARCHABLE = {
    "actualites-ia.html": (
        "IA : ce qui a changé cette semaine, les dernières actualités",
        "Un petit modèle ouvert, une puce sobre et une norme européenne.",
    ),
    "ai-news.html": (
        "AI this week: the latest news",
        "A phone-sized open model, a cooler chip, and a European labelling standard.",
    ),
    "photosynthese.html": (
        "La photosynthèse : principe et étapes",
        "Comment les plantes transforment la lumière en énergie chimique.",
    ),
    "photosynthesis.html": (
        "Photosynthesis explained",
        "How plants turn the energy of light into chemical energy.",
    ),
}
"""What a search engine knows of each page: its title and a snippet."""


class ScriptedSite(LoopbackServer):
    """Serves the files of tests/data/site, the pages of `TRIALS`, what is added, and 404 for the rest."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self._pages: dict[str, Page] = dict(TRIALS)
        for file in _FILES.glob("*.html"):
            self.add(f"/{file.name}", file.read_bytes(), status=_STATUS.get(file.name, 200))
        self.add("/long.html", long_article())
        self.add("/report.pdf", SMALL_PDF, "application/pdf")

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

    def search_results(self, query: str = "") -> list[dict[str, str]]:
        """What a search engine finds here, as entries of SearXNG's `results`: best match first."""
        words = set(query.lower().split())
        found = [
            {"url": f"{self.url}/{name}", "title": title, "content": text}
            for name, (title, text) in _SEARCHABLE.items()
        ]
        return sorted(found, key=lambda entry: -len(words & set(entry["title"].lower().split())))

    def handle(self, request: Request, reply: Reply) -> None:
        page = self._pages.get(request.path)
        if page:
            page(request, reply)
        else:
            reply.send(404, b"<h1>Not Found</h1>", "text/html; charset=utf-8")


def long_article(sections: int = 40) -> str:
    """An article of about 600 characters a section, each of which tells its number."""
    told = "\n".join(
        f"<h2>Section {number}</h2><p>This is section {number} of a long article about rivers. "
        f"{'Water finds its way downhill, and the valley follows the water. ' * 4}</p>"
        f"<p>The survey of {1900 + number} counted {number * 37} bridges. "
        f"{'Each of them was drawn, measured and given a name. ' * 4}</p>"
        for number in range(1, sections + 1)
    )
    return f"<!doctype html><title>A long article about rivers</title><article>{told}</article>"


def _small_pdf() -> bytes:
    """A PDF of one page that says "A short report.", with a right table of offsets."""
    drawn = b"BT /F1 24 Tf 72 720 Td (A short report.) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
    ]
    file, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"xref\n0 5\n0000000000 65535 f \n%strailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return bytes(file) + end % (table, len(file))


SMALL_PDF = _small_pdf()
