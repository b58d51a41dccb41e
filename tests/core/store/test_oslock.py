"""Locks that the operating system frees when their process dies."""

from __future__ import annotations

import os
import subprocess
import sys

from holon_core.store.oslock import OsLock, is_held

HOLDER = """
import sys, time
from pathlib import Path
from holon_core.store.oslock import OsLock
lock = OsLock(Path(sys.argv[1]))
print(lock.try_acquire(), flush=True)
time.sleep(60)
"""


def test_a_lock_has_one_holder(tmp_path):
    """Another handle does not get it, also in the same process."""
    one, two = OsLock(tmp_path / "lock"), OsLock(tmp_path / "lock")

    assert one.try_acquire()
    assert not two.try_acquire()
    assert is_held(tmp_path / "lock")
    one.release()
    assert two.try_acquire()
    two.release()
    assert not is_held(tmp_path / "lock")


def test_a_released_lock_is_not_taken_again(tmp_path):
    """Its file may belong to another by now."""
    lock = OsLock(tmp_path / "lock")
    lock.release(remove=True)
    lock.release(remove=True)

    assert not lock.try_acquire()
    assert not (tmp_path / "lock").exists()
    assert not is_held(tmp_path / "lock")


def test_a_killed_process_leaves_no_lock(tmp_path):
    """No cleaning up is needed to see who lives."""
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline().strip() == b"True"
        assert is_held(path)
        holder.kill()
        holder.wait()

    assert not is_held(path)
