"""Failures that a person can act on: a kind, and the values that fill its texts."""

from dataclasses import dataclass
from typing import Any

from locales import Locale, load_locale


@dataclass(frozen=True)
class Problem:
    """A failure told in one language: what happened, and what to do about it."""

    kind: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()


class Failure(Exception):
    """What went wrong outside this program, told by `errors.{kind}.cause` and `.remedy` of a locale.

    Raised by helpers, tools and the model client alike; whoever draws it chooses the language.
    A defect of our own is never a Failure: it stays an ordinary exception and is logged.
    """

    def __init__(self, kind: str, **details: object) -> None:
        super().__init__(kind, details)
        self.kind = kind
        self.details = details

    def __str__(self) -> str:
        return str(self.told(load_locale("en")))

    def __reduce__(self) -> tuple[Any, ...]:
        """A failure of a worker process reaches whoever asked as it was."""
        return _failure, (type(self), self.kind, self.details)

    def told(self, locale: Locale) -> Problem:
        """The failure in words."""
        cause, remedy = (locale(f"errors.{self.kind}.{part}", **self.details) for part in ("cause", "remedy"))
        return Problem(self.kind, cause, remedy)


def _failure(of: type[Failure], kind: str, details: dict[str, object]) -> Failure:
    return of(kind, **details)
