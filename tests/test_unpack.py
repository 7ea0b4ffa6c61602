"""What servers send packed: unpacked in bounded pieces, and never taken for whole when it is not."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.helper.unpack import BadPacking, unpacker


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "bare": bare_deflate, "identity": bytes}


def unpacked(coding: str, data: bytes, piece: int = 1000) -> bytes:
    unpack = unpacker({"bare": "deflate"}.get(coding, coding))
    parts = [part for at in range(0, len(data), piece) for part in unpack.feed(data[at : at + piece])]
    unpack.end()
    return b"".join(parts)


@given(data=st.binary(max_size=3000), coding=st.sampled_from(sorted(PACKERS)), piece=st.integers(1, 500))
def test_whatever_is_packed_comes_back(data: bytes, coding: str, piece: int) -> None:
    assert unpacked(coding, PACKERS[coding](data), piece) == data


def test_several_codings_are_undone_from_the_last_on() -> None:
    assert unpacked("deflate, gzip", gzip.compress(zlib.compress(b"hello"))) == b"hello"


def test_several_members_are_one_text() -> None:
    assert unpacked("gzip", gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_padding_behind_the_end_is_passed_over() -> None:
    assert unpacked("gzip", gzip.compress(b"hello") + bytes(100)) == b"hello"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare"])
def test_half_of_it_is_not_taken_for_all(coding: str) -> None:
    packed = PACKERS[coding](b"a long text " * 1000)
    with pytest.raises(BadPacking):
        unpacked(coding, packed[: len(packed) // 2])


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip, gzip, gzip", "nonsense"])
def test_what_was_not_asked_for_is_refused(coding: str) -> None:
    with pytest.raises(BadPacking):
        unpacker(coding)


def test_what_is_not_packed_at_all_is_refused() -> None:
    with pytest.raises(BadPacking):
        unpacked("gzip", b"<html>")


def test_a_bomb_comes_in_small_pieces() -> None:
    bomb = gzip.compress(gzip.compress(bytes(50_000_000)))
    pieces = unpacker("gzip, gzip").feed(bomb)
    assert max(len(piece) for piece, _ in zip(pieces, range(50), strict=False)) <= 65536
