"""The store on SQLite: one writer connection behind a lock, one for reading, WAL (section 10)."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holon_core.errors import Misuse, StoreError, UsedAfterFork
from holon_core.store import filesystem, opening
from holon_core.store.chains import Draft, OpenCall
from holon_core.store.migrations import migrate
from holon_core.store.protocol import StoreBusy, StoreClosed, Tables

T = TypeVar("T")

WAIT_S = 5.0
# Stores of this process: a forked child must not use its parent's connections. It is told, since
# asking for the process's id at each call costs more than a call can spare.
_OPEN: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def _tell_child() -> None:
    for store in list(_OPEN):
        store._forked = True


if hasattr(os, "register_at_fork"):  # pragma: no branch - other platforms do not fork
    os.register_at_fork(after_in_child=_tell_child)


class SqliteStore:
    """A store in one SQLite file, or in memory where no path is given.

    Args:
        path: The file; made, whole, where nothing is there. ``None`` keeps all in memory.
        journal: ``wal``, or ``rollback`` where the file system cannot carry a write-ahead log.
        wait_s: How long a change, a read or the opening waits for others, in seconds.
        mounts: The kernel's table of mounts, which tells file systems that carry no log.

    Raises:
        StoreError: ``store_corrupt``, ``store_incompatible``, ``store_unsupported_fs``,
            ``store_locked`` or ``store_unavailable``; the file is left as it was.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        journal: str = "wal",
        wait_s: float = WAIT_S,
        mounts: Path = filesystem.MOUNTS,
    ) -> None:
        self.path = path
        self._wait_s = wait_s
        self._forked = False
        _OPEN.add(self)
        self._full = False
        self._closed = False
        # The thread whose changes are all one now; 0 where each is its own.
        self._joined = 0
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        self._file: tuple[str, int, int] | None = None
        if path is None:
            self._writer = self._reader = opening.connect(":memory:")
            self._read_lock = self._write_lock
            migrate(self._writer)
        else:
            opening.prepare(path, journal, mounts)
            self._writer, self._reader = opening.connections(path, journal, wait_s)
            # Absolute: the working directory may change while the store is open.
            self._file = str(path.absolute()), *_identity(str(path))
        self._tables = Tables(self._writer)
        self._view = Tables(self._reader)

    def transact(
        self,
        work: Callable[[Tables], T],
        *,
        wait: bool = True,
        full: bool = False,
    ) -> T:
        """Run ``work`` in one transaction; see ``Store.transact``."""
        self._check_process()
        if full and not wait and self.path is not None:
            raise StoreBusy
        lock, started = self._write_lock, 0.0
        if not lock.acquire(blocking=False):
            if not wait:
                raise StoreBusy
            started = time.monotonic()
            if not lock.acquire(timeout=self._wait_s):
                raise self._locked("another thread")
        try:
            self._check_open()
            if self._joined:
                return self._part(work)
            self._check_file()
            if self._writer.in_transaction:
                raise Misuse("a transaction inside another of the same thread; join them")
            while True:
                try:
                    return self._attempt(work, full)
                except opening.FAULTS as error:
                    started = self._wait_for_others(error, wait=wait, started=started)
        finally:
            lock.release()

    def together(self, work: Callable[[], T]) -> T:
        """Run ``work`` with one transaction for all its changes; see ``Store.together``."""

        def joined(_: Tables) -> T:
            before, self._joined = self._joined, threading.get_ident()
            try:
                return work()
            finally:
                self._joined = before

        return self.transact(joined, full=True)

    def _part(self, work: Callable[[Tables], T]) -> T:
        """Make one change of several; where it fails, the others stand as they are."""
        execute = self._writer.execute
        execute("savepoint part")
        try:
            result = work(self._tables)
        except BaseException:
            self._tables.forget()
            # SQLite ends the whole transaction by itself on some faults.
            if self._writer.in_transaction:
                execute("rollback to part")
                execute("release part")
            raise
        execute("release part")
        return result

    def append(
        self,
        draft: Draft,
        *,
        revision: int | None = None,
        opens: str = "",
        closes: OpenCall | None = None,
        wait: bool = True,
        full: bool = False,
    ) -> int:
        """Append one record in a transaction of its own; see ``Store.append``."""
        lock, tables = self._write_lock, self._tables
        if full is self._full and not self._forked and lock.acquire(blocking=False):
            # Mostly nobody else writes. One statement is its own transaction; what has to wait
            # goes the longer way below.
            try:
                if not self._closed and not self._writer.in_transaction:
                    self._check_file()
                    return tables.append(
                        draft, revision=revision, opens=opens, closes=closes, anchor=full
                    )
            except opening.FAULTS as error:
                tables.forget()
                if not opening.is_busy(error):
                    raise opening.fault(error) from error
            except BaseException:
                tables.forget()
                raise
            finally:
                lock.release()
        return self.transact(
            lambda tables: tables.append(
                draft, revision=revision, opens=opens, closes=closes, anchor=full
            ),
            wait=wait,
            full=full,
        )

    def _wait_for_others(self, error: Exception, *, wait: bool, started: float) -> float:
        """Pause where the store was busy; return since when this has waited."""
        if not opening.is_busy(error):
            raise opening.fault(error) from error
        if not wait:
            raise StoreBusy from error
        started = started or time.monotonic()
        if time.monotonic() > started + self._wait_s:
            raise self._locked("another process") from error
        opening.pause()
        return started

    def _durable(self, full: bool) -> None:
        if full is not self._full:
            self._writer.execute(f"pragma synchronous={'full' if full else 'normal'}")
            self._full = full

    def _attempt(self, work: Callable[[Tables], T], full: bool) -> T:
        execute = self._writer.execute
        self._durable(full)
        try:
            execute("begin immediate")
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
        if self._joined and self._joined == threading.get_ident():
            return work(self._tables)
        with self._read_lock:
            self._check_open()
            if self._reader.in_transaction:
                # Inside a read of this thread, or in memory inside its change: the same view.
                return work(self._view)
            self._check_file()
            return self._read(work, time.monotonic() + self._wait_s)

    def _read(self, work: Callable[[Tables], T], deadline: float) -> T:
        while True:
            try:
                self._reader.execute("begin")
                return work(self._view)
            except opening.FAULTS as error:
                # Another process that closes or recovers the store keeps readers out for a moment.
                if not opening.is_busy(error) or time.monotonic() > deadline:
                    raise opening.fault(error) from error
            finally:
                self._end_view()
            opening.pause()

    def _end_view(self) -> None:
        self._view.forget()
        # SQLite ends a transaction by itself on some faults.
        if self._reader.in_transaction:
            self._reader.execute("rollback")

    def close(self) -> None:
        """Close both connections; a second call does nothing."""
        if self._closed or self._forked:
            return
        with self._write_lock, self._read_lock:
            self._closed = True
            with contextlib.suppress(StoreError):
                self._tables.drop_anchors()
            self._reader.close()
            self._writer.close()

    def _locked(self, by: str) -> StoreError:
        return StoreError("store_locked", f"{by} held the store for {self._wait_s:g} s")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed

    def _check_file(self) -> None:
        # SQLite goes on in a file that was moved, removed or replaced, where nobody finds what it
        # keeps. Looking costs about a microsecond.
        if self._file is None:
            return
        place, device, inode = self._file
        try:
            if _identity(place) == (device, inode):
                return
        except OSError:
            pass
        text = f"{place} was removed or replaced since it was opened; close this runtime"
        raise StoreError("store_unavailable", f"{text} and open another")

    def _check_process(self) -> None:
        if self._forked:
            raise UsedAfterFork(
                "this runtime was opened before a fork; open one in the child process"
            )


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - at each call; a Path would cost more than the look
    return found.st_dev, found.st_ino
