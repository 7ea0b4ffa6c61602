"""Fonts: shaping words with HarfBuzz, and what a PDF must know of a font.

A font here is shared by all documents and threads: it only reads, and remembers what it has shaped. What
one document uses of it is kept by `typeset.Typesetter`.
"""

import io
import re
import struct
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import uharfbuzz as hb

_REMEMBERED = 20_000
"""Shaped words kept for each font; about 300 bytes each."""

_HEX = [f"{number:04X}" for number in range(0x10000)]

REGULAR, BOLD = 400, 700


class Shaped(NamedTuple):
    """A word as glyphs.

    `width` is in thousandths of the font size. `body` is what stands between the brackets of a TJ operator
    at font size 1: codes in hexadecimal, and shifts (ISO 32000-1, 9.4.3). `glyphs` are the numbers of the
    glyphs, each with the text that it stands for. Where they can't tell the text, because one is missing or
    several stand for one letter, /ActualText in the body does (14.9.4).
    """

    width: float
    body: str
    glyphs: tuple[tuple[int, str], ...]


class FontFile:
    """A font on the disk; `index` chooses among the fonts of a collection."""

    def __init__(self, path: Path, index: int = 0) -> None:
        self.path = path
        self.index = index
        self.face = hb.Face(hb.Blob.from_file_path(str(path)), index)
        self.characters = self.face.unicodes
        self.has_weights = any(axis.tag == "wght" for axis in self.face.axis_infos)

    def __contains__(self, char: str) -> bool:
        return ord(char) in self.characters

    @cached_property
    def is_cff(self) -> bool:
        """Whether the outlines are cubic (CFF) rather than TrueType's."""
        return not {"CFF ", "CFF2"}.isdisjoint(self.face.table_tags)

    @cached_property
    def cids(self) -> list[int] | None:
        """Glyph number -> character identifier, in a CFF font that has such (Adobe Technical Note 5176)."""
        if "CFF " not in self.face.table_tags:
            return None
        from fontTools.cffLib import CFFFontSet  # type: ignore[import-untyped]

        fonts = CFFFontSet()
        fonts.decompile(io.BytesIO(self.face.reference_table("CFF ").data), None)
        if not hasattr(fonts[0], "ROS"):
            return None
        return [0, *(int(name[3:]) for name in fonts[0].charset[1:])]

    @cached_property
    def is_embeddable(self) -> bool:
        """Whether there are outlines, and the licence bits allow them in a document (OS/2 fsType)."""
        tags = self.face.table_tags
        if not self.is_cff and "glyf" not in tags:
            return False
        licence = self.face.reference_table("OS/2").data[8:10] if "OS/2" in tags else b"\0\0"
        return struct.unpack(">H", licence)[0] & 0xF != 2


