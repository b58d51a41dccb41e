"""Containment: a path is followed name by name, from a held root, and never leaves it.

Links are read and followed here, not by the operating system, so that a link that stays inside
works and one that leads out is refused before anything there is looked at. Nothing outside the
root is ever opened. An absolute path is accepted where it leads through the root: in its canonical
spelling, or in another that reaches the same folder, found by looking at names and links alone.
"""

from __future__ import annotations

import os
import stat as modes
import sys
from collections import deque
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from holon_builtin_workspace.handles import (
    HOLDS,
    Folder,
    HeldFolder,
    Moved,
    NamedFolder,
    identity,
    is_link,
)
from holon_builtin_workspace.paths import given
from holon_builtin_workspace.refusals import Refused, naming, refuse, refused_by_system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holon_core.records.workspace import Workspace

T = TypeVar("T")
MAX_LINKS = 40
MAX_DEPTH = 128
_TRIES = 32
RESERVED = b".holon"
STORE_FILE, STORE_FOLDER = b"holon.db", b"live"
# File systems here usually take another case for the same name.
_FOLDS = sys.platform in ("darwin", "win32")


class Place:
    """Something inside the root: where it is, what it is, and the folder that holds it.

    ``path`` is canonical: relative to the root, free of links and dots, ``b"."`` for the root.
    """

    __slots__ = ("folder", "found", "name", "path")

    def __init__(
        self, path: bytes, found: os.stat_result, folder: Folder, name: bytes | None
    ) -> None:
        self.path = path
        self.found = found
        # A folder holds itself and has no name; anything else has one in its folder.
        self.folder = folder
        self.name = name

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, and ``folder`` that one."""
        return self.name is None


class Root:
    """A workspace's folder, held open while one call looks into it."""

    def __init__(self, workspace: Workspace, kind: type[HeldFolder | NamedFolder]) -> None:
        self.workspace = workspace
        self.path = os.fsencode(workspace.root_path)
        self._held: list[Folder] = []
        try:
            self.folder: Folder = self._keep(kind.at(self.path))
            same = identity(self.folder.stat()) == (workspace.device, workspace.inode)
        except OSError:
            same = False
        if not same:
            self.close()
            raise refuse("workspace_unavailable", workspace=workspace.id)

    def close(self) -> None:
        """Let go of every folder."""
        for folder in self._held:
            folder.close()

    def _keep(self, folder: Folder) -> Folder:
        self._held.append(folder)
        return folder

    def find(self, asked: str) -> Place:
        """Follow a path to what it stands for.

        Args:
            asked: A path as ``paths`` reads it: relative, or absolute and inside; empty is
                the root.

        Raises:
            Refused: ``path_invalid``, ``path_escape``, ``path_loop``, ``policy_denied``;
                ``path_not_found``, ``not_a_directory``, ``permission_denied``.
        """
        path = given(asked)
        return self._settled(asked, lambda: self.follow(path))

    def open(self, asked: str) -> tuple[Place, int]:
        """Open a regular file for reading; the caller closes the descriptor.

        Raises:
            Refused: As ``find``; also ``is_a_directory``, ``not_regular_file``.
        """
        path = given(asked)

        def attempt() -> tuple[Place, int]:
            place = self.follow(path)
            require_file(place, asked)
            assert place.name is not None
            return place, place.folder.file(place.name)

        return self._settled(asked, attempt)

    def _settled(self, asked: str, attempt: Callable[[], T]) -> T:
        for _ in range(_TRIES):
            try:
                return attempt()
            except Moved:
                continue
            except OSError as error:
                raise refused_by_system(error, asked) from None
            except Refused as refusal:
                raise naming(refusal, asked) from None
        raise refuse("changed_during_read", "the path changes faster than it can be followed")

    def follow(self, path: bytes) -> Place:
        """Follow a path once; raises ``Moved`` or ``OSError`` where it cannot be."""
        walk = _Walk(self, self._parts(path))
        try:
            return walk.end()
        except BaseException:
            walk.close()
            raise

    def _parts(self, path: bytes) -> list[bytes]:
        """Split a path; of an absolute one, what comes after the root."""
        parts = split(path)
        if not is_absolute(path):
            return parts
        own = [part for part in split(self.path) if part]
        names = [part for part in parts if part not in (b"", b".")]
        same_drive = os.path.normcase(_drive(path)) in (b"", os.path.normcase(_drive(self.path)))
        if same_drive and list(map(_folded, names[: len(own)])) == list(map(_folded, own)):
            return names[len(own) :] + ([b"."] if parts[-1] in (b"", b".") else [])
        if os.name == "nt":
            raise refuse("path_escape")
        return self._seek(names)

    def _seek(self, names: list[bytes]) -> list[bytes]:
        """Follow another spelling of the root from the top, without opening anything.

        Dots upwards are refused: whether ``/outside/../root`` works would tell of ``/outside``.
        """
        if b".." in names:
            raise refuse("path_escape")
        wanted = (self.workspace.device, self.workspace.inode)
        here, pending, links = b"/", deque(names), 0
        while pending:
            name = pending.popleft()
            if name in (b"", b"."):
                continue
            if name == b"..":
                here = os.path.dirname(here)
                continue
            place = os.path.join(here, name)
            if place == b"/proc":
                break
            try:
                found = os.lstat(place)
                target = os.readlink(place) if is_link(found) else None
            except OSError:
                break
            if target is None:
                if identity(found) == wanted:
                    return list(pending)
                here = place
                continue
            links += 1
            if links > MAX_LINKS:
                break
            pending.extendleft(reversed(split(target)))
            here = b"/" if is_absolute(target) else here
        raise refuse("path_escape")


