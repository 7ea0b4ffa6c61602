"""Which font has a character: those that ship with the panel, else of packages, else of the system.

fontconfig is not asked: the folders are the same everywhere, and a font's own table of characters tells
what it has.
"""

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

import uharfbuzz as hb

from tools.helper.pdf.characters import is_emoji
from tools.helper.pdf.font import BOLD, REGULAR, Font, FontFile, font_file, load_font

log = logging.getLogger(__name__)

SHIPPED = Path(__file__).parent / "fonts"

_SHIPPED_FALLBACKS = (
    "NotoSans", "IBMPlexSansArabic-Regular", "NotoSansHebrew", "NotoSansDevanagari", "NotoSansThai",
    "DejaVuSansMono", "NotoSansSymbols", "NotoEmoji",
)  # fmt: skip
_PACKAGES = ("manimgx_fonts*", "pylopdf_fonts_*", "noto_cjk_*", "fontpkg_noto_*")
_ENDINGS = (".ttf", ".otf", ".ttc", ".otc")

_CJK_NAMES = {
    "ja": r"JP|jp|YuGoth|meiryo|Hiragino|ipa",
    "zh": r"SC|sc|msyh|PingFang|wqy|TC",
    "ko": r"KR|kr|malgun|AppleSD",
}
"""What the file names of the fonts of a language tell of it."""
_COLLECTION_INDEX = {"ja": 0, "ko": 1, "zh": 2}
"""Where Noto's CJK collections keep a language's own shapes of the ideographs."""

_UNWANTED = re.compile(
    r"LastResort|Blank|ColorEmoji|seguiemj|Bold|Italic|Oblique|Black|Thin|Light|Condensed|Narrow"
)


@cache
def main_font(mono: bool, bold: bool, italic: bool) -> Font:
    """The font of text, or of code."""
    weight = BOLD if bold else REGULAR
    if mono:
        file = font_file(SHIPPED / ("DejaVuSansMono-Bold.ttf" if bold else "DejaVuSansMono.ttf"))
        return load_font(file, weight, slanted=italic)
    return load_font(font_file(SHIPPED / ("NotoSans-Italic.ttf" if italic else "NotoSans.ttf")), weight)


@lru_cache(65_536)
def fallback_font(char: str, bold: bool, language: str, as_emoji: bool) -> Font | None:
    """The font for a character that the main one lacks, or None where nothing on this machine has it.

    `language` chooses the shapes of ideographs ("ja", "zh" or "ko"); `as_emoji` asks for the emoji even
    where a text sign exists.
    """
    file = next((file for file in _shipped(as_emoji or is_emoji(char)) if char in file), None)
    if file is None and ord(char) in _all_characters():
        file = next((file for file in _installed(language) if char in file and file.is_embeddable), None)
    if file is None:
        return None
    weight = BOLD if bold else REGULAR
    if file.has_weights or not bold:
        return load_font(file, weight)
    real = _bold_sibling(file)
    return load_font(real, weight) if real and char in real else load_font(file, weight, thickened=True)


def _shipped(emoji_first: bool) -> Iterator[FontFile]:
    names = ("NotoEmoji", *_SHIPPED_FALLBACKS) if emoji_first else _SHIPPED_FALLBACKS
    return (font_file(SHIPPED / f"{name}.ttf") for name in names)


@cache
def _installed(language: str) -> tuple[FontFile, ...]:
    """The fonts of packages and of the system, best first."""
    wanted = re.compile(_CJK_NAMES.get(language, _CJK_NAMES["ja"]))

    def rank(path: Path) -> tuple[bool, ...] | tuple[object, ...]:
        name = path.name
        return (
            _UNWANTED.search(name) is not None,
            "Serif" in name or "Naskh" in name,
            not name.startswith("Noto"),
            wanted.search(name) is None,
            name,
        )

    index = _COLLECTION_INDEX.get(language, 0)
    found = []
    for path in sorted(_font_paths(), key=rank):
        try:
            noto_cjk = "CJK" in path.name and path.suffix in (".ttc", ".otc")
            found.append(font_file(path, index if noto_cjk else 0))
        except (hb.HarfBuzzError, OSError) as error:
            log.info("not a font: %s (%s)", path, error)
    return tuple(found)


@cache
def _all_characters() -> hb.Set:
    union = hb.Set()
    for file in _installed(""):
        union.update(file.characters)
    return union


@cache
def _font_paths() -> frozenset[Path]:
    folders = [found for place in sys.path if place for name in _PACKAGES for found in Path(place).glob(name)]
    folders += _system_folders()
    return frozenset(_walk(folders))


def _system_folders() -> list[Path]:
    """Where Linux, macOS and Windows keep fonts."""
    home = Path.home()
    return [
        home / ".fonts",
        home / ".local/share/fonts",
        Path("/usr/share/fonts"),
        Path("/usr/local/share/fonts"),
        home / "Library/Fonts",
        Path("/Library/Fonts"),
        Path("/System/Library/Fonts"),
        Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts",
        home / "AppData/Local/Microsoft/Windows/Fonts",
    ]


def _walk(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                if name.lower().endswith(_ENDINGS):
                    yield Path(place, name)


def _bold_sibling(file: FontFile) -> FontFile | None:
    path = file.path.with_name(file.path.name.replace("-Regular", "-Bold"))
    if path == file.path or not path.exists():
        return None
    return font_file(path, file.index)
