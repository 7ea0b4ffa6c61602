"""Every text that a person or a model reads, one YAML file for each language.

A language is added by adding a file here: `en.yaml` shows the keys. The file holds the interface
(`ui`), what happens in a run (`steps`, `notices`), errors with their remedies (`errors`), the system
prompt (`prompt`) and the face of each tool (`tools`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
FALLBACK = "en"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # twenty times faster where libyaml is there


@dataclass(frozen=True)
class Face:
    """How a tool is shown to the model: its name, and those of its arguments, in one language.

    `arguments` maps the canonical argument name to {"name", "description"}; an argument that is not in
    it is not offered. `defaults` holds values that this language's face has of its own.
    """

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, str]]
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Locale:
    """The texts of one language. `locale("steps.scrape_url", url=u)` gives the text with its values."""

    language: str
    texts: Mapping[str, Any]

    def __call__(self, key: str, **values: object) -> str:
        text = self.get(key)
        if text is None:
            raise KeyError(f"locales/{self.language}.yaml has no text {key!r}")
        return text.format(**values) if values else text

    def get(self, key: str) -> str | None:
        """The text under a dotted key, or None where there is none."""
        node: Any = self.texts
        for part in key.split("."):
            if not isinstance(node, Mapping) or part not in node:
                return None
            node = node[part]
        return node if isinstance(node, str) else None

    def face(self, tool: str) -> Face:
        """The face of a tool, by its canonical name."""
        entry = self.texts["tools"][tool]
        return Face(entry["name"], entry["description"], entry["arguments"], entry.get("defaults", {}))


@cache
def languages() -> tuple[str, ...]:
    """The languages that have a file, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def load_locale(language: str) -> Locale:
    """The texts of a language such as "fr"; English where that language has no file."""
    known = language if language in languages() else FALLBACK
    with (FOLDER / f"{known}.yaml").open(encoding="utf-8") as file:
        return Locale(known, yaml.load(file, Loader=_Loader))


def choose_language(accepted: str, fixed: str = "auto") -> str:
    """The language to use: `fixed` unless it is "auto", else the first known one of an Accept-Language.

    Also takes what LANG holds, such as `fr_FR.UTF-8`. Source of the header's form: RFC 9110, 12.5.4.
    """
    if fixed in languages():
        return fixed
    ranked: list[tuple[float, str]] = []
    for part in accepted.split(","):
        tag, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            weight = 0.0
        ranked.append((-weight, tag.replace("_", "-").split("-")[0].split(".")[0].lower()))
    ranked.sort(key=lambda entry: entry[0])  # stable: equal weights keep the reader's own order
    return next((tag for _, tag in ranked if tag in languages()), FALLBACK)
