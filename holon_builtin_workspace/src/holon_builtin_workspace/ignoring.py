"""Ignore files: which of them count, and what those below the searched folder leave out.

ripgrep would look for ignore files by name, in the folders above too, and follow links for them.
So it is told to look for none. Those of the searched folder are opened here, as any file of the
workspace, and given to it by descriptor; what those further down exclude is taken out of the
results here, as git reads them: the last rule that matches decides, deeper files before higher
ones, ``.rgignore`` before ``.ignore`` before ``.gitignore``, and nothing below an excluded folder
comes back.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import frozen

from holon_builtin_workspace.contents import read_at
from holon_builtin_workspace.globs import Glob
from holon_builtin_workspace.handles import Moved
from holon_builtin_workspace.refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_builtin_workspace.contain import Root
    from holon_builtin_workspace.handles import Folder
    from holon_builtin_workspace.places import Place

# From the weakest to the strongest.
NAMES = (b".gitignore", b".ignore", b".rgignore")
MAX_FILE_BYTES = 1024 * 1024


@frozen
class Rule:
    """One line of an ignore file."""

    glob: Glob
    keeps: bool
    folders_only: bool


class Below:
    """The folders below the searched one: what of them may be in a result.

    Each is followed by name, as any path of the tools, when a result lies in it; so what the
    containment refuses (``.holon``, storage roots, a folder exchanged for a link) is in none.
    """

    def __init__(self, root: Root, place: Place, *, ignoring: bool) -> None:
        self._root, self._base, self._ignoring = root, place.path, ignoring
        # Of each folder entered: the folders with rules of their own on the way to it.
        self._ruled: dict[bytes, list[tuple[int, list[Rule]]]] = {b"": []}
        self._out: dict[bytes, bool] = {b"": False}

    def leaves_out(self, path: bytes) -> bool:
        """Tell whether a file, by its path below the searched folder, is in no result."""
        return self._leaves_out_folder(os.path.dirname(path)) or (
            self._ignoring and self._decides(path, is_folder=False)
        )

    def _leaves_out_folder(self, folder: bytes) -> bool:
        known = self._out.get(folder)
        if known is None:
            known = self._leaves_out_folder(os.path.dirname(folder))
            known = known or (self._ignoring and self._decides(folder, is_folder=True))
            known = known or not self._enter(folder)
            self._out[folder] = known
        return known

    def _decides(self, path: bytes, *, is_folder: bool) -> bool:
        for start, rules in self._ruled[os.path.dirname(path)]:
            below = path[start:]
            for rule in rules:
                if (is_folder or not rule.folders_only) and rule.glob.matches(below):
                    return not rule.keeps
        return False

    def _enter(self, folder: bytes) -> bool:
        """Follow a folder and read its rules, the strongest first."""
        try:
            place = self._root.follow(os.path.join(self._base, folder))
        except (Refused, Moved, OSError):
            return False
        rules: list[Rule] = []
        for name in NAMES if self._ignoring else ():
            rules[:0] = reversed(rules_of(content_of(place.folder, name)))
        above = self._ruled[os.path.dirname(folder)]
        self._ruled[folder] = [(len(folder) + 1, rules), *above] if rules else above
        place.folder.close()
        return place.is_folder


def rules_of(data: bytes) -> list[Rule]:
    """Read an ignore file; lines that cannot be understood say nothing, as for git."""
    found = []
    for line in data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n"):
        text = line.removesuffix("\r")
        while text.endswith(" ") and not text.endswith("\\ "):
            text = text[:-1]
        if not text or text.startswith("#"):
            continue
        keeps = text.startswith("!")
        text = text[keeps:]
        folders_only = text.endswith("/")
        try:
            glob = Glob(text.removesuffix("/"))
        except Refused:
            continue
        found.append(Rule(glob, keeps, folders_only))
    return found


def opened_file(folder: Folder, name: bytes) -> int | None:
    """Open an ignore file, or nothing where there is none: a link or a pipe is none."""
    try:
        return folder.file(name)
    except (Moved, OSError):
        return None


def content_of(folder: Folder, name: bytes) -> bytes:
    """Return the content of an ignore file, nothing where there is none."""
    descriptor = opened_file(folder, name)
    if descriptor is None:
        return b""
    try:
        return read_at(descriptor, 0, MAX_FILE_BYTES)
    finally:
        os.close(descriptor)


@contextmanager
def of_the_folder(folder: Folder) -> Iterator[list[str]]:
    """Give the ignore files of the searched folder in the form in which ripgrep reaches them."""
    descriptors = [(name, opened_file(folder, name)) for name in NAMES]
    try:
        yield [
            held if os.path.exists(held) else os.fsdecode(b"./" + name)
            for name, descriptor in descriptors
            if descriptor is not None
            for held in [f"/proc/{os.getpid()}/fd/{descriptor}"]
        ]
    finally:
        for _, descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)
