"""Lines of a byte stream, bounded, and the standard streams as a protocol claims them."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

_CHUNK = 65_536
# What is kept of each end of a line that is too long, so that it can be told whose it was.
EDGE = 4096


class TooLong(NamedTuple):
    """Both ends of a line that was not kept."""

    head: bytes
    tail: bytes


def read_lines(
    source: int, max_bytes: int, *, stopped: Callable[[], bool]
) -> Iterator[bytes | TooLong]:
    """Yield the lines of a descriptor, without their ends; of one that is too long, its edges.

    What stands before the end of the stream without a line end is a line, too.

    Args:
        source: An open descriptor.
        max_bytes: Kept of one line; the rest of a longer one is read and dropped.
        stopped: Asked after each read; what was read last is then dropped.
    """
    kept, searched, edges = bytearray(), 0, None
    while chunk := _read(source):
        if stopped():
            return
        kept += chunk
        while (end := kept.find(b"\n", searched)) >= 0:
            line = bytes(kept[:end])
            del kept[: end + 1]
            yield line if edges is None and end <= max_bytes else _edges(edges, line)
            searched, edges = 0, None
        if edges is not None or len(kept) > max_bytes:
            edges = _edges(edges, bytes(kept))
            kept.clear()
        searched = len(kept)
    if edges is not None:
        yield edges
    elif kept:
        yield bytes(kept)


def _edges(before: TooLong | None, more: bytes) -> TooLong:
    if before is None:
        return TooLong(more[:EDGE], more[-EDGE:])
    return TooLong(before.head, (before.tail + more)[-EDGE:])


def _read(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK)
    except OSError:
        # A peer that is gone ends the stream, however the system says it.
        return b""


def write_all(sink: int, data: bytes) -> None:
    """Write all of some bytes.

    Raises:
        OSError: Nobody reads any more.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(sink, rest) :]


def nobody_reads(sink: int) -> bool:
    """Tell whether the other end of a pipe was closed, where the platform can say so."""
    poll = getattr(select, "poll", None)
    if poll is None:
        return False
    poller = poll()
    poller.register(sink, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poller.poll(0))


@contextmanager
def claimed_streams(sink: int = 1) -> Iterator[tuple[int, int]]:
    """Take standard input and an output for a protocol alone.

    Meanwhile what prints goes to standard error, and what reads standard input finds nothing.

    Args:
        sink: The descriptor that is written to.
    """
    sys.stdout.flush()
    kept_in, kept_out, out = os.dup(0), os.dup(1), os.dup(sink)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    try:
        yield kept_in, out
    finally:
        sys.stdout.flush()
        os.dup2(kept_in, 0)
        os.dup2(kept_out, 1)
        for each in (kept_in, kept_out, out, nothing):
            os.close(each)
