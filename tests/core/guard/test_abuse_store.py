"""The abuse cases of the store, as callers of the door meet them."""

from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import approve, kinds, open_calls

READ = "host.app/read"


def test_ab_store_001_calls_from_many_threads_never_meet_a_locked_database(open_runtime, write):
    """Approvals and evidence are read and written in one go from the start."""
    rt, other = open_runtime(write), open_runtime(write)

    def hold_and_release(number: int) -> str:
        door = (rt, other)[number % 2]
        session = door.session(principal=f"p{number}")
        held = session.call("host.app/write", {"n": number}).held
        approve((other, rt)[number % 2], held)
        return session.release(held).status.value

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(hold_and_release, range(48))) == {"completed"}
    assert rt.evidence.verify(None).consistent


def test_ab_store_002_a_lock_held_too_long_blocks_the_call(open_runtime, read, ran, tmp_path):
    """The tool is not started, nothing changes, and the same call works afterwards."""
    rt = open_runtime(read)
    rt._guard.store._wait_s = 0.3  # type: ignore[attr-defined]
    session = rt.session(principal="ann")
    other = sqlite3.connect(tmp_path / "root" / "holon.db", isolation_level=None)
    other.execute("begin immediate")

    blocked = session.call(READ)

    assert (blocked.status, blocked.failure.code) == ("blocked", "store_locked")
    assert ran == []
    assert kinds(rt) == []
    other.execute("rollback")
    other.close()
    assert session.call(READ).status == "completed"


def test_ab_store_003_a_store_that_is_none_opens_no_runtime(tmp_path):
    """The failure is typed, names the file, and the file stays as it is."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "holon.db").write_text("not a database, and long enough to look like one" * 40)
    before = (root / "holon.db").read_bytes()

    with pytest.raises(holon.StoreError, match=r"holon\.db") as caught:
        holon.Runtime.open(root, discover=False)

    assert caught.value.code == "store_corrupt"
    assert (root / "holon.db").read_bytes() == before


def test_ab_store_003_a_store_damaged_while_open_blocks_calls(open_runtime, read, ran, tmp_path):
    """A fault that appears later is an answer to the caller, never a success."""
    rt = open_runtime(read)
    session = rt.session(principal="ann", run="r1")
    assert session.call(READ).status == "completed"
    other = sqlite3.connect(tmp_path / "root" / "holon.db")
    other.execute("drop table run_effects")
    other.commit()
    other.close()

    result = session.call(READ)

    assert (result.status, result.failure.code) == ("blocked", "evidence_unavailable")
    assert len(ran) == 1


def test_ab_store_004_a_rollback_journal_is_a_setting(tmp_path, read):
    """Where a write-ahead log is not safe the root can say so, and calls work."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "holon.toml").write_text('[store]\njournal = "rollback"\n')

    with holon.Runtime.open(root, discover=False, tools=[read]) as rt:
        assert rt.session(principal="ann").call(READ).status == "completed"
        assert not (root / "holon.db-wal").exists()


def test_ab_store_005_a_newer_store_opens_no_runtime(tmp_path, read):
    """Both versions are named, and nothing is written."""
    root = tmp_path / "root"
    holon.Runtime.open(root, discover=False).close()
    connection = sqlite3.connect(root / "holon.db")
    version = connection.execute("pragma user_version").fetchone()[0]
    connection.execute(f"pragma user_version={version + 1}")
    connection.close()

    with pytest.raises(holon.StoreError, match=rf"{version + 1}.*{version}") as caught:
        holon.Runtime.open(root, discover=False, tools=[read])

    assert caught.value.code == "store_incompatible"
    assert list((root / "live").iterdir()) == []


def test_ab_store_007_a_forked_child_is_refused_and_the_parent_goes_on(open_runtime, read, ran):
    """The child's calls raise and write nothing; closing there closes nothing of the parent's."""
    rt = open_runtime(read)
    session = rt.session(principal="ann")
    session.call(READ)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the child's coverage is not collected
        os.close(readable)
        try:
            session.call(READ)
            text = b"ran"
        except holon.UsedAfterFork:
            text = b"refused"
        text += b" " + repr(rt.close()).encode()
        os.write(writable, text)
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)

    assert said == b"refused ()"
    assert session.call(READ).status == "completed"
    assert kinds(rt) == ["accepted", "completed"] * 2
    assert rt.evidence.verify(None).consistent


def test_ab_store_008_text_with_nul_passes_and_a_lone_surrogate_does_not(open_runtime, write, ran):
    """NUL is kept byte for byte from argument to record; half a character stops at the door."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    held = session.call("host.app/write", {"text": "a\x00b"}).held
    approve(rt, held)
    done = session.release(held)

    refused = session.call("host.app/write", {"text": "\ud800"})
    as_text = session.call("host.app/write", '{"text":"\\ud800"}')

    assert ran == [{"text": "a\x00b"}]
    assert rt.evidence.read(done.call_id)[-2].payload == {"text": "a\x00b"}
    for result in (refused, as_text):
        assert (result.status, result.failure.code) == ("failed", "arguments_invalid")
        assert result.failure.details["path"] == "/text"


def test_calls_beside_a_close_are_answered_or_refused(open_runtime, read):
    """A runtime that is closed while threads call leaves no call open."""
    rt = open_runtime(read)
    session = rt.session(principal="ann")
    answers: list[Any] = []

    def calling() -> None:
        try:
            while True:
                answers.append(session.call(READ).status.value)
        except holon.RuntimeNotOpen:
            pass

    threads = [threading.Thread(target=calling) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(answers) < 20:
        pass
    rt.close()
    for thread in threads:
        thread.join()

    assert set(answers) <= {"completed", "blocked", "failed"}
    with open_runtime(read) as again:
        assert open_calls(again) == []
        assert again.evidence.verify(None).consistent


def test_the_storage_root_that_cannot_be_made_is_a_store_error(tmp_path):
    """A file in the way is named."""
    (tmp_path / "root").write_text("")

    with pytest.raises(holon.StoreError, match="cannot be made") as caught:
        holon.Runtime.open(tmp_path / "root", discover=False)

    assert caught.value.code == "store_unavailable"
    assert Path(tmp_path / "root").read_text() == ""
