"""Running a binary: the bytes that were proven, which nobody can exchange in between."""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from attrs import frozen

from holon_core import Refused, failure
from holon_rust_tools.integrity import read_regular

MAX_SEALED = 8
_STDIN = "/proc/self/fd/0"


@frozen
class Program:
    """How a binary is started: its path, and what it gets as standard input."""

    path: str
    stdin_fd: int | None = None


def can_seal() -> bool:
    """Tell whether this system runs programs from memory that can be sealed."""
    return sys.platform == "linux" and hasattr(os, "memfd_create")


class SealedPrograms:
    """The binaries of one runtime, each kept in sealed memory until the runtime closes."""

    def __init__(self) -> None:
        self._sealed: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def program(self, path: Path, digest: str) -> Iterator[Program]:
        """Give the program of a digest.

        On Linux it is run from sealed memory, made once of the bytes on disk if these have the
        digest. Elsewhere it is run by its path, looked at just before.

        Args:
            path: Of the binary.
            digest: Its SHA-256, as it was proven.

        Raises:
            Refused: ``artifact_changed``.
        """
        if not can_seal():
            _bytes_of(path, digest)
            yield Program(str(path))
            return
        descriptor = self._opened(path, digest)
        try:
            yield Program(_STDIN, descriptor)
        finally:
            os.close(descriptor)

    def _opened(self, path: Path, digest: str) -> int:
        """Open the sealed memory of a digest anew, at its end: who reads it reads nothing."""
        with self._lock:
            held = self._sealed.get(digest)
            if held is None:
                held = self._sealed[digest] = _seal(_bytes_of(path, digest))
                if len(self._sealed) > MAX_SEALED:
                    os.close(self._sealed.popitem(last=False)[1])
            else:
                self._sealed.move_to_end(digest)
            descriptor = os.open(f"/proc/self/fd/{held}", os.O_RDONLY | os.O_CLOEXEC)
        os.lseek(descriptor, 0, os.SEEK_END)
        return descriptor

    def close(self) -> None:
        """Give the memory back; what runs from it keeps it until it ends."""
        with self._lock:
            while self._sealed:
                os.close(self._sealed.popitem()[1])


def _bytes_of(path: Path, digest: str) -> bytes:
    body = read_regular(path)
    if body is None or sha256(body).hexdigest() != digest:
        raise Refused(failure("artifact_changed", "its binary on disk is not what was proven"))
    return body


def _seal(body: bytes) -> int:
    import fcntl

    descriptor = os.memfd_create("holon-rust", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    left = memoryview(body)
    while left:
        left = left[os.write(descriptor, left) :]
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor
