"""One build at a time of a tool, across processes; what a dead one left is found and cleared."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from holon_core import Refused, failure
from holon_core.store.oslock import OsLock

_MARKER = "under-way"


@frozen(kw_only=True)
class Place:
    """Where one tool is built, while its lock is held.

    ``recovered`` says that a build before was interrupted and what it left was cleared.
    """

    target: Path
    home: Path
    recovered: bool


@contextmanager
def building(tools_root: Path, key: str, call_id: str) -> Iterator[Place]:
    """Hold the lock of a tool's builds; the system frees it where this process dies.

    Args:
        tools_root: The managed folder of toolchain homes and targets.
        key: Names the tool's sources, in a few characters: some systems bound a path's length.
        call_id: Of this build, to find what it would leave behind.

    Raises:
        Refused: ``conflict``: another build of the tool is under way.
    """
    folder, home = tools_root / "t" / key, tools_root / "h"
    for each in (folder, home):
        each.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = OsLock(folder / "lock")
    try:
        if not lock.try_acquire():
            raise Refused(failure("conflict", "another build or test of this tool is under way"))
        marker, target = folder / _MARKER, folder / "d"
        recovered = _recover(marker, target)
        marker.write_text(call_id, encoding="utf-8")
        target.mkdir(exist_ok=True, mode=0o700)
        try:
            yield Place(target=target, home=home, recovered=recovered)
        finally:
            marker.unlink(missing_ok=True)
    finally:
        lock.release()


def _recover(marker: Path, target: Path) -> bool:
    """Clear what an interrupted build left: its processes, then everything it wrote."""
    try:
        call_id = marker.read_text(encoding="utf-8")
    except OSError:
        return False
    if call_id:
        _end_marked(call_id)
    shutil.rmtree(target, ignore_errors=True)
    return True


def _end_marked(call_id: str) -> None:
    """End what still runs for a call whose process is dead; found by its environment."""
    if sys.platform != "linux":
        return
    mark = f"HOLON_CALL_ID={call_id}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue
