"""The store on SQLite: one writer connection behind a lock, one for reading, WAL (section 10)."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holon_core.errors import StoreError, UsedAfterFork
from holon_core.store import filesystem
from holon_core.store.migrations import APPLICATION_ID, VERSION, migrate
from holon_core.store.protocol import StoreBusy, Tables

T = TypeVar("T")

WAIT_S = 5.0
# Beyond this size a full check at each open would cost more than the work; `holon doctor` does it.
CHECKED_AT_OPEN_BYTES = 32 * 1024 * 1024


def _is_busy(error: sqlite3.Error) -> bool:
    # Not by `sqlite_errorcode`, which is 3.11 and newer: a full disk must not be retried as busy.
    text = str(error)
    return "is locked" in text or "busy" in text


def _connect(target: str) -> sqlite3.Connection:
    # SQLite's own waiting is off (timeout 0): it polls without queueing and starves writers.
    return sqlite3.connect(
        target, isolation_level=None, timeout=0, check_same_thread=False, uri=True,
        cached_statements=256,
    )


def _uri(path: Path, query: str) -> str:
    return f"{path.absolute().as_uri()}?{query}"


class SqliteStore:
    """A store in one SQLite file, or in memory where no path is given.

    Args:
        path: The file; made, whole, where nothing is there. ``None`` keeps all in memory.
        journal: ``wal``, or ``rollback`` where the file system cannot carry a write-ahead log.

    Raises:
        StoreError: ``store_corrupt``, ``store_incompatible``, ``store_unsupported_fs``,
            ``store_locked`` or ``store_unavailable``; the file is left as it was.
    """

    def __init__(self, path: Path | None, *, journal: str = "wal") -> None:
        self.path = path
        self._pid = os.getpid()
        self._full = False
        self._closed = False
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        if path is None:
            self._writer = self._reader = _connect(":memory:")
            self._read_lock = self._write_lock
            migrate(self._writer)
        else:
            _prepare(path, journal)
            self._writer, self._reader = _open(path, journal)
        self._tables = Tables(self._writer)
        self._view = Tables(self._reader)

    def transact(self, work: Callable[[Tables], T], *, wait: bool = True, full: bool = False) -> T:
        """Run ``work`` in one transaction; see ``Store.transact``."""
        self._check_process()
        if not wait and full and self.path is not None:
            raise StoreBusy
        if not self._write_lock.acquire(timeout=WAIT_S if wait else 0):
            if wait:
                raise StoreError("store_locked", f"the store was busy for {WAIT_S:g} s")
            raise StoreBusy
        try:
            return self._transact(work, wait, full)
        finally:
            self._write_lock.release()

    def _transact(self, work: Callable[[Tables], T], wait: bool, full: bool) -> T:
        self._check_open()
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                return self._attempt(work, full)
            except sqlite3.OperationalError as error:
                if not _is_busy(error):
                    raise StoreError("store_unavailable", f"the store failed: {error}") from error
                if not wait:
                    raise StoreBusy from error
                if time.monotonic() > deadline:
                    raise StoreError(
                        "store_locked", f"another process held the store for {WAIT_S:g} s"
                    ) from error
                time.sleep(random.uniform(0.0001, 0.004))
            except sqlite3.DatabaseError as error:
                raise StoreError("store_corrupt", f"the store failed: {error}") from error

    def _attempt(self, work: Callable[[Tables], T], full: bool) -> T:
        execute = self._writer.execute
        if full is not self._full:
            execute("pragma synchronous=full" if full else "pragma synchronous=normal")
            self._full = full
        execute("begin immediate")
        try:
            result = work(self._tables)
            execute("commit")
            return result
        except BaseException:
            self._tables.forget()
            if self._writer.in_transaction:
                execute("rollback")
            raise

    def read(self, work: Callable[[Tables], T]) -> T:
        """Run ``work`` on a consistent view; see ``Store.read``."""
        self._check_process()
        with self._read_lock:
            self._check_open()
            nested = self._reader.in_transaction
            try:
                if not nested:
                    self._reader.execute("begin")
                try:
                    return work(self._view)
                finally:
                    self._view.forget()
                    if not nested:
                        self._reader.execute("rollback")
            except sqlite3.OperationalError as error:
                code = "store_locked" if _is_busy(error) else "store_unavailable"
                raise StoreError(code, f"the store failed: {error}") from error
            except sqlite3.DatabaseError as error:
                raise StoreError("store_corrupt", f"the store failed: {error}") from error

    def close(self) -> None:
        """Close both connections; a second call does nothing."""
        if self._closed or os.getpid() != self._pid:
            return
        with self._write_lock, self._read_lock:
            self._closed = True
            self._reader.close()
            self._writer.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("store_unavailable", "the store is closed")

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise UsedAfterFork(
                "this runtime was opened before a fork; open one in the child process"
            )


def _prepare(path: Path, journal: str) -> None:
    """Check what is there without touching it, or make a whole new store."""
    if journal == "wal" and filesystem.is_shared(path.parent):
        raise StoreError(
            "store_unsupported_fs",
            f"{path.parent} lies on {filesystem.file_system_type(path.parent)},"
            " where a write-ahead log is not safe",
        )
    if path.exists():
        _check_header(path)
    else:
        _create(path)


def _create(path: Path) -> None:
    # Made aside and linked in whole: a killed process leaves no half-made store behind, and of
    # several processes that start at once one wins and the others find a complete file.
    new = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    new.unlink(missing_ok=True)
    connection = _connect(_uri(new, "mode=rwc"))
    try:
        migrate(connection)
    finally:
        connection.close()
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # pragma: no cover - file systems without hard links
        if not path.exists():
            new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _check_header(path: Path) -> None:
    # `immutable` reads the file alone: no lock is taken and nothing is written beside it.
    connection = _connect(_uri(path, "mode=ro&immutable=1"))
    try:
        if path.stat().st_size == 0:
            raise StoreError("store_corrupt", f"{path} is empty (check: size)")
        application = connection.execute("pragma application_id").fetchone()[0]
        version = connection.execute("pragma user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise StoreError("store_corrupt", f"{path}: {error} (check: file header)") from error
    finally:
        connection.close()
    if application != APPLICATION_ID:
        raise StoreError("store_corrupt", f"{path} is not a store (check: application id)")
    if version > VERSION:
        raise StoreError(
            "store_incompatible",
            f"{path} has store version {version}, this library knows {VERSION}",
        )


def _open(path: Path, journal: str) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    writer = _connect(_uri(path, "mode=rw"))
    try:
        _retry(lambda: _set_up(writer, path, journal))
        reader = _connect(_uri(path, "mode=rw"))
    except sqlite3.DatabaseError as error:
        writer.close()
        code = "store_corrupt" if not isinstance(error, sqlite3.OperationalError) else (
            "store_locked" if _is_busy(error) else "store_unavailable"
        )
        raise StoreError(code, f"{path}: {error} (check: opening)") from error
    except StoreError:
        writer.close()
        raise
    return writer, reader


def _set_up(writer: sqlite3.Connection, path: Path, journal: str) -> None:
    wanted = "wal" if journal == "wal" else "delete"
    mode = writer.execute(f"pragma journal_mode={wanted}").fetchone()[0]
    if mode != wanted:
        raise StoreError(
            "store_unsupported_fs", f"{path}: the file system refused journal mode {wanted}"
        )
    writer.execute("pragma synchronous=normal")
    if path.stat().st_size <= CHECKED_AT_OPEN_BYTES:
        found = writer.execute("pragma quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreError("store_corrupt", f"{path}: {found} (check: quick_check)")
    migrate(writer)


def _retry(step: Callable[[], None]) -> None:
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.0001, 0.004))
