"""What a text may hold, and what kind of characters it is made of."""

import re
import unicodedata

_FORBIDDEN = re.compile(
    "[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ufffe\uffff\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]"
)
"""Control characters, soft hyphens, and the bidi controls by which a text can show what it does not say."""

_CJK = (
    "\u2e80-\u2fdf\u3001-\u30ff\u3105-\u312f\u31a0-\u31ff\u3220-\u9fff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003ffff"
)
_CJK_OPENERS = "「『（〔［｛〈《【〖｟“‘"
_CJK_CLOSERS = (
    "、。，．・：；？！ー…‥〜～’”）〕］｝〉》」』】〗｠々〻％‰℃"
    "ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ゛゜ゝゞヽヾ"
)
_SPACES = " \t\n\u2000-\u2006\u2008-\u200a\u205f\u3000"

IS_CJK = re.compile(f"[{_CJK}]")
IS_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001eeff]")

WORDS = re.compile(f"[{_SPACES}]+|\u200b|[^{_SPACES}\u200b]+")
"""A text as words and the spaces between them."""

CJK_WORDS = re.compile(
    f"[{_SPACES}]+|\u200b"
    f"|[{_CJK_OPENERS}]*[{_CJK}](?:[{_CJK_CLOSERS}]|[,.!?:;%)\\]](?![{_CJK}]))*"
    f"|[{_CJK_OPENERS}]*[^{_SPACES}\u200b{_CJK}{_CJK_OPENERS}]+[{_CJK_CLOSERS}]*"
    f"|."
)
"""The same where ideographs or kana stand: a line may break between any two of them, but no line begins
with a closing sign or a small kana, nor ends with an opening bracket (JIS X 4051)."""

_EMOJI = re.compile(
    "[\u231a\u231b\u23e9-\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26aa\u26ab\u26bd\u26be"
    "\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755"
    "\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001f0ff\U0001f18e-\U0001faff]"
)
_IGNORABLE = re.compile(
    "[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f"
    "\U000e0000-\U000e0fff]"
)
_CLUSTER = re.compile(
    "(?s).[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u200c\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff"
    "\U000e0020-\U000e007f]*"
)


def clean(text: str) -> str:
    """The text without what no font can show: NUL and lone surrogates become U+FFFD, controls go."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    text = text.replace("\x85", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _FORBIDDEN.sub("", text)


def is_emoji(char: str) -> bool:
    """Whether a character is drawn as an emoji when nothing else is said."""
    return _EMOJI.match(char) is not None


def is_ignorable(char: str) -> bool:
    """Whether a character only steers how others are drawn (joiners, variation selectors)."""
    return _IGNORABLE.match(char) is not None


def is_mark(char: str) -> bool:
    """Whether a character is drawn upon the one before it."""
    return unicodedata.category(char)[0] == "M" or "\U0001f3fb" <= char <= "\U0001f3ff"


def clusters(text: str) -> list[str]:
    """The text in pieces that belong together: each letter with its marks."""
    return _CLUSTER.findall(text)


_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
)


def script_language(text: str) -> str:
    """The language that a text's script tells, such as "ja" where kana are frequent; "" for most scripts."""
    sample = text[:20_000]
    letters = sum(map(str.isalpha, sample))
    for language, script in _SCRIPTS:
        if letters and len(script.findall(sample)) > letters / 5:
            return language
    return ""


def is_mostly_rtl(text: str) -> bool:
    """Whether most letters of a text are of scripts that run from right to left."""
    sample = text[:20_000]
    return len(IS_RTL.findall(sample)) * 2 > sum(map(str.isalpha, sample))
