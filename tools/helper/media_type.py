"""What a body is, by its type header and its first bytes: servers often send the wrong header."""

from typing import Literal

Media = Literal["html", "text", "pdf", "binary"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset(
    f"application/{name}"
    for name in ("json", "xml", "javascript", "x-javascript", "yaml", "x-yaml", "csv", "sql")
)
_UNTOLD = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/binary", "unknown/unknown"}
)
_SIGNATURES = (
    *(b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"RIFF", b"OggS", b"ID3", b"fLaC", b"\x1aE\xdf\xa3"),
    *(b"PK\x03\x04", b"\x1f\x8b", b"Rar!", b"7z\xbc\xaf", b"BZh", b"\xfd7zXZ", b"\x7fELF", b"MZ\x90", b"wOF"),
)
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def media_kind(body: bytes, content_type: str) -> Media:
    """Whether a body is a page, other text, a PDF, or nothing that can be read as text."""
    start = body[:1024]
    declared = media_type(content_type)
    may_be_pdf = declared == "application/pdf" or declared in _UNTOLD
    if start.lstrip().startswith(b"%PDF-") or (may_be_pdf and b"%PDF-" in start):
        return "pdf"
    if start.startswith(_SIGNATURES) or (b"\x00" in start and not start.startswith(_UTF16_BOMS)):
        return "text" if "utf-16" in content_type.lower() else "binary"
    if declared in _HTML:
        return "html"
    if declared.startswith("text/") or declared in _TEXT or declared.endswith(("+json", "+xml")):
        return "text"
    if declared not in _UNTOLD:
        return "binary"
    return "html" if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else "text"


def media_type(content_type: str) -> str:
    """The type without its parameters, such as "text/html"."""
    return content_type.partition(";")[0].strip().lower()
