"""The index file beside the store: other processes, sudden ends, damage, folders without rights."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core.catalogue.search_file import FILE

Open = Callable[..., holon.Runtime]
Make = Callable[..., Any]
# Opens the same root in a process of its own, asks, and says what it found.
ASKS = """
import sys
import holon_core as holon

with holon.Runtime.open(sys.argv[1], discover=False) as rt:
    session = rt.session(principal="other")
    for line in sys.stdin:
        page = session.discover(line.strip(), min_confidence=0)
        print(*[item.name for item in page.items], flush=True)
"""
# Searches, and dies as by kill -9 at the n-th of the steps of SQLite on the index.
DIES = """
import os, signal, sys
import holon_core as holon
from holon_core.catalogue import search_index

steps, limit = 0, int(sys.argv[2])

def step():
    global steps
    steps += 1
    if steps == limit:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0

connect = search_index.sqlite3.connect

def dying(*args, **more):
    connection = connect(*args, **more)
    connection.set_progress_handler(step, 200)
    return connection

rt = holon.Runtime.open(sys.argv[1], discover=False)
search_index.sqlite3 = type("Dying", (), {**vars(search_index.sqlite3), "connect": dying})
rt.session(principal="dying").discover("send mail")
print(steps)
"""


def started(code: str, *args: object) -> subprocess.Popen[str]:
    """Start a process on some Python code."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def names(runtime: holon.Runtime, query: str) -> list[str]:
    items = runtime.session(principal="ann").discover(query, min_confidence=0).items
    return [item.name for item in items]


def test_another_process_sees_each_change(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make
) -> None:
    """What one process adds, changes and removes, the other finds at its next search."""
    lane.definitions = [make("send-mail"), make("send-fax")]
    rt = open_runtime()
    other = started(ASKS, tmp_path / "root")
    assert other.stdin is not None
    assert other.stdout is not None

    def asked(query: str) -> list[str]:
        print(query, file=other.stdin, flush=True)
        return sorted(other.stdout.readline().split())  # type: ignore[union-attr]

    try:
        assert asked("send") == ["send-fax", "send-mail"] == sorted(names(rt, "send"))
        lane.definitions = [make("send-mail", "Now by pigeon."), make("send-letter")]
        rt.tools.refresh()
        assert asked("send") == ["send-letter", "send-mail"] == sorted(names(rt, "send"))
        assert asked("pigeon") == ["send-mail"]
    finally:
        other.stdin.close()
        assert other.wait(20) == 0
        for pipe in (other.stdout, other.stderr):
            pipe.close()  # type: ignore[union-attr]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
@pytest.mark.parametrize("limit", [1, 4, 15, 30, 60, 90])
def test_a_process_killed_while_it_writes_leaves_an_index_that_is_whole(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make, limit: int
) -> None:
    """Killed at any step: the file is sound, and the next search finds every tool."""
    lane.definitions = [make(f"send-{n}", f"Mail {n} to somebody.") for n in range(150)]
    open_runtime().close()
    dying = started(DIES, tmp_path / "root", limit)
    said, error = dying.communicate(timeout=60)
    assert dying.returncode == -signal.SIGKILL, (said, error)

    rt = open_runtime()
    found = rt.session(principal="ann").discover("send mail", limit=100, min_confidence=0)
    rt.close()

    assert len(found.items) == 100
    with sqlite3.connect(tmp_path / "root" / FILE) as index:
        assert index.execute("pragma integrity_check").fetchone()[0] == "ok"
    index.close()


@pytest.mark.parametrize("damage", ["not a database", "zeros inside", "cut off"])
def test_a_damaged_index_is_made_anew(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make, damage: str
) -> None:
    """It holds nothing that could not be made again, so a search repairs it."""
    lane.definitions = [make(f"send-{n}", f"Mail {n} to somebody.") for n in range(300)]
    rt = open_runtime()
    before = names(rt, "send mail")
    rt.close()
    path = tmp_path / "root" / FILE
    whole = path.read_bytes()
    path.write_bytes(
        {
            "not a database": b"nothing of the kind" * 500,
            "zeros inside": whole[:4096] + bytes(len(whole) - 8192) + whole[-4096:],
            "cut off": whole[: len(whole) // 2],
        }[damage]
    )

    rt = open_runtime()

    assert names(rt, "send mail") == before
    rt.close()
    with sqlite3.connect(path) as index:
        assert index.execute("pragma integrity_check").fetchone()[0] == "ok"
    index.close()


def test_where_the_index_cannot_be_written_it_is_kept_in_memory(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make
) -> None:
    """A search answers all the same: here a folder stands where the file should."""
    lane.definitions = [make("send-mail")]
    rt = open_runtime()
    (tmp_path / "root" / FILE).mkdir()

    assert names(rt, "send") == ["send-mail"]
    assert list((tmp_path / "root" / FILE).iterdir()) == []


def test_a_large_index_is_made_in_steps_that_outlive_a_kill(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever searches next goes on from the last step, and changes meanwhile are taken in."""
    monkeypatch.setattr("holon_core.catalogue.search_making.BATCH", 50)
    lane.definitions = [make(f"send-{n}", f"Mail {n} to somebody.") for n in range(220)]
    rt = open_runtime()
    search = rt._guard.catalogue.search
    at = search._store.read(lambda tables: tables.last_tool_change())
    assert [search._step(at) for _ in range(3)] == [False, False, False]
    rt.close()

    lane.definitions[7:8] = [make("send-pigeon")]
    rt = open_runtime()
    rt.tools.refresh()

    assert names(rt, "pigeon") == ["send-pigeon"]
    assert names(rt, "send-7") != ["send-7"]
    page = rt.session(principal="ann").discover("send mail", limit=100, min_confidence=0)
    assert page.total_hint == 220


def test_a_search_says_that_the_index_stays_locked(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another writer keeps its turn beyond the limit; once it lets go, all is found."""
    monkeypatch.setattr("holon_core.catalogue.search_index.BUSY_S", 0.05)
    lane.definitions = [make("send-mail")]
    rt = open_runtime()
    assert names(rt, "send") == ["send-mail"]
    lane.definitions = [make("send-mail"), make("send-fax")]
    rt.tools.refresh()
    other = sqlite3.connect(tmp_path / "root" / FILE, isolation_level=None)
    other.execute("begin immediate")

    with pytest.raises(holon.StoreError) as refused:
        names(rt, "send")

    assert refused.value.code == "store_locked"
    other.execute("rollback")
    other.close()
    assert sorted(names(rt, "send")) == ["send-fax", "send-mail"]


def test_a_search_that_changes_nothing_waits_for_no_writer(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when it opens the index either: a writer at work is no reason to make one in memory."""
    monkeypatch.setattr("holon_core.catalogue.search_index.BUSY_S", 0.05)
    lane.definitions = [make("send-mail")]
    with open_runtime() as rt:
        assert names(rt, "send") == ["send-mail"]
    other = sqlite3.connect(tmp_path / "root" / FILE, isolation_level=None)
    other.execute("begin immediate")
    rt = open_runtime()

    found = names(rt, "send")

    other.execute("rollback")
    other.close()
    assert found == ["send-mail"]
    assert rt._guard.catalogue.search._stored._db.execute("pragma database_list").fetchone()[2]


def test_an_index_that_is_locked_before_it_is_made_is_not_made_in_memory(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process would make its own, and keep it; the next search tries again instead."""
    monkeypatch.setattr("holon_core.catalogue.search_index.BUSY_S", 0.05)
    lane.definitions = [make("send-mail")]
    rt = open_runtime()
    other = sqlite3.connect(tmp_path / "root" / FILE, isolation_level=None)
    other.execute("begin exclusive")

    with pytest.raises(holon.StoreError) as refused:
        names(rt, "send")

    assert refused.value.code == "store_locked"
    other.execute("rollback")
    other.close()
    assert names(rt, "send") == ["send-mail"]


def test_others_search_while_a_large_index_is_made(
    lane: Any, open_runtime: Open, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """The lock is free between two steps, and the log says how far it is."""
    monkeypatch.setattr("holon_core.catalogue.search_making.BATCH", 10)
    monkeypatch.setattr("holon_core.catalogue.search_making.PROGRESS", 100)
    lane.definitions = [make(f"send-{n}") for n in range(230)]
    rt = open_runtime()
    search = rt._guard.catalogue.search
    at = search._store.read(lambda tables: tables.last_tool_change())

    with caplog.at_level(logging.INFO, "holon.core"):
        search._step(at)
        assert not search._lock.locked()
        assert len(names(rt, "send")) == 20

    said = [r.getMessage() for r in caplog.records if "search index" in r.getMessage()]
    assert said == [f"making the search index: {n} tools so far" for n in (100, 200)]


def test_damage_that_shows_only_at_a_search_is_repaired(
    tmp_path: Path, lane: Any, open_runtime: Open, make: Make
) -> None:
    """A page deep inside is overwritten while the index is open; the search makes it anew."""
    lane.definitions = [make(f"send-{n}", f"Mail {n} to somebody.") for n in range(300)]
    rt = open_runtime()
    before = names(rt, "send mail")
    index = rt._guard.catalogue.search._stored
    assert index is not None
    index._db.execute("pragma wal_checkpoint(truncate)")
    (page,) = index._db.execute("select rootpage from sqlite_master where name='stems'").fetchone()
    rt.close()
    with (tmp_path / "root" / FILE).open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)

    rt = open_runtime()

    assert names(rt, "send mail") == before
