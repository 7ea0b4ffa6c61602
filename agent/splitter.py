"""Text of a model, split while it streams into what may be shown, thoughts and calls.

The text is settled from the left: plain text and thoughts at once, what may be the beginning of a mark when
more of it is there, and what a mark opens when it is clear what that is. Held markup is looked at again only
when it has doubled, so the work is linear in the text.
"""

import re
from typing import Literal

from agent import markup
from agent.offered import Offered
from agent.quoted import END_OF_INDENT, END_OF_LINE, CodeSpan, between_quotes, end_of_fence
from agent.text_calls import Found, end_of_separators, read_calls, read_turn, undecided

Part = tuple[Literal["text", "thought", "lift"], str]
"""A piece to show. "lift": what was text until here was thought, as a lone closing tag tells."""

_WINDOW = 160
"""The end of the text in which an unfinished mark is looked for; no mark is longer."""

_BLANKS = " \t\n\r\f\v\u00a0\u200b\ufeff"
_TOKENS = re.compile(
    rf"(?: [{markup.BLANK}] | (?!{markup.CALL_TOKENS}) (?: {markup.CLOSING} | {markup.ROLE} ) )*+",
    markup.FLAGS,
)
_THOUGHTS = tuple(
    (markup.compiled(opening), markup.compiled(closing)) for opening, closing in markup.THOUGHTS
)

_LEAD_IN = re.compile(
    r"(?=.*\b(?:I|I['’](?:ll|m|d)|let me|let['’]s|je|j['’]\w+|nous)\b)[^\n]{1,200}[.!…]\Z", re.IGNORECASE
)
"""A sentence or two in the first person, such as stand before a call."""
_LEAD_IN_REACH = 10_000
"""Behind so much text, thoughts included, JSON is no longer looked at as a call that was led to."""


class Splitter:
    """Splits one text that comes in pieces.

    With `thoughts`, the text itself is thoughts: only marked calls are found in it, and `tail` tells which
    of them stand at its end.
    """

    def __init__(self, offered: Offered, *, thoughts: bool = False) -> None:
        self.found: list[Found] = []
        self._offered = offered
        self._thoughts = thoughts
        self._points = markup.points(offered.names)
        self._unfinished = markup.unfinished(offered.names)
        self._text = ""
        self._at = 0  # what stands before is settled
        self._safe = 0  # from here on, the text may be the beginning of a mark
        self._final = False
        self._wait = 0  # how long the text must be until it is looked at again
        self._parts: list[Part] = []
        self._visible: list[str] = []
        self._space = ""  # white space, shown when text follows it
        self._tail = 0
        self._until: re.Pattern[str] | None = None  # the end of a quoted block, or of thoughts
        self._thinking = False
        self._span = CodeSpan()
        self._at_edge = True  # nothing is shown since the beginning, a call, or thoughts
        self._may_be_call = not thoughts  # nothing is shown yet, so all of it may be a call without marks
        self._tag_named = False  # a thinking tag is talked about, or was used up

    @property
    def visible(self) -> str:
        """All that was shown, without white space at the ends."""
        return "".join(self._visible)

    @property
    def tail(self) -> list[Found]:
        """The calls behind which nothing is shown."""
        return self.found[self._tail :]

    def feed(self, piece: str) -> list[Part]:
        """What may be shown now that this piece is there."""
        self._text += piece
        if len(self._text) >= self._wait:
            self._settle()
        return self._taken()

    def close(self) -> list[Part]:
        """The rest: there is no more text."""
        self._final = True
        self._settle()
        return self._taken()

    def _taken(self) -> list[Part]:
        parts, self._parts = self._parts, []
        return parts

    def _settle(self) -> None:
        self._wait = 0
        self._safe = len(self._text)
        if not self._final:
            start = max(self._at, self._safe - _WINDOW)
            self._safe = start + len(self._text[start:].rstrip(_BLANKS))
            if unfinished := self._unfinished.search(self._text, start, self._safe):
                self._safe = start + len(self._text[start : unfinished.start()].rstrip(" \t"))
        while self._at < self._safe and self._step():
            pass

    def _step(self) -> bool:
        """Settle the next stretch; False when the rest must wait for more text."""
        if self._until:
            return self._inside(self._until)
        if self._may_be_call:
            self._at = self._after_tokens(self._at)
            if self._at == self._safe:
                return False
            taken = self._unmarked(self._at)
            if taken is not None:
                return taken
            self._may_be_call = False
        point = self._points.search(self._text, self._at, self._safe)
        self._show(point.start() if point else self._safe)
        return point is not None and self._handled(point)

    def _handled(self, point: re.Match[str]) -> bool:
        kind, start = point.lastgroup, point.start()
        if kind in ("thought", "close", "call"):
            reach = self._span.reach(self._text, start, self._safe, final=self._final)
            if reach != start:
                return self._hold(start) if reach is None else self._show(reach)
        match kind:
            case "fence":
                return self._quote(point, end_of_fence(point[0]))
            case "block":
                return self._quote(point, END_OF_LINE if ">" in point[0] else END_OF_INDENT)
            case "span":
                self._span.see(self._text, point)
                return self._show(point.end())
            case "thought":
                return self._thought(point)
            case "close":
                return self._lone_close(point)
            case "call":
                return self._call(point)
            case "object":
                return self._object(point)
            case _:
                return self._token(point)

    def _hold(self, start: int) -> bool:
        """Wait until what begins at `start` is twice as long."""
        self._wait = len(self._text) + max(8, len(self._text) - start)
        return False

    def _show(self, end: int) -> bool:
        piece = self._space + self._text[self._at : end]
        self._at = end
        shown = piece.rstrip(_BLANKS)
        self._space = piece[len(shown) :]
        if not self._visible:
            shown = shown.lstrip(_BLANKS)
        if shown:
            self._visible.append(shown)
            self._parts.append(("text", shown))
            self._at_edge = self._may_be_call = False
            self._tail = len(self.found)
        return True

    def _quote(self, point: re.Match[str], until: re.Pattern[str]) -> bool:
        """From here on all is text, whatever it looks like."""
        self._until = until
        self._span.end()
        return self._show(point.end())

    def _inside(self, until: re.Pattern[str]) -> bool:
        """Go on in a quoted block, or in thoughts."""
        end = until.search(self._text, self._at)
        if end and end.end() > self._safe:
            end = None
        if self._thinking:
            self._parts.append(("thought", self._text[self._at : end.start() if end else self._safe]))
            self._at = end.end() if end else self._safe
            self._at_edge = True
        else:
            self._show(end.end() if end else self._safe)
        if end:
            self._until, self._thinking = None, False
        return end is not None

    def _thought(self, point: re.Match[str]) -> bool:
        """The beginning of thoughts; a tag in the middle of a sentence is only talked about."""
        start = point.start()
        is_tag = point[0].startswith("<") and "|" not in point[0]
        line = self._text[self._text.rfind("\n", 0, start) + 1 : start]
        if self._thoughts or (is_tag and not self._at_edge and line.strip()):
            self._tag_named = True
            return self._show(point.end())
        self._until = next(close for opening, close in _THOUGHTS if opening.match(self._text, start))
        self._thinking = True
        self._at = point.end()
        return True

    def _lone_close(self, point: re.Match[str]) -> bool:
        """The end of thoughts whose beginning stood in the prompt."""
        if self._thoughts or self._tag_named:
            return self._token(point)
        self._parts.append(("lift", self.visible))
        self._visible.clear()
        self._space = ""
        self._tag_named = True  # a second one is a slip, or talked about
        self._at_edge = True
        self._may_be_call = not self.found
        self._at = point.end()
        return True

    def _call(self, point: re.Match[str]) -> bool:
        start = point.start()
        found = read_calls(self._text, start, self._offered)
        if found is None:
            if not self._final and undecided(self._text, start, self._safe):
                return self._hold(start)
            return self._show(max(point.end(), start + 1))
        may_go_on = found.broken or end_of_separators(self._text, found.end) >= self._safe
        if may_go_on and not self._final:
            return self._hold(start)
        behind = start if found.broken else found.end
        if (quoted := between_quotes(self._text, start, behind, final=self._final)) is None:
            return self._hold(start)
        return self._show(found.end) if quoted else self._take(found)

    def _take(self, found: Found) -> bool:
        self.found.append(found)
        self._at = found.end
        self._at_edge = True
        self._may_be_call = False
        return True

    def _token(self, point: re.Match[str]) -> bool:
        """Closing marks and tokens of a template are no text at the ends of what is shown."""
        end = max(self._after_tokens(point.start()), point.end())
        if not self._at_edge:
            if end == self._safe and not self._final:
                return self._hold(point.start())
            then = self._points.match(self._text, end, self._safe)
            if end < self._safe and not (then and then.lastgroup in ("call", "thought")):
                return self._show(end)
        self._at = end
        return True

    def _object(self, point: re.Match[str]) -> bool:
        """JSON as the last paragraph may be a call, behind a sentence that leads to it."""
        is_near = not self._thoughts and not self.found and point.start() <= _LEAD_IN_REACH
        if is_near and _LEAD_IN.match(self.visible):
            taken = self._unmarked(point.start())
            if taken is not None:
                return taken
        return self._show(point.end())

    def _unmarked(self, start: int) -> bool | None:
        """Take all of the rest as calls without marks; None if that is not what it is."""
        found = read_turn(self._text, start, self._offered, self._safe, final=self._final)
        if found is None:
            return None
        return self._take(found) if self._final else self._hold(start)

    def _after_tokens(self, start: int) -> int:
        tokens = _TOKENS.match(self._text, start, self._safe)
        return tokens.end() if tokens else start
