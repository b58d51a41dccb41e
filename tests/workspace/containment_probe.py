"""Runs generated paths over generated trees in a process that watches every open.

Started by ``test_properties``: an audit hook cannot be removed again, so it gets a process of its
own. Prints how many examples completed and how many were refused; a violation is an exception.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holon_builtin_workspace.contain import opened
from holon_builtin_workspace.places import require_file
from holon_builtin_workspace.refusals import Refused
from holon_core.records.workspace import Workspace

NAMES = ["a", "b", "c", "d.txt", ".holon", "é"]
BASE = Path(sys.argv[1])
ROOT, OUTSIDE = BASE / "proj", BASE / "proj-out"
watching = False
violations: list[str] = []
counted = {"completed": 0, "refused": 0}

names = st.sampled_from(NAMES)
pieces = st.one_of(names, st.sampled_from(["..", ".", "", "proj", "proj-out", "secret.txt"]))
joined = st.lists(pieces, max_size=6).map("/".join)
heads = st.sampled_from(
    ["", "", "/", f"{ROOT}/", f"{OUTSIDE}/", f"{OUTSIDE}/../proj/", "/proc/self/cwd/", "../"]
)
paths = st.builds("{}{}".format, heads, joined)
entries = st.tuples(
    st.lists(names, min_size=1, max_size=3), st.sampled_from(["file", "dir", "link"]), paths
)


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Note every open that is not of one name, without following, or of the root itself."""
    if not watching or event not in ("open", "os.listdir", "os.scandir"):
        return
    path = arguments[0]
    if isinstance(path, int) or os.fsencode(path) == os.fsencode(ROOT):
        return
    flags = arguments[2] if event == "open" else 0
    one_name = b"/" not in os.fsencode(path) and os.fsencode(path) != b".."
    if not one_name or not flags & os.O_NOFOLLOW:
        violations.append(f"{event} {arguments}")


class Watch:
    """The kernel's own word on what was opened or read outside (Linux)."""

    def __init__(self) -> None:
        self.descriptor = -1
        if sys.platform == "linux":
            self._libc = ctypes.CDLL(None, use_errno=True)
            self.descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    def add(self, path: Path) -> None:
        if self.descriptor >= 0:
            # IN_ACCESS | IN_OPEN
            self._libc.inotify_add_watch(self.descriptor, os.fsencode(path), 0x1 | 0x20)

    def events(self) -> bytes:
        try:
            return os.read(self.descriptor, 65536) if self.descriptor >= 0 else b""
        except BlockingIOError:
            return b""


def plant(tree: list[tuple[list[str], str, str]]) -> None:
    """Make a tree; what does not fit is left out."""
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    for where, kind, target in tree:
        path = ROOT.joinpath(*where)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file":
                path.write_text("inside")
            elif kind == "dir":
                path.mkdir()
            else:
                path.symlink_to(target)
        except (OSError, ValueError):
            continue


def visit(workspace: Workspace, path: str) -> None:
    """Look at one path as the tools do, and compare with what the system says it is."""
    global watching  # noqa: PLW0603
    watching = True
    try:
        with opened(workspace) as root:
            place = root.find(path)
            if place.is_folder:
                list(place.folder.names())
                content = ""
            else:
                require_file(place, path)
                place, descriptor = root.open(path)
                content = os.read(descriptor, 100).decode()
                os.close(descriptor)
            where = place.path
    except Refused:
        counted["refused"] += 1
        return
    finally:
        watching = False
    counted["completed"] += 1
    assert content in ("", "inside"), (path, content)
    real = os.path.realpath(ROOT / path)
    assert real == os.path.realpath(ROOT / os.fsdecode(where)), (path, where)
    assert real == str(ROOT) or real.startswith(f"{ROOT}/"), (path, real)
    assert real != str(ROOT / ".holon")
    assert not real.startswith(f"{ROOT}/.holon/")


@settings(
    max_examples=int(sys.argv[2]),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(tree=st.lists(entries, max_size=8), asked=st.lists(paths, min_size=1, max_size=6))
def explore(tree: list[tuple[list[str], str, str]], asked: list[str]) -> None:
    plant(tree)
    found = ROOT.stat()
    workspace = Workspace(id="w", root_path=str(ROOT), device=found.st_dev, inode=found.st_ino)
    watch.events()
    for path in [*asked, *("/".join(where) for where, _, _ in tree)]:
        visit(workspace, path)
    assert not violations, violations
    assert watch.events() == b"", "something outside was opened"


if __name__ == "__main__":
    OUTSIDE.mkdir(parents=True)
    (OUTSIDE / "secret.txt").write_text("OUTSIDE")
    (OUTSIDE / "a").mkdir()
    (OUTSIDE / "a" / "d.txt").write_text("OUTSIDE")
    watch = Watch()
    for place in (OUTSIDE, OUTSIDE / "a"):
        watch.add(place)
    # The watch itself is seen to work before anything is concluded from its silence.
    (OUTSIDE / "secret.txt").read_text()
    assert watch.events() or sys.platform != "linux"
    sys.addaudithook(audit)
    explore()
    print(counted["completed"], counted["refused"])
