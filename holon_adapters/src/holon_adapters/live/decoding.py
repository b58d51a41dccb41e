"""Taking a body apart as it streams in, never holding more than its limit."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class TooLarge(Exception):
    """More than the limit came, counted as decoded."""


class Undecodable(Exception):
    """What came is not what its headers say."""


def read_body(pieces: Iterable[bytes], *, coding: str, limit: int) -> bytes:
    """Read a body to its end.

    Args:
        pieces: As they come.
        coding: ``Content-Encoding``; empty for none.
        limit: Bytes accepted, decoded; no more than one piece beyond them is ever held.

    Raises:
        TooLarge: More came; the rest is not read.
        Undecodable: The coding is another, or the data breaks it.
    """
    decoder = _decoder(coding)
    kept = bytearray()
    for piece in pieces:
        if decoder is None:
            kept += piece
        else:
            _inflate(decoder, piece, kept, limit)
        if len(kept) > limit:
            raise TooLarge
    if decoder is not None and not decoder.eof and kept:
        raise Undecodable("the compressed body ends too early")
    return bytes(kept)


def _decoder(coding: str) -> Any:
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding in ("gzip", "x-gzip"):
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    if coding == "deflate":
        return zlib.decompressobj()
    raise Undecodable(f"the content coding {coding!r:.40} was not asked for")


def _inflate(decoder: Any, piece: bytes, kept: bytearray, limit: int) -> None:
    """Decode a piece, a bounded stretch at a time: a thousandth of it may be what comes in."""
    try:
        kept += decoder.decompress(piece, limit + 1 - len(kept))
        while decoder.unconsumed_tail and len(kept) <= limit:
            kept += decoder.decompress(decoder.unconsumed_tail, limit + 1 - len(kept))
    except zlib.error:
        raise Undecodable("the compressed body is damaged") from None