class Font:
    """A font file at one weight, perhaps slanted or thickened for want of a real italic or bold."""

    def __init__(
        self, file: FontFile, weight: int = REGULAR, *, slanted: bool = False, thickened: bool = False
    ) -> None:
        self.file = file
        self.weight = weight
        self.slanted = slanted
        self.thickened = thickened
        self._font = hb.Font(file.face)
        if file.has_weights:
            self._font.set_variations({"wght": weight})
        self.scale = 1000 / file.face.upem
        extents = self._font.get_font_extents("ltr")
        self.ascent = extents.ascender * self.scale
        self.descent = -extents.descender * self.scale
        self.hex_of: dict[int, str] = _HexOf(self)
        self._shaped: dict[tuple[str, bool | None], Shaped] = {}

    def __contains__(self, char: str) -> bool:
        return char in self.file

    def glyph(self, char: str) -> int:
        """The number of a character's glyph, 0 where there is none."""
        return self._font.get_nominal_glyph(ord(char)) or 0

    def code(self, glyph: int) -> int:
        """How the pages name a glyph: a subset of the font keeps this number, whatever else it leaves out."""
        return glyph if self.file.cids is None else self.file.cids[glyph]

    def advance(self, glyph: int) -> float:
        """How far a glyph moves on, in thousandths of the font size."""
        return self._font.get_glyph_h_advance(glyph) * self.scale

    @cached_property
    def cap_height(self) -> float:
        """The height of a capital letter, in thousandths of the font size."""
        return self._font.get_metric_position_with_fallback(hb.OTMetricsTag.CAP_HEIGHT) * self.scale

    @cached_property
    def name(self) -> str:
        """The PostScript name, in the characters that a PDF name may have."""
        name = self.file.face.get_name(hb.OTNameIdPredefined.POSTSCRIPT_NAME) or self.file.path.stem
        return re.sub(r"[^A-Za-z0-9-]", "", name) + ("-Bold" if self.weight == BOLD else "") or "Font"

    def shape(self, text: str, rtl: bool | None = None) -> Shaped:
        """The glyphs of a word, left to right. `rtl` fixes the direction; None takes the script's own."""
        key = (text, rtl)
        shaped = self._shaped.get(key)
        if shaped is None:
            if len(self._shaped) >= _REMEMBERED:
                self._shaped.clear()
            shaped = self._shaped[key] = self._shape(text, rtl)
        return shaped

    def _shape(self, text: str, rtl: bool | None) -> Shaped:
        buffer = hb.Buffer()
        buffer.flags = hb.BufferFlags.REMOVE_DEFAULT_IGNORABLES
        buffer.cluster_level = hb.BufferClusterLevel.MONOTONE_CHARACTERS
        buffer.add_str(text)
        buffer.guess_segment_properties()
        if rtl is not None:
            buffer.direction = "rtl" if rtl else "ltr"
        # A ligature that is but an ornament makes text that runs from right to left hard to copy.
        hb.shape(self._font, buffer, {"liga": False} if buffer.direction == "rtl" else {})
        infos, positions = buffer.glyph_infos, buffer.glyph_positions
        texts = _texts(text, [info.cluster for info in infos])
        glyphs = tuple((info.codepoint, part) for info, part in zip(infos, texts, strict=True))
        parts: list[str] = []
        width = 0.0
        for (glyph, _), position in zip(glyphs, positions, strict=True):
            right, up = position.x_offset * self.scale, position.y_offset * self.scale
            move = position.x_advance * self.scale
            width += move
            shift = self.advance(glyph) + right - move  # what PDF would move too far
            parts.append(_placed(_HEX[self.code(glyph)], right, up))
            if abs(shift) >= 0.5:
                parts.append(f"{shift:.0f}")
        body = "".join(parts).replace("><", "")
        if not all(glyph and part for glyph, part in glyphs):
            body = f"]TJ/Span<</ActualText<FEFF{_utf16(text)}>>>BDC[{body}]TJ EMC["
        return Shaped(width, body, glyphs)


def _utf16(text: str) -> str:
    return text.encode("utf-16-be").hex().upper()


def _placed(code: str, right: float, up: float) -> str:
    """A glyph as a part of a TJ array, moved from its place; upwards it takes an operator of its own."""
    before = f"{-right:.0f}" if abs(right) >= 0.5 else ""
    if abs(up) >= 0.5:
        return f"{before}]TJ {up / 1000:.3f} Ts[<{code}>]TJ 0 Ts["
    return f"{before}<{code}>"


def _texts(text: str, starts: list[int]) -> list[str]:
    """For each glyph the text that it stands for: the first of a cluster stands for all of the cluster."""
    if len(starts) == len(text) and starts == list(range(len(text))):
        return list(text)
    edges = sorted(set(starts))
    end_of = dict(zip(edges, [*edges[1:], len(text)], strict=True)) if edges else {}
    texts = []
    for start in starts:
        end = end_of.pop(start, start)
        texts.append(text[0 if start == edges[0] else start : end] if end > start else "")
    return texts


class _HexOf(dict[int, str]):
    """Character number -> glyph number in hexadecimal: a table for `str.translate`."""

    def __init__(self, font: Font) -> None:
        super().__init__()
        self._font = font

    def __missing__(self, char: int) -> str:
        code = self[char] = _HEX[self._font.code(self._font.glyph(chr(char)))]
        return code


@cache
def font_file(path: Path, index: int = 0) -> FontFile:
    """The font in a file, opened once. Raises hb.HarfBuzzError or OSError where it is none."""
    return FontFile(path, index)


@cache
def load_font(file: FontFile, weight: int = REGULAR, slanted: bool = False, thickened: bool = False) -> Font:
    """A font, once for the whole program."""
    return Font(file, weight, slanted=slanted, thickened=thickened)
