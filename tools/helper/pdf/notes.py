"""What a reader should know about a document that was made."""

from dataclasses import dataclass, field

from locales import Locale


@dataclass(frozen=True)
class Note:
    """Something that is not drawn as it was written, told by `pdf_notes.{kind}` of a locale."""

    kind: str
    values: dict[str, object] = field(default_factory=dict)

    def told(self, locale: Locale) -> str:
        """The note in words."""
        return locale(f"pdf_notes.{self.kind}", **self.values)
