"""A small "model" for demos: it looks at the conversation and does what a real agent would do next.

It knows three jobs, in French and English: talk, search, and make a PDF, on its own or from a search.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from locales import languages, load_locale
from tests.servers.ollama.turns import Turn, call, hang, say

_PDF = re.compile(r"\bpdf\b|\brapport\b|\breport\b|\bdocument\b", re.IGNORECASE)
_SEARCH = re.compile(
    r"actualit|\bnews\b|nouveaut|cherche|search|\bweb\b|latest|derni[eè]re|r[ée]cent|aujourd|today|prix|price",
    re.IGNORECASE,
)
_FRENCH = re.compile(
    r"[éèêàçùœ]|\b(le|la|les|un|une|des|du|sur|fais|moi|quoi|quel|est|pour|avec|bonjour|salut|cherche|merci)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"a|about|an|and|create|find|for|from|in|make|me|of|on|please|report|search|the|want|web|with|write"
    r"|à|avec|cherche|crée|de|des|dis|document|du|et|fais|fait|génère|je|la|le|les|moi|pdf|plaît|propos"
    r"|rapport|recherche|résume|sources|sur|svp|te|un|une|veux|écris",
    re.IGNORECASE,
)
_RESULT = re.compile(r"^\[\d+\] (?P<title>.*)\nURL: (?P<url>\S+)\nSnippet: ?(?P<snippet>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class _Words:
    """What it says in one language."""

    hello: str
    no_tools: str
    failed: str
    found: str
    sources: str
    summary: str
    read: str
    alone: str
    made: str
    download: str


_WORDS = {
    "fr": _Words(
        hello="Bonjour ! Je suis un modèle de démonstration : demandez-moi les actualités ou un PDF.",
        no_tools="Je n'ai pas d'outils dans cette discussion ; je réponds sans chercher ni créer de fichier.",
        failed="L'outil n'a pas abouti : {error}",
        found="Voici ce que dit le web sur **{topic}** :",
        sources="Sources",
        summary="Résumé",
        read="Dans le détail",
        alone="Ce document présente **{topic}** en quelques points.\n\n- Définition\n- Histoire\n- Enjeux",
        made="Le rapport **{topic}** est prêt.",
        download="Télécharger le PDF",
    ),
    "en": _Words(
        hello="Hello! I am a demo model: ask me for news, or for a PDF on a subject.",
        no_tools="I have no tools in this chat; I answer without searching or making files.",
        failed="The tool did not succeed: {error}",
        found="This is what the web says about **{topic}**:",
        sources="Sources",
        summary="Summary",
        read="In detail",
        alone="This document presents **{topic}** in a few points.\n\n- Definition\n- History\n- Stakes",
        made="The report **{topic}** is ready.",
        download="Download the PDF",
    ),
}


def demo_script(tokens_per_second: float | None = 60) -> Callable[[dict[str, Any]], Turn]:
    """The script of the demo model, for `ScriptedOllama(chat=…)`."""
    return lambda request: _Reader(request, tokens_per_second).turn()


class _Reader:
    """One request, read as a model reads it."""

    def __init__(self, request: Mapping[str, Any], rate: float | None) -> None:
        messages = request["messages"]
        asked = [
            at
            for at, message in enumerate(messages)
            if message["role"] == "user" and (at == 0 or messages[at - 1]["role"] != "tool")
        ]  # a user message right after a result is a reminder, not a question
        self.question = messages[asked[-1]]["content"] if asked else ""
        self.words = _WORDS["fr" if _FRENCH.search(self.question) else "en"]
        self.offered = _offered(request.get("tools") or [])
        self.results = {
            _canonical(message.get("tool_name", "")): message["content"]
            for message in messages[asked[-1] if asked else 0 :]
            if message["role"] == "tool"
        }
        self.rate = rate
        self.thinks = bool(request.get("think"))

    def turn(self) -> Turn:
        wanted = self._plan()
        following = next((tool for tool in wanted if tool in self.offered and tool not in self.results), None)
        if following is None or self._error():
            return self._say(self._answer(wanted))
        name, arguments = self.offered[following]
        given = {
            arguments[key]: value for key, value in self._arguments(following).items() if key in arguments
        }
        return hang(0.4 if self.rate else 0) + call(name, given)

    def _plan(self) -> list[str]:
        news, pdf = bool(_SEARCH.search(self.question)), bool(_PDF.search(self.question))
        plan = ["web_search"] * news + ["scrape_url"] * (news and pdf) + ["create_pdf"] * pdf
        if "web_search" in self.results and not self._found():
            plan = [tool for tool in plan if tool != "scrape_url"]
        return plan

    def _arguments(self, tool: str) -> dict[str, Any]:
        if tool == "web_search":
            return {"query": self.topic, "max_results": 3}
        if tool == "scrape_url":
            return {"url": self._found()[0]["url"]}
        return {"title": self.topic, "markdown": self._report()}

    @property
    def topic(self) -> str:
        """The question without the words that only ask."""
        words = re.findall(r"\w+(?:[.-]\w+)*", self.question.replace("-moi", " moi").replace("'", " "))
        kept = [word for word in words if len(word) > 1 and not _FILLER.fullmatch(word)]
        return " ".join(kept)[:80] or self.question[:80]

    def _found(self) -> list[dict[str, str]]:
        return [found.groupdict() for found in _RESULT.finditer(self.results.get("web_search", ""))]

    def _error(self) -> str:
        """The failure that leaves nothing to go on with; a page that can't be read is no such thing."""
        needed = (self.results.get(tool, "") for tool in ("web_search", "create_pdf"))
        return next((text for text in needed if text.startswith("Error:")), "")

    def _report(self) -> str:
        found, words = self._found(), self.words
        if not found:
            return words.alone.format(topic=self.topic)
        points = "\n".join(f"- **{each['title']}** : {each['snippet']}" for each in found)
        page = self.results.get("scrape_url", "").partition("\n---page-info---")[0].strip()
        page = "" if page.startswith("Error:") else page
        detail = f"## {words.read}\n\n{page[:1500]}\n\n" if page else ""
        return f"## {words.summary}\n\n{points}\n\n{detail}## {words.sources}\n\n{_links(found)}"

    def _answer(self, wanted: list[str]) -> str:
        words, found = self.words, self._found()
        if error := self._error():
            return words.failed.format(error=error.removeprefix("Error:").strip())
        if address := re.search(r"/?pdfs/\S+?\.pdf", self.results.get("create_pdf", "")):
            text = f"{words.made.format(topic=self.topic)} [{words.download}]({address[0]})"
            return f"{text}\n\n{words.sources} :\n\n{_links(found)}" if found else text
        if found:
            points = "\n".join(f"- **{each['title']}** : {each['snippet']}" for each in found)
            intro = words.found.format(topic=self.topic)
            return f"{intro}\n\n{points}\n\n{words.sources} :\n\n{_links(found)}"
        return words.no_tools if wanted else words.hello

    def _say(self, text: str) -> Turn:
        return say(text, self.question[:60] if self.thinks else "", tokens_per_second=self.rate)


def _links(found: list[dict[str, str]]) -> str:
    return "\n".join(f"{number}. [{each['title']}]({each['url']})" for number, each in enumerate(found, 1))


def _offered(tools: list[Any]) -> dict[str, tuple[str, dict[str, str]]]:
    """The tools by canonical name: the name they were offered under, and that of each argument."""
    offered = {}
    for tool in tools:
        name = tool["function"]["name"]
        shown = tool["function"]["parameters"]["properties"]
        for language in languages():
            for canonical, entry in load_locale(language).texts["tools"].items():
                if entry["name"] == name:
                    names = {key: value["name"] for key, value in entry["arguments"].items()}
                    offered[canonical] = (
                        name,
                        {key: value for key, value in names.items() if value in shown},
                    )
    return offered


def _canonical(name: str) -> str:
    for language in languages():
        for canonical, entry in load_locale(language).texts["tools"].items():
            if entry["name"] == name:
                return canonical
    return name
