"""The store on SQLite: one writer connection behind a lock, one for reading, WAL (section 10)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holon_core.errors import Misuse, StoreError, UsedAfterFork
from holon_core.store import filesystem, opening
from holon_core.store.migrations import migrate
from holon_core.store.protocol import StoreBusy, StoreClosed, Tables

T = TypeVar("T")

WAIT_S = 5.0


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
        self._pid = os.getpid()
        self._full = False
        self._closed = False
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        if path is None:
            self._writer = self._reader = opening.connect(":memory:")
            self._read_lock = self._write_lock
            migrate(self._writer)
        else:
            opening.prepare(path, journal, mounts)
            self._writer, self._reader = opening.connections(path, journal, wait_s)
        self._tables = Tables(self._writer)
        self._view = Tables(self._reader)

    def transact(
        self,
        work: Callable[[Tables], T],
        *,
        wait: bool = True,
        full: bool = False,
        single: bool = False,
    ) -> T:
        """Run ``work`` in one transaction; see ``Store.transact``."""
        if os.getpid() != self._pid:
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
            if self._writer.in_transaction:
                raise Misuse("a transaction inside another of the same thread; join them")
            run = self._alone if single else self._attempt
            while True:
                try:
                    return run(work, full)
                except opening.FAULTS as error:
                    started = self._wait_for_others(error, wait=wait, started=started)
        finally:
            lock.release()

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

    def _alone(self, work: Callable[[Tables], T], full: bool) -> T:
        if full is not self._full:
            self._durable(full)
        try:
            return work(self._tables)
        except BaseException:
            self._tables.forget()
            raise

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
        with self._read_lock:
            self._check_open()
            if self._reader.in_transaction:
                # Inside a read of this thread, or in memory inside its change: the same view.
                return work(self._view)
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
        if self._closed or os.getpid() != self._pid:
            return
        with self._write_lock, self._read_lock:
            self._closed = True
            self._reader.close()
            self._writer.close()

    def _locked(self, by: str) -> StoreError:
        return StoreError("store_locked", f"{by} held the store for {self._wait_s:g} s")

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise UsedAfterFork(
                "this runtime was opened before a fork; open one in the child process"
            )
