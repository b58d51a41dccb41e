"""Opening a store: what is refused, and that nothing is touched."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from chains import opened, position, write
from holon_core.errors import StoreError
from holon_core.store import migrations, opening
from holon_core.store.filesystem import file_system_type
from holon_core.store.sqlite import SqliteStore


def whole(path: Path) -> str:
    """Hash a file."""
    return sha256(path.read_bytes()).hexdigest()


def refusal(path: Path, **options: Any) -> StoreError:
    """Open a store that must be refused, without a change to any file beside it."""
    before = {p: whole(p) for p in path.parent.iterdir() if p.is_file() and p.suffix != ".db-shm"}
    with pytest.raises(StoreError) as caught:
        SqliteStore(path, **options)
    after = {p: whole(p) for p in path.parent.iterdir() if p.is_file()}
    assert {p: h for p, h in after.items() if p in before} == before
    return caught.value


def make(path: Path, count: int = 50) -> None:
    """Make a store with some records."""
    with opened(path) as store:
        write(store, "ws", count)


def test_a_new_store_is_made_whole_and_for_its_owner_alone(tmp_path):
    """No file that is being made stays beside it."""
    path = tmp_path / "store.db"

    with opened(path) as store:
        assert store.read(lambda t: t.heads()) == []

    assert [p.name for p in tmp_path.iterdir()] == ["store.db"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_kill_while_the_log_is_moved_into_the_file_loses_nothing(tmp_path):
    """The first page is of after, the others of before: the file is whole with its log."""
    path, killed = tmp_path / "store.db", tmp_path / "killed.db"
    make(path, 5)
    with opened(path) as store:
        write(store, "ws", 400)
        heads = store.read(lambda t: t.heads())
        before = path.read_bytes()
        log = path.with_name("store.db-wal").read_bytes()
    after = path.read_bytes()
    assert len(after) > len(before)
    killed.write_bytes(after[:4096] + before[4096:])
    killed.with_name("killed.db-wal").write_bytes(log)

    with opened(killed) as store:
        assert store.read(lambda t: t.heads()) == heads


def test_ab_store_003_bytes_changed_in_the_middle_are_refused(tmp_path):
    """AB-STORE-003, first run: the file and the check are named, nothing is repaired."""
    path = tmp_path / "store.db"
    make(path)
    data = bytearray(path.read_bytes())
    # The second page begins a table; its header makes no sense any more.
    data[4096 * 2 : 4096 * 3] = b"\xa5" * 4096
    path.write_bytes(data)

    error = refusal(path)

    assert error.code == "store_corrupt"
    assert str(path) in error.message
    assert "check: quick_check" in error.message


@pytest.mark.parametrize(
    ("content", "check"),
    [
        (b"", "size"),
        (b"just some text\n" * 100, "file header"),
        (b"SQLite format 3\0" + b"\xff" * 84, "file header"),
    ],
    ids=["empty", "text", "header"],
)
def test_ab_store_003_what_is_no_store_is_refused(tmp_path, content, check):
    """AB-STORE-003, second and third run: a new store is made only where no file was."""
    path = tmp_path / "store.db"
    path.write_bytes(content)

    error = refusal(path)

    assert error.code == "store_corrupt"
    assert str(path) in error.message
    assert f"check: {check}" in error.message


def test_another_programs_database_is_refused(tmp_path):
    """A sound SQLite file is no store yet."""
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t(a)")

    error = refusal(path)

    assert error.code == "store_corrupt"
    assert "application id" in error.message


def test_a_folder_in_the_stores_place_is_refused(tmp_path):
    """It is named for what it is."""
    (tmp_path / "store.db").mkdir()

    assert refusal(tmp_path / "store.db").code == "store_corrupt"


def test_a_missing_folder_is_a_typed_failure(tmp_path):
    """The store makes its file, not the folders above."""
    with pytest.raises(StoreError) as caught:
        SqliteStore(tmp_path / "missing" / "store.db")

    assert caught.value.code == "store_unavailable"


def test_a_store_that_vanishes_behind_a_link_is_a_typed_failure(tmp_path):
    """The place is taken, but nothing can be opened there."""
    path = tmp_path / "store.db"
    path.symlink_to(tmp_path / "nowhere" / "else.db")

    assert refusal(path).code == "store_unavailable"


MOUNTS = "/dev/sda1 / ext4 rw 0 0\nserver:/data {folder} {kind} rw 0 0\n"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "virtiofs", "cifs"])
def test_ab_store_004_a_shared_file_system_is_refused(tmp_path, kind):
    """AB-STORE-004: the reason is named, and nothing was made there."""
    folder = tmp_path / "on the net"
    folder.mkdir()
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS.format(folder=str(folder).replace(" ", "\\040"), kind=kind))

    error = refusal(folder / "store.db", mounts=mounts)

    assert error.code == "store_unsupported_fs"
    assert kind in error.message
    assert list(folder.iterdir()) == []


def test_ab_store_004_a_rollback_journal_may_be_chosen_there(tmp_path):
    """AB-STORE-004: a documented setting, never a silent default."""
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS.format(folder=tmp_path, kind="nfs"))
    path = tmp_path / "store.db"

    with opened(path, journal="rollback", mounts=mounts) as store:
        write(store, "ws", 3)
        assert position(store, "ws") == 3
        assert not path.with_name("store.db-wal").exists()


def test_the_file_system_type_is_unknown_where_no_table_of_mounts_is(tmp_path):
    """Other platforms have none; that is no reason to refuse."""
    assert file_system_type(tmp_path, tmp_path / "missing") is None
    (tmp_path / "empty").write_text("")
    assert file_system_type(tmp_path, tmp_path / "empty") is None


def test_a_file_system_that_refuses_the_journal_mode_is_refused(tmp_path):
    """A store that is open with a write-ahead log elsewhere can't change to another journal."""
    path = tmp_path / "store.db"
    with opened(path) as store:
        write(store, "ws", 1)
        with pytest.raises(StoreError) as caught:
            SqliteStore(path, journal="rollback", wait_s=0.05)

    assert caught.value.code == "store_locked"


