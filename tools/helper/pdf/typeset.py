"""Spans of text -> boxes: words at a size, in a font that has their characters."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, cast

from tools.helper.pdf import look
from tools.helper.pdf.blocks import Span
from tools.helper.pdf.characters import CJK_WORDS, IS_CJK, WORDS, clusters, is_ignorable, is_mark
from tools.helper.pdf.font import Font
from tools.helper.pdf.font_search import fallback_font, main_font

_LONGEST_WORD = 400
_PIECE = 40
"""A word longer than the first is set in pieces of the second: a shaper's time and memory have limits."""


class Style(NamedTuple):
    """How a stretch of text looks. `shaded` puts the grey of code behind it; `rise` lifts it, in points."""

    size: float = look.BODY_SIZE
    ink: str = look.INK
    mono: bool = False
    bold: bool = False
    italic: bool = False
    strike: bool = False
    shaded: bool = False
    link: str = ""
    rise: float = 0.0

    def of(self, span: Span) -> "Style":
        """The style of a span in text of this style. Emphasis in italic text is upright."""
        if not any(span[1:]):
            return self
        return self._replace(
            size=self.size
            * (look.CODE_SIZE if span.code else 1.0)
            * (look.SHIFTED_SIZE if span.shift else 1.0),
            ink=look.LINK if span.link else self.ink,
            mono=self.mono or span.code,
            bold=self.bold or span.bold,
            italic=self.italic != span.italic,
            strike=self.strike or span.strike,
            shaded=self.shaded or span.code,
            link=span.link or self.link,
            rise=self.rise + self.size * look.SHIFTS[span.shift],
        )


class Kind(IntEnum):
    """What a box is to the one who breaks lines."""

    WORD = 0
    SPACE = 1
    BREAK = 2
    """A place of no width where a line may end."""
    NEWLINE = 3


class Box:
    """A word or a part of one; the smallest thing that is placed. Shared: nobody changes a box.

    `width` is in points, `body` belongs between the brackets of a TJ operator at font size 1. `level` is
    the embedding level of the bidirectional algorithm; odd ones run from right to left.
    """

    __slots__ = ("body", "font", "kind", "level", "style", "text", "width")

    def __init__(
        self, kind: Kind, text: str, style: Style, font: Font, width: float, body: str, level: int = 0
    ) -> None:
        self.kind = kind
        self.text = text
        self.style = style
        self.font = font
        self.width = width
        self.body = body
        self.level = level


Line = list[Box]

BREAK = Box(Kind.BREAK, "", Style(), cast(Font, None), 0.0, "")
NEWLINE = Box(Kind.NEWLINE, "\n", Style(), cast(Font, None), 0.0, "")


