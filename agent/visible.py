"""What of a turn is shown while it streams: its text and its thoughts, never the markup of a call."""

from collections.abc import Iterable

from agent.events import Text, Thinking, TurnRewritten
from agent.offered import Offered
from agent.splitter import Part, Splitter
from agent.text_calls import Broken, Found, TextCall

Shown = Text | Thinking | TurnRewritten


class TurnText:
    """The text and the thoughts of one turn, fed as they come; whatever is fed comes out, but for markup."""

    def __init__(self, offered: Offered) -> None:
        self._content = Splitter(offered)
        self._thoughts = Splitter(offered, thoughts=True)

    @property
    def visible(self) -> str:
        """The answer so far."""
        return self._content.visible

    @property
    def thinking(self) -> str:
        """The thoughts so far, those that stood in the text among them."""
        return self._thoughts.visible

    @property
    def calls(self) -> tuple[TextCall, ...]:
        return tuple(call for found in self._decisive() for call in found.calls)

    @property
    def unknown(self) -> tuple[TextCall, ...]:
        """Calls of tools that are not offered."""
        return tuple(call for found in self._decisive() for call in found.unknown)

    @property
    def broken(self) -> Broken | None:
        """Why a call can't be used, where there is one."""
        return next((found.broken for found in reversed(self._decisive()) if found.broken), None)

    def feed(self, text: str = "", thinking: str = "") -> list[Shown]:
        """What may be shown now."""
        shown: list[Shown] = []
        if thinking:
            shown += self._thought(self._thoughts.feed(thinking))
        if text:
            shown += self._told(self._content.feed(text))
        return shown

    def close(self) -> list[Shown]:
        """What was held back and turned out to be text; the turn is over."""
        return self._told(self._content.close()) + self._thought(self._thoughts.close())

    def _told(self, parts: Iterable[Part]) -> list[Shown]:
        shown: list[Shown] = []
        for kind, piece in parts:
            if kind == "text":
                shown.append(Text(piece))
            elif kind == "thought":
                shown += self._thought(self._thoughts.feed(piece))
            else:
                self._thoughts.feed(piece)
                shown.append(TurnRewritten("", self.thinking))
        return shown

    def _thought(self, parts: Iterable[Part]) -> list[Shown]:
        return [Thinking(piece) for _, piece in parts]

    def _decisive(self) -> list[Found]:
        """Calls in thoughts count only where there is nothing else, and only at the end of the thoughts."""
        content = self._content
        return content.found if content.found or content.visible else self._thoughts.tail
