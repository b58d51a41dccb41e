"""Something inside the root: where it is, and of which type."""

from __future__ import annotations

import os
import stat as modes

from holon_builtin_workspace.handles import Folder, is_link
from holon_builtin_workspace.refusals import refuse


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
