"""What a bench tells: promises with their bounds, and the rows that they rest on."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Promise:
    """A figure that must stay within a bound: `best` says on which side of it."""

    value: float
    bound: float
    best: str = "at most"

    @property
    def holds(self) -> bool:
        return self.value <= self.bound if self.best == "at most" else self.value >= self.bound


@dataclass(frozen=True)
class Report:
    """The outcome of one bench: promises by their names, such as "loop.tokens_ratio"."""

    bench: str
    promises: Mapping[str, Promise]
    rows: Sequence[Mapping[str, Any]] = field(default_factory=tuple)

    @property
    def holds(self) -> bool:
        return all(promise.holds for promise in self.promises.values())

    def as_json(self) -> str:
        """One line, for programs."""
        promises = {
            name: {"value": round(promise.value, 4), "bound": promise.bound, "holds": promise.holds}
            for name, promise in self.promises.items()
        }
        return json.dumps({"bench": self.bench, "promises": promises, "rows": list(self.rows)})

    def as_table(self) -> str:
        """Markdown, for people and for the README."""
        lines = [f"### {self.bench}", "", "| promise | value | bound | holds |", "| --- | --: | --- | --- |"]
        for name, promise in self.promises.items():
            holds = "yes" if promise.holds else "NO"
            lines.append(f"| {name} | {promise.value:.3f} | {promise.best} {promise.bound:g} | {holds} |")
        if self.rows:
            columns = list(self.rows[0])
            lines += ["", f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
            lines += [f"| {' | '.join(_shown(row.get(column)) for column in columns)} |" for row in self.rows]
        return "\n".join(lines)


def machine(*packages: str) -> str:
    """The versions that a figure depends on."""
    named = [f"{package} {version(package)}" for package in packages]
    return ", ".join([f"Python {platform.python_version()}", *named])


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
