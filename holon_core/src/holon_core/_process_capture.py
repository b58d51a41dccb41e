"""What is kept of a stream: the first bytes, for some streams the last, and a digest of all."""

from __future__ import annotations

from attrs import field, frozen

from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class Captured(Record):
    """The bounded memory of one output stream of a process.

    ``head`` are its first bytes, ``tail`` its last where more came than ``head`` holds (always
    empty for stdout); ``total_bytes`` and ``sha256`` (hex) speak of everything that was read,
    ``truncated`` says that something of it was not kept.
    """

    head: bytes = field(default=b"", repr=False)
    tail: bytes = field(default=b"", repr=False)
    total_bytes: int = 0
    sha256: str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    truncated: bool = False

    @property
    def dropped_bytes(self) -> int:
        """How many bytes between head and tail were read and not kept."""
        return self.total_bytes - len(self.head) - len(self.tail)


class Capture:
    """Collects a stream of any length in bounded memory."""

    __slots__ = ("_digest", "_head", "_head_max", "_tail", "_tail_max", "total_bytes")

    def __init__(self, *, head_max: int, tail_max: int = 0) -> None:
        from hashlib import sha256

        self._digest = sha256()
        self._head, self._tail = bytearray(), bytearray()
        self._head_max, self._tail_max = head_max, tail_max
        self.total_bytes = 0

    @property
    def over(self) -> bool:
        """Whether more came than is kept."""
        return self.total_bytes > self._head_max + self._tail_max

    def add(self, data: bytes) -> bytes:
        """Take the next bytes of the stream; returns those that the head still had room for."""
        self.total_bytes += len(data)
        self._digest.update(data)
        room = self._head_max - len(self._head)
        kept = data[:room] if room else b""
        self._head += kept
        if self._tail_max and len(kept) < len(data):
            self._keep_last(data[len(kept) :])
        return kept

    def _keep_last(self, data: bytes) -> None:
        self._tail += data[-self._tail_max :]
        if len(self._tail) > 2 * self._tail_max:
            del self._tail[: -self._tail_max]

    def result(self) -> Captured:
        """What was kept, as a record."""
        return Captured(
            head=bytes(self._head),
            tail=bytes(self._tail[-self._tail_max :]) if self._tail_max else b"",
            total_bytes=self.total_bytes,
            sha256=self._digest.hexdigest(),
            truncated=self.over,
        )
