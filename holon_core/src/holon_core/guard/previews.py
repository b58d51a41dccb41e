"""Bounded looks at captured output: redacted whole, cut on characters, made safe for a line."""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from attrs import frozen

from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from holon_core.guard.redaction import Redactor


@frozen(kw_only=True)
class Preview:
    """What evidence shows of a stream.

    ``head`` and ``tail`` are redacted and hold no control character; ``tail`` is empty where the
    head shows all. ``total_bytes`` and ``sha256`` (hex) speak of the whole stream as it was
    read, before redaction; ``truncated`` says that something of it is not shown.
    """

    head: str
    tail: str
    total_bytes: int
    sha256: str
    truncated: bool


def preview(
    data: bytes | str,
    *,
    redactor: Redactor,
    limit_bytes: int = 2048,
    tail: bytes = b"",
    total_bytes: int | None = None,
    sha256: str | None = None,
) -> Preview:
    """Keep the two ends of captured output for evidence.

    Args:
        data: What was captured from the start of the stream; need not be UTF-8.
        redactor: Knows the secrets; the whole capture is redacted before anything is cut.
        limit_bytes: Bytes kept, counted after redaction and before control characters are
            escaped; 0 keeps none.
        tail: What was captured from its end, where more came than ``data`` holds.
        total_bytes: The size of the whole stream, where more was read than is given here.
        sha256: Its digest; needed where more was read.

    Returns:
        Head and tail, cut between characters (undecodable bytes become U+FFFD). Of a secret that
        lies across the end of what was captured, no part of four bytes or more remains.
    """
    head = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    kept = len(head) + len(tail)
    total = kept if total_bytes is None else total_bytes
    if sha256 is None:
        from hashlib import sha256 as digest

        sha256 = digest(head + tail).hexdigest()
    if total <= kept:
        first, last, cut = _halves(redactor.data(head + tail), limit_bytes)
    else:
        first = redactor.data(head, cut_end=True)[: limit_bytes // 2 if tail else limit_bytes]
        last = redactor.data(tail, cut_start=True)
        last, cut = last[max(0, len(last) - limit_bytes // 2) :], True
    return Preview(
        head=escape_controls(_decoded(first, final=not cut)),
        tail=escape_controls(_decoded(_from_character(last), final=True)),
        total_bytes=total,
        sha256=sha256,
        truncated=cut,
    )


def _halves(data: bytes, limit: int) -> tuple[bytes, bytes, bool]:
    if len(data) <= limit:
        return data, b"", False
    half = limit // 2
    return data[: limit - half], data[len(data) - half :], True


def _decoded(data: bytes, *, final: bool) -> str:
    # An incomplete last character is left away where something was cut behind it.
    return getincrementaldecoder("utf-8")("replace").decode(data, final)


def _from_character(data: bytes) -> bytes:
    """Leave away the bytes of a character whose beginning was cut off: three at most."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
