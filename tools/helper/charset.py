"""Text out of the bytes of a page, by the encoding that it has rather than the one it claims.

Neither trafilatura nor lxml reads the HTTP header, and both are led astray by pages whose first and last
kilobytes are ASCII. Labels stand for the encodings that WHATWG's Encoding standard gives them; a label
outside the table is not believed, for a server could name any codec that Python has, slow ones too.
"""

import codecs
import re
from collections.abc import Iterator

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([a-zA-Z0-9_:-]{2,40})""", re.IGNORECASE)
_XML = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-zA-Z0-9_:-]{2,40})""", re.IGNORECASE)
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([a-zA-Z0-9_:-]{2,40})""", re.IGNORECASE)
_META_WITHIN = 4096
_BETWEEN = re.compile(rb"[\n<>]+")
_SAMPLE = 100_000

_CODECS = {
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8"), "utf-8"),
    **dict.fromkeys(("utf-16", "utf-16le", "unicode", "ucs-2"), "utf-16-le"),
    "utf-16be": "utf-16-be",
    **dict.fromkeys(("ascii", "us-ascii", "iso-8859-1", "iso8859-1", "latin1", "l1"), "cp1252"),
    **dict.fromkeys(("windows-1252", "cp1252", "x-cp1252"), "cp1252"),
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"windows-125{part}": f"cp125{part}" for part in (0, 1, 3, 4, 5, 6, 7, 8)},
    **{f"cp125{part}": f"cp125{part}" for part in (0, 1, 3, 4, 5, 6, 7, 8)},
    **dict.fromkeys(("iso-8859-9", "latin5"), "cp1254"),
    **dict.fromkeys(("iso-8859-8-i", "logical"), "iso8859-8"),
    **dict.fromkeys(("latin2", "l2"), "iso8859-2"),
    **dict.fromkeys(("koi8-r", "koi8", "koi"), "koi8-r"),
    **dict.fromkeys(("koi8-u", "koi8-ru"), "koi8-u"),
    **dict.fromkeys(("ibm866", "cp866", "866"), "cp866"),
    **dict.fromkeys(("macintosh", "mac", "x-mac-roman"), "mac-roman"),
    "x-mac-cyrillic": "mac-cyrillic",
    **dict.fromkeys(("tis-620", "windows-874", "iso-8859-11", "cp874"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "x-gbk", "gb_2312-80", "chinese"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "ms_kanji"), "cp932"),
    **dict.fromkeys(("euc-jp", "x-euc-jp"), "euc-jp"),
    **dict.fromkeys(("iso-2022-jp", "csiso2022jp"), "iso-2022-jp"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "korean", "windows-949", "ksc5601"), "cp949"),
}


def decode_text(body: bytes, content_type: str = "") -> str:
    """The text of a page or file. Bytes that no encoding explains become U+FFFD."""
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(codec, "replace")
    claimed = list(_claimed(body, content_type))
    if "iso-2022-jp" in claimed or b"\x1b$" in body[:_SAMPLE]:  # seven bits: it would pass for UTF-8
        claimed.insert(0, "iso-2022-jp")
    else:
        try:
            return body.decode()
        except UnicodeDecodeError:
            claimed.append("utf-8")
    for codec in claimed:
        text = body.decode(codec, "replace")
        if _is_plausible(text):
            return text
    return body.decode(_detected(body), "replace")


def _claimed(body: bytes, content_type: str) -> Iterator[str]:
    """The encodings that the header and the page name, as far as they are known."""
    labels = [match[1] for match in [_HEADER.search(content_type)] if match]
    for pattern in (_XML, _META):
        if match := pattern.search(body[:_META_WITHIN]):
            labels.append(match[1].decode("ascii"))
    for label in labels:
        if codec := _CODECS.get(label.lower()):
            yield codec


def _is_plausible(text: str) -> bool:
    """Whether few enough of the signs outside ASCII are the sign for a broken one."""
    return 4 * text.count("\ufffd") <= sum(sign > "\x7f" for sign in text)


def _detected(body: bytes) -> str:
    """The encoding that the text looks most like; tags and scripts, being ASCII, would drown it."""
    from charset_normalizer import from_bytes

    telling = b"\n".join(piece for piece in _BETWEEN.split(body) if not piece.isascii())
    best = from_bytes(telling[:_SAMPLE], cp_isolation=sorted(set(_CODECS.values()))).best()
    return best.encoding if best else "cp1252"
