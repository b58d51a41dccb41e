"""Containment: a path is followed name by name, from a held root, and never leaves it.

Links are read and followed here, not by the operating system, so that a link that stays inside
works and one that leads out is refused before anything there is looked at. Nothing outside the
root is ever opened. An absolute path is accepted where it leads through the root: in its canonical
spelling, or in another that reaches the same folder, found by looking at names and links alone.
"""

from __future__ import annotations

import os
import stat as modes
from collections import deque
from contextlib import contextmanager
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
from holon_builtin_workspace.paths import drive, folded, given, is_absolute, split
from holon_builtin_workspace.places import Place, require_file
from holon_builtin_workspace.refusals import Refused, naming, refuse, refused_by_system
from holon_builtin_workspace.reserved import (
    is_reserved,
    is_same_as_reserved,
    is_storage_root,
    proc_device,
    reserved,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holon_core.records.workspace import Workspace

T = TypeVar("T")
MAX_LINKS = 40
MAX_DEPTH = 128
_TRIES = 32


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
        same_drive = drive(path) in (b"", drive(self.path))
        if same_drive and list(map(folded, names[: len(own)])) == list(map(folded, own)):
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
        if not self._entered and is_reserved(name):
            raise reserved()
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
        if len(self._entered) == 1 and is_same_as_reserved(self._root.folder, folder):
            raise reserved()
        if is_storage_root(folder):
            raise reserved()
        device = folder.stat().st_dev
        if device != above.stat().st_dev and device == proc_device():
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