class _Walk:
    """One path on its way: the folders entered so far, and the names still to go."""

    def __init__(self, root: Root, parts: list[bytes]) -> None:
        self._root = root
        self._pending = deque(parts)
        self._entered: list[tuple[bytes, Folder]] = []
        self._links = 0

    def close(self) -> None:
        """Let go of the folders entered."""
        for _, folder in self._entered:
            folder.close()

    @property
    def _here(self) -> Folder:
        return self._entered[-1][1] if self._entered else self._root.folder

    def _path(self, *more: bytes) -> bytes:
        return b"/".join([*(name for name, _ in self._entered), *more]) or b"."

    def end(self) -> Place:
        """Go to the end of the path."""
        while self._pending:
            name = self._pending.popleft()
            if name in (b"", b"."):
                continue
            if name == b"..":
                self._up()
                continue
            place = self._step(name)
            if place is not None:
                return place
        for _, folder in self._entered:
            self._root._keep(folder)
        return Place(self._path(), self._here.stat(), self._here, None)

    def _up(self) -> None:
        if not self._entered:
            raise refuse("path_escape")
        self._entered.pop()[1].close()

    def _step(self, name: bytes) -> Place | None:
        here = self._here
        if not self._entered and _is_reserved(name):
            raise _reserved()
        found = here.entry(name)
        if is_link(found):
            self._link(here.link(name))
            return None
        if modes.S_ISDIR(found.st_mode):
            self._enter(name, here.down(name))
            return None
        if self._pending:
            raise refuse("not_a_directory")
        for _, folder in self._entered:
            self._root._keep(folder)
        return Place(self._path(name), found, here, name)

    def _link(self, target: bytes) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise refuse("path_loop")
        parts = self._root._parts(target)
        if is_absolute(target):
            self.close()
            self._entered.clear()
        self._pending.extendleft(reversed(parts))

    def _enter(self, name: bytes, folder: Folder) -> None:
        above = self._here
        self._entered.append((name, folder))
        if len(self._entered) > MAX_DEPTH:
            text = f"more than {MAX_DEPTH} folders deep"
            raise refuse("path_invalid", text)
        if len(self._entered) == 1 and _same_as_reserved(self._root.folder, folder):
            raise _reserved()
        if is_storage_root(folder):
            raise _reserved()
        device = folder.stat().st_dev
        if device != above.stat().st_dev and device == _proc_device():
            raise refuse("path_escape")


@contextmanager
def opened(workspace: Workspace, *, hold: bool = HOLDS) -> Iterator[Root]:
    """Hold a workspace's folder.

    Args:
        workspace: As the runtime knows it; its folder must still be the one that was opened.
        hold: By descriptors; otherwise by path and comparison.

    Raises:
        Refused: ``workspace_unavailable``.
    """
    root = Root(workspace, HeldFolder if hold else NamedFolder)
    try:
        yield root
    finally:
        root.close()


def require_file(place: Place, asked: str) -> None:
    """Refuse what is not a regular file, by its type alone: nothing is opened for that."""
    if place.is_folder:
        raise refuse("is_a_directory", path=asked)
    if not modes.S_ISREG(place.found.st_mode):
        raise refuse("not_regular_file", path=asked, type=type_of(place.found))


def type_of(found: os.stat_result) -> str:
    """Name the type of an entry."""
    if is_link(found):
        return "symlink"
    tests = {
        "file": modes.S_ISREG,
        "dir": modes.S_ISDIR,
        "fifo": modes.S_ISFIFO,
        "socket": modes.S_ISSOCK,
        "device": _is_device,
    }
    return next((name for name, test in tests.items() if test(found.st_mode)), "other")


def _is_device(mode: int) -> bool:
    return modes.S_ISCHR(mode) or modes.S_ISBLK(mode)


def split(path: bytes) -> list[bytes]:
    """Split a path into its names; empty ones and dots are kept."""
    if os.name == "nt":
        path = os.path.splitdrive(path)[1].replace(b"\\", b"/")
    return path.split(b"/")


def is_absolute(path: bytes) -> bool:
    """Tell whether a path starts at the top."""
    if os.name == "nt":
        return path[:1] in (b"/", b"\\") or path[1:2] == b":"
    return path.startswith(b"/")


def is_storage_root(folder: Folder) -> bool:
    """Tell whether a folder is the storage root of some runtime."""
    try:
        if not modes.S_ISREG(folder.entry(STORE_FILE).st_mode):
            return False
        return modes.S_ISDIR(folder.entry(STORE_FOLDER).st_mode)
    except OSError:
        return False


def _drive(path: bytes) -> bytes:
    return os.path.splitdrive(path)[0]


def _folded(name: bytes) -> bytes:
    return name if not _FOLDS else os.fsencode(os.fsdecode(name).casefold())


def _is_reserved(name: bytes) -> bool:
    return _folded(name) == RESERVED


def _same_as_reserved(root: Folder, folder: Folder) -> bool:
    try:
        return identity(root.entry(RESERVED)) == identity(folder.stat())
    except OSError:
        return False


def _reserved() -> Refused:
    text = "storage roots and .holon are never readable through a tool"
    return refuse("policy_denied", text)


@lru_cache(maxsize=1)
def _proc_device() -> int | None:
    try:
        return os.stat("/proc").st_dev if os.path.lexists("/proc/self") else None
    except OSError:
        return None
