"""Locks that the operating system frees when their process dies."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest

from holon_core.store.oslock import OsLock, _let_go_in_child, is_held

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


def test_a_lock_knows_whether_its_file_was_swept_away(tmp_path):
    """Another file of the same name is another lock."""
    path = tmp_path / "lock"
    lock = OsLock(path)
    assert lock.is_current()

    path.unlink()
    assert not lock.is_current()
    path.touch()
    assert not lock.is_current()
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_by_fork_does_not_keep_its_parents_lock(tmp_path):
    """A parent that died must not look alive because its child lives."""
    lock = OsLock(tmp_path / "lock")
    assert lock.try_acquire()
    context = multiprocessing.get_context("fork")
    running, end = context.Event(), context.Event()

    def live() -> None:
        running.set()
        end.wait(30)

    child = context.Process(target=live)
    child.start()
    try:
        assert running.wait(30)
        assert is_held(tmp_path / "lock")
        lock.forget()
        lock.forget()

        assert not is_held(tmp_path / "lock")
        assert child.is_alive()
    finally:
        end.set()
        child.join(30)


def test_letting_go_of_all_locks_frees_them(tmp_path):
    """What a child does first after a fork."""
    lock = OsLock(tmp_path / "lock")
    assert lock.try_acquire()

    _let_go_in_child()

    assert not is_held(tmp_path / "lock")
