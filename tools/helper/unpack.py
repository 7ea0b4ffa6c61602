"""Unpacking what a server sent packed (RFC 9110, 8.4.1), in pieces of bounded size and to its very end."""

import zlib
from collections.abc import Iterator

_PIECE = 65536
_MOST_CODINGS = 3
_KNOWN = frozenset({"gzip", "x-gzip", "deflate"})


class BadPacking(Exception):
    """The data is not packed as its header says, or it ends too early."""


def unpacker(content_encoding: str) -> "Unpacker":
    """What undoes the codings of a Content-Encoding header. Raises BadPacking for one that is not known."""
    codings = [coding.strip() for coding in content_encoding.lower().split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if len(codings) > _MOST_CODINGS or not _KNOWN.issuperset(codings):
        raise BadPacking(content_encoding)
    return Unpacker([_Stage(coding) for coding in reversed(codings)])


class Unpacker:
    """Takes packed data piece by piece. A few bytes may become very many, so they are given in pieces too."""

    def __init__(self, stages: "list[_Stage]") -> None:
        self._stages = stages

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes become, at most 64 KiB at a time. Raises BadPacking."""
        yield from self._through(0, data)

    def end(self) -> None:
        """Raises BadPacking where the data was not whole."""
        if not all(stage.whole for stage in self._stages):
            raise BadPacking("it ends too early")

    def _through(self, number: int, data: bytes) -> Iterator[bytes]:
        if number == len(self._stages):
            yield data
            return
        for piece in self._stages[number].feed(data):
            yield from self._through(number + 1, piece)


class _Stage:
    """One coding undone. Of gzip there may be several members, one after the other (RFC 1952, 2.2)."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._begun = False
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def whole(self) -> bool:
        return self._inflate.eof or not self._begun

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not self._begun and data:
            self._begun = True
            if self._coding == "deflate":
                self._inflate = zlib.decompressobj(_window(data))
        while data:
            if self._inflate.eof:
                if not (self._coding != "deflate" and data.startswith(b"\x1f")):
                    return  # zeros that fill a block, and the like: every browser passes over them
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error as error:
                raise BadPacking(str(error)) from error
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if piece:
                yield piece


def _window(data: bytes) -> int:
    """ "deflate" should be zlib's format (RFC 1950); some servers send bare deflate (RFC 1951)."""
    is_zlib = data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] << 8 | data[1]) % 31 == 0)
    return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS
