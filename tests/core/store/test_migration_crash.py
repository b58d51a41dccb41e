"""AB-STORE-006: a process killed in the middle of a migration."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from chains import opened, write
from holon_core.store import migrations
from holon_core.store.sqlite import SqliteStore
from next_version import NEXT

POINTS = 50
# Runs the migration and dies, as by kill -9, at the n-th of the interpreter's steps.
CHILD = """
import os, signal, sys
from pathlib import Path
from holon_core.store import migrations, opening
from next_version import install

install()
steps = 0

def die_at(limit):
    def step():
        global steps
        steps += 1
        if steps == limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0
    return step

connect = opening.connect

def dying(target):
    connection = connect(target)
    connection.set_progress_handler(die_at(int(sys.argv[2])), 25)
    return connection

opening.connect = dying
from holon_core.store.sqlite import SqliteStore
SqliteStore(Path(sys.argv[1])).close()
print(steps)
"""


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test know one version more."""
    monkeypatch.setattr(migrations, "MIGRATIONS", (migrations.V1, NEXT))
    monkeypatch.setattr(migrations, "VERSION", 2)


def child(path: Path, limit: int) -> subprocess.CompletedProcess[str]:
    """Open a store with the next version in a process that dies at a given step."""
    return subprocess.run(
        [sys.executable, "-c", CHILD, path, str(limit)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def state(path: Path) -> tuple[int, int]:
    """Return version and number of tables, after a check of the whole file."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchone()[0] == "ok"
        version = connection.execute("pragma user_version").fetchone()[0]
        tables = connection.execute("select count(*) from sqlite_master where name glob 'next*'")
        return version, tables.fetchone()[0]


@pytest.mark.slow
def test_ab_store_006_a_killed_migration_leaves_the_old_or_the_new_version(tmp_path, newer):
    """Killed at each of 50 points: whole either way, and the next open finishes the work."""
    seed = tmp_path / "seed.db"
    with pytest.MonkeyPatch.context() as old:
        old.setattr(migrations, "MIGRATIONS", (migrations.V1,))
        old.setattr(migrations, "VERSION", 1)
        with opened(seed) as store:
            write(store, "ws", 40)
    rehearsal = tmp_path / "rehearsal.db"
    rehearsal.write_bytes(seed.read_bytes())
    steps = int(child(rehearsal, 0).stdout)
    assert state(rehearsal) == (2, 13)

    seen = []
    for point in range(POINTS):
        path = tmp_path / f"{point}.db"
        path.write_bytes(seed.read_bytes())
        done = child(path, 1 + point * (steps - 1) // (POINTS - 1))
        assert done.returncode == -9, done.stderr
        seen.append(state(path))
        SqliteStore(path).close()
        assert state(path) == (2, 13)

    assert set(seen) <= {(1, 0), (2, 13)}
    assert (1, 0) in seen


@pytest.mark.slow
def test_ab_store_006_a_killed_first_opening_leaves_no_store_or_a_whole_one(tmp_path, newer):
    """A new store is made aside, so its name never shows a half of it."""
    steps = int(child(tmp_path / "rehearsal.db", 0).stdout)
    for point in range(10):
        folder = tmp_path / str(point)
        folder.mkdir()
        path = folder / "store.db"

        assert child(path, 1 + point * (steps - 1) // 9).returncode == -9

        assert not path.exists() or state(path) == (2, 13)
        SqliteStore(path).close()
        assert state(path) == (2, 13)


@pytest.mark.parametrize("broken", [(*NEXT[:3], "no sql at all"), ("rollback", "no sql at all")])
def test_a_migration_that_fails_leaves_the_version_before(tmp_path, monkeypatch, broken):
    """A step is one transaction, whole or not at all."""
    path = tmp_path / "store.db"
    with opened(path) as store:
        write(store, "ws", 3)
    monkeypatch.setattr(migrations, "MIGRATIONS", (migrations.V1, broken))
    monkeypatch.setattr(migrations, "VERSION", 2)

    with pytest.raises(Exception, match="near"):
        SqliteStore(path)

    assert state(path) == (1, 0)


def test_a_full_disk_in_a_migration_is_a_typed_failure(tmp_path):
    """SQLite has rolled back by itself then; doing it again would hide the reason."""
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        connection.execute("pragma max_page_count=4")

        with pytest.raises(sqlite3.OperationalError, match="full"):
            migrations.migrate(connection)

        assert connection.execute("pragma user_version").fetchone()[0] == 0
