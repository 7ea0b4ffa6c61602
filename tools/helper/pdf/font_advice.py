"""Which package brings the characters that no font on this machine has."""

import re
from collections.abc import Iterable

from tools.helper.pdf.characters import IS_CJK
from tools.helper.pdf.notes import Note

_MOST_NAMED = 20

_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff]")
_PACKAGES = (
    (_HANGUL, ("fonts-noto-cjk", "pylopdf-fonts-ko")),
    (IS_CJK, ("fonts-noto-cjk", "pylopdf-fonts-zh-cn")),
)
_OTHERS = ("fonts-noto-core", "manimgx-fonts")
"""Names of packages: of Debian and Ubuntu, and on PyPI."""


def missing_note(characters: Iterable[str]) -> Note:
    """The note that names characters drawn as hollow boxes, and the packages that have them."""
    found = list(characters)
    packages = [next((pair for script, pair in _PACKAGES if script.match(char)), _OTHERS) for char in found]
    apt, pip = (" ".join(dict.fromkeys(names)) for names in zip(*packages, strict=True))
    named = " ".join(f"{char} (U+{ord(char):04X})" for char in found[:_MOST_NAMED])
    more = " …" if len(found) > _MOST_NAMED else ""
    return Note("missing_characters", {"characters": named + more, "apt": apt, "pip": pip})
