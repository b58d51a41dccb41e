"""Folders that are held open: every look goes from a folder to a name in it, never by a path.

Where the platform opens relative to descriptors (Linux, macOS), what a name stands for may change
at any moment and nothing is followed: ``HeldFolder``. Elsewhere (Windows) ``NamedFolder`` opens by
path and compares the identity of every folder above it before and after. Between two comparisons
somebody with write access to the workspace can still exchange a folder twice; nothing on that
platform that Python offers closes this.
"""

from __future__ import annotations

import errno
import os
import stat as modes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

# Absent flags are 0: they then ask for nothing.
_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
# Without O_NONBLOCK a pipe that took a file's place would hold the thread.
_FILE = (
    os.O_RDONLY
    | _NOFOLLOW
    | _CLOEXEC
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOINHERIT", 0)
)
# O_PATH needs the right to pass through a folder only, not the one to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY | _NOFOLLOW | _CLOEXEC
_LIST = os.O_RDONLY | _DIRECTORY | _NOFOLLOW | _CLOEXEC

HOLDS = {os.open, os.stat, os.readlink} <= os.supports_dir_fd and os.scandir in os.supports_fd
# Windows: a junction is a link too, though its mode does not say so.
_LINK_TAGS = frozenset({0xA000_000C, 0xA000_0003})


# What an open says where a name stands for something else than a moment ago.
_CHANGED = frozenset(
    {
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.EMLINK,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENXIO,
    }
)


class Moved(Exception):
    """What a name stands for changed between two looks."""


class Folder(Protocol):
    """One folder: what is in it, by name."""

    def stat(self) -> os.stat_result:
        """Describe the folder itself."""
        ...

    def entry(self, name: bytes) -> os.stat_result:
        """Describe what a name stands for; a link is described itself."""
        ...

    def link(self, name: bytes) -> bytes:
        """Return the text of a link."""
        ...

    def down(self, name: bytes) -> Folder:
        """Hold a folder in this one; raises ``Moved`` where it is none any more."""
        ...

    def file(self, name: bytes) -> int:
        """Open a regular file for reading; raises ``Moved`` where it is none any more."""
        ...

    def names(self) -> Iterator[bytes]:
        """Go through the names in it, in no order."""
        ...

    def close(self) -> None:
        """Let go of it; a second call does nothing."""
        ...


def identity(found: os.stat_result) -> tuple[int, int]:
    """Return what tells two files apart: device and inode."""
    return found.st_dev, found.st_ino


def is_link(found: os.stat_result) -> bool:
    """Tell whether something is a link of any sort."""
    return modes.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) in _LINK_TAGS


class HeldFolder:
    """A folder held by a descriptor."""

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def at(cls, path: bytes) -> HeldFolder:
        """Hold the folder at an absolute path; a link in the last place is not followed."""
        return cls(os.open(path, _PASS))

    def stat(self) -> os.stat_result:
        """Describe the folder itself."""
        return os.fstat(self.descriptor)

    def entry(self, name: bytes) -> os.stat_result:
        """Describe what a name stands for."""
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def link(self, name: bytes) -> bytes:
        """Return the text of a link."""
        with _noticed():
            return os.readlink(name, dir_fd=self.descriptor)

    def down(self, name: bytes) -> HeldFolder:
        """Hold a folder in this one."""
        with _noticed():
            return HeldFolder(os.open(name, _PASS, dir_fd=self.descriptor))

    def file(self, name: bytes) -> int:
        """Open a regular file for reading."""
        with _noticed():
            return _regular(os.open(name, _FILE, dir_fd=self.descriptor))

    def names(self) -> Iterator[bytes]:
        """Go through the names in it."""
        listed = os.open(b".", _LIST, dir_fd=self.descriptor)
        try:
            with os.scandir(listed) as entries:
                for entry in entries:
                    yield os.fsencode(entry.name)
        finally:
            os.close(listed)

    def close(self) -> None:
        """Let go of it."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class NamedFolder:
    """A folder known by its path, compared with what it was whenever it is used."""

    __slots__ = ("_above", "_found", "path")

    def __init__(self, path: bytes, above: NamedFolder | None) -> None:
        self.path = path
        self._above = above
        self._found = os.lstat(path)
        if not modes.S_ISDIR(self._found.st_mode) or is_link(self._found):
            raise NotADirectoryError(20, os.strerror(20), path)

    @classmethod
    def at(cls, path: bytes) -> NamedFolder:
        """Take the folder at an absolute path; a link in the last place is not followed."""
        return cls(path, None)

    def stat(self) -> os.stat_result:
        """Describe the folder itself."""
        return self._found

    def check(self) -> None:
        """Compare this folder and those above with what they were."""
        found = os.lstat(self.path)
        if identity(found) != identity(self._found) or is_link(found):
            raise Moved
        if self._above is not None:
            self._above.check()

    def entry(self, name: bytes) -> os.stat_result:
        """Describe what a name stands for."""
        found = os.lstat(os.path.join(self.path, name))
        self.check()
        return found

    def link(self, name: bytes) -> bytes:
        """Return the text of a link."""
        with _noticed():
            target = os.readlink(os.path.join(self.path, name))
        self.check()
        return target.removeprefix(b"\\\\?\\")

    def down(self, name: bytes) -> NamedFolder:
        """Take a folder in this one."""
        with _noticed():
            below = NamedFolder(os.path.join(self.path, name), self)
        self.check()
        return below

    def file(self, name: bytes) -> int:
        """Open a regular file for reading."""
        before = self.entry(name)
        if is_link(before) or not modes.S_ISREG(before.st_mode):
            raise Moved
        with _noticed():
            descriptor = _regular(os.open(os.path.join(self.path, name), _FILE))
        try:
            self.check()
            if identity(os.fstat(descriptor)) != identity(before):
                raise Moved
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def names(self) -> Iterator[bytes]:
        """Go through the names in it."""
        self.check()
        with os.scandir(self.path) as entries:
            for entry in entries:
                yield entry.name
        self.check()

    def close(self) -> None:
        """Nothing is held."""


@contextmanager
def _noticed() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _CHANGED:
            raise Moved from None
        raise


def _regular(descriptor: int) -> int:
    if modes.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise Moved
