"""A lock that the operating system frees when its process dies: who of the runtimes lives."""

from __future__ import annotations

import os
import sys
import weakref
from pathlib import Path

# Locks open in this process: a forked child lets go of its copies, since a lock that it kept
# would outlive a parent that died and make its calls look alive.
_HELD: weakref.WeakSet[OsLock] = weakref.WeakSet()


def _let_go_in_child() -> None:
    for lock in list(_HELD):
        lock.forget()


if hasattr(os, "register_at_fork"):  # pragma: no branch - other platforms do not fork
    os.register_at_fork(after_in_child=_let_go_in_child)


class OsLock:
    """An exclusive lock on a file, held until ``release`` or the end of the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Python opens it not inheritable: a program started meanwhile cannot keep the lock alive.
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        _HELD.add(self)

    def try_acquire(self) -> bool:
        """Take the lock without waiting; false where another holds it."""
        if self._fd is None:
            return False
        if sys.platform == "win32":  # pragma: no cover - the platform's own call
            import msvcrt

            try:
                msvcrt.locking(self._fd, msvcrt.LK_NBLCK, 1)
            except OSError:
                return False
            return True
        import fcntl

        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def forget(self) -> None:
        """Close this process's copy of the file without unlocking it for others."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def is_current(self) -> bool:
        """Tell whether the locked file is still the one at its path, and not swept away."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        assert self._fd is not None
        held = os.fstat(self._fd)
        return (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino)

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; ``remove`` deletes its file first, while it is still held."""
        if self._fd is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = None


def is_held(path: Path) -> bool:
    """Tell whether a live process holds the lock on a file; a missing file is not held."""
    if not path.exists():
        return False
    lock = OsLock(path)
    try:
        return not lock.try_acquire()
    finally:
        lock.release()