class Typesetter:
    """Sets the text of one document, and keeps what it used of each font. In an `rtl` document text without
    letters runs from right to left.

    `used` has the glyphs of each font, with the text each stands for; `missing` the characters that no font
    has, in the order in which they were met.
    """

    def __init__(self, language: str = "", rtl: bool = False) -> None:
        self.language = language
        self.rtl = rtl
        self.used: dict[Font, dict[int, str]] = {}
        self.missing: dict[str, None] = {}
        self._styles: dict[Style, Style] = {}  # one object for each: whoever draws compares by identity
        self._words: dict[Style, dict[str | tuple[str, int], tuple[Box, ...]]] = {}

    def boxes(self, spans: Iterable[Span], style: Style) -> list[Box]:
        """The boxes of a paragraph; a span that is "\\n" ends a line."""
        boxes: list[Box] = []
        for span in spans:
            own = self._styles.setdefault(made := style.of(span), made)
            if span.code:
                boxes += self._padded(self._text(span.text, own), own)
            elif span.text == "\n":
                boxes.append(NEWLINE)
            else:
                boxes += self._text(span.text, own)
        return boxes

    def word(self, text: str, style: Style, level: int = 0) -> tuple[Box, ...]:
        """A text without breaks as boxes, one for each font that it takes."""
        runs = self._by_font(text, style)
        return tuple(self._box(Kind.WORD, part, style, font, level) for font, part in runs)

    def pieces(self, box: Box) -> list[Box]:
        """A word that is wider than a line, in the smallest parts into which it may be cut."""
        return [piece for text in clusters(box.text) for piece in self._cached(text, box.style, box.level)]

    def _cached(self, text: str, style: Style, level: int) -> tuple[Box, ...]:
        words = self._words.setdefault(style, {})
        key = (text, level)
        if key not in words:
            words[key] = self.word(text, style, level)
        return words[key]

    def line(self, text: str, style: Style) -> Line:
        """A short text that is never broken, such as a page number."""
        return [box for box in self._text(text, style) if box.kind <= Kind.SPACE]

    def mark_used(self, font: Font, glyphs: Iterable[tuple[int, str]]) -> None:
        """Note that the document draws these glyphs."""
        used = self.used.setdefault(font, {})
        for glyph, text in glyphs:
            if not used.get(glyph):
                used[glyph] = text

    def _text(self, text: str, style: Style) -> list[Box]:
        """The boxes of a text: the hottest loop of the renderer, one look-up for each word."""
        boxes: list[Box] = []
        words = self._words.setdefault(style, {})
        pattern = WORDS if text.isascii() or not IS_CJK.search(text) else CJK_WORDS
        for word in pattern.findall(text):
            found = words.get(word)
            if found is None:
                found = words[word] = self._unit(word, style)
            boxes += found
        return boxes

    def _unit(self, text: str, style: Style) -> tuple[Box, ...]:
        """What the pattern of words finds: spaces, or a word with the places where it may be broken."""
        first = text[0]
        if first == "\u200b":
            return (BREAK,)
        if first.isspace() and first not in "\u00a0\u2007\u202f":
            shown = first if first >= "\u2000" else " "
            return (self._box(Kind.SPACE, shown, style, main_font(style.mono, style.bold, style.italic)),)
        if len(text) > _LONGEST_WORD:
            pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
            return tuple(box for piece in pieces for box in self.word(piece, style))
        if IS_CJK.search(text):
            return (BREAK, *self.word(text, style), BREAK)
        parts = _at_hyphens(text)
        boxes = list(self.word(parts[0], style))
        for part in parts[1:]:
            boxes += [BREAK, *self.word(part, style)]
        return tuple(boxes)

    def _padded(self, boxes: list[Box], style: Style) -> list[Box]:
        """Code in a line, with the empty edges of its grey; they are no text of their own."""
        drawn = [at for at, box in enumerate(boxes) if box.kind <= Kind.SPACE]
        if not drawn:
            return []
        body = f"{-look.CODE_PAD_X * 1000 / style.size:.0f}"
        first, last = (
            Box(Kind.WORD, "", style, boxes[at].font, look.CODE_PAD_X, body) for at in (drawn[0], drawn[-1])
        )
        return [first, *boxes[drawn[0] : drawn[-1] + 1], last]

    def _box(self, kind: Kind, text: str, style: Style, font: Font, level: int = 0) -> Box:
        shaped = font.shape(text, bool(level & 1) if level else None)
        self.mark_used(font, shaped.glyphs)
        if not all(glyph for glyph, _ in shaped.glyphs):
            lacking = [char for char in text if char not in font and not is_ignorable(char)]
            self.missing |= dict.fromkeys(lacking)
        return Box(kind, text, style, font, shaped.width * style.size / 1000, shaped.body, level)

    def _by_font(self, text: str, style: Style) -> list[tuple[Font, str]]:
        """The text in runs of one font each."""
        main = main_font(style.mono, style.bold, style.italic)
        if text.isascii():
            return [(main, text)]
        runs: list[tuple[Font, str]] = []
        for at, char in enumerate(text):
            following = text[at + 1 : at + 2]
            font = self._font_of(char, following, main, style, runs[-1] if runs else None)
            if runs and runs[-1][0] is font:
                runs[-1] = (font, runs[-1][1] + char)
            else:
                runs.append((font, char))
        return runs

    def _font_of(
        self, char: str, following: str, main: Font, style: Style, last: tuple[Font, str] | None
    ) -> Font:
        """The font of a character; joiners, marks and what is joined stay with the one before."""
        if last and (is_ignorable(char) or (char in last[0] and (is_mark(char) or last[1][-1] == "\u200d"))):
            return last[0]
        as_emoji = following == "\ufe0f"
        if not as_emoji and (char in main or is_ignorable(char)):
            return main
        found = fallback_font(char, style.bold, self.language, as_emoji)
        return found or main


def _at_hyphens(word: str) -> list[str]:
    """The word in the parts between which a line may end: after a hyphen or dash amid letters."""
    if "-" not in word and "–" not in word and "—" not in word:
        return [word]
    parts, start = [], 0
    for at in range(1, len(word) - 1):
        if word[at] in "-–—" and word[at - 1].isalpha() and word[at + 1].isalpha():
            parts.append(word[start : at + 1])
            start = at + 1
    return [*parts, word[start:]]