def test_a_journal_mode_that_is_not_taken_is_refused():
    """A database in memory takes no log: it stands for a file system that takes none."""
    with closing(opening.connect(":memory:")) as connection, pytest.raises(StoreError) as caught:
        opening._set_up(connection, Path("/dev/null"), "wal")

    assert caught.value.code == "store_unsupported_fs"


def set_version(path: Path, version: int) -> None:
    """Give a store another version number."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma user_version={version}")


def test_ab_store_005_a_newer_store_is_refused_without_a_write(tmp_path):
    """AB-STORE-005: both versions are named."""
    path = tmp_path / "store.db"
    make(path, 3)
    set_version(path, migrations.VERSION + 1)

    error = refusal(path)

    assert error.code == "store_incompatible"
    assert f"version {migrations.VERSION + 1}" in error.message
    assert f"knows {migrations.VERSION}" in error.message


def test_a_newer_version_that_is_only_in_the_log_is_refused(tmp_path):
    """The file's header lags behind the write-ahead log of a newer process that still runs."""
    path = tmp_path / "store.db"
    make(path, 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute(f"pragma user_version={migrations.VERSION + 1}")

        assert refusal(path).code == "store_incompatible"


def test_a_store_larger_than_the_limit_is_opened_without_the_full_check(tmp_path, monkeypatch):
    """Opening stays quick; the full check is the doctor's."""
    path = tmp_path / "store.db"
    make(path)
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 4] = b"\xa5" * 4096
    path.write_bytes(data)
    monkeypatch.setattr(opening, "CHECKED_AT_OPEN_BYTES", 0)

    with opened(path) as store, pytest.raises(StoreError) as caught:
        store.transact(lambda t: [t._sql(f"select * from {name}").fetchall() for name in TABLES])

    assert caught.value.code == "store_corrupt"
    with opened(path) as store, pytest.raises(StoreError) as caught:
        store.read(lambda t: [t._sql(f"select * from {name}").fetchall() for name in TABLES])
    assert caught.value.code == "store_corrupt"


TABLES = ("live", "evidence", "approvals", "held", "documents", "revisions", "leases", "blobs")


def test_opening_waits_for_another_process_and_then_says_so(tmp_path):
    """A store that is busy is not a broken one."""
    path = tmp_path / "store.db"
    make(path, 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")

        with pytest.raises(StoreError) as caught:
            SqliteStore(path, wait_s=0.1)
        assert caught.value.code == "store_locked"

        other.execute("rollback")
    with opened(path, wait_s=0.1) as store:
        assert position(store, "ws") == 3


COLD = """
import sys, time
from pathlib import Path
from typing import Any
from chains import append
from holon_core.store.sqlite import SqliteStore
while time.time() < float(sys.argv[2]):
    time.sleep(0.001)
store = SqliteStore(Path(sys.argv[1]))
for number in range(20):
    store.transact(lambda t: append(t, "ws", f"{sys.argv[3]}-{number}"))
store.close()
"""


def test_eight_processes_that_start_cold_share_one_new_store(tmp_path):
    """One makes the file, all find it whole, none fails."""
    path, start = tmp_path / "store.db", time.time() + 1.5
    running = [
        subprocess.Popen(
            [sys.executable, "-c", COLD, path, str(start), str(n)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=subprocess.PIPE,
        )
        for n in range(8)
    ]
    errors = [process.communicate(timeout=60)[1] for process in running]

    assert errors == [b""] * 8
    assert [process.returncode for process in running] == [0] * 8
    with opened(path) as store:
        assert position(store, "ws") == 160
    assert [p.name for p in tmp_path.iterdir()] == ["store.db"]
