"""Opening a store's file: checks that touch nothing, a new file made whole, set-up with retry."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from holon_core.errors import StoreError
from holon_core.store import filesystem
from holon_core.store.migrations import APPLICATION_ID, migrate, refuse_newer
from holon_core.store.ownership import tighten

# Beyond this size a full check at each open would cost more than the work; `holon doctor` does it.
CHECKED_AT_OPEN_BYTES = 32 * 1024 * 1024
# A process that moves its log into the file makes a sound one look damaged to a reader without
# locks, for a moment; what is damaged stays so.
HEADER_TRIES = 25


# The driver cannot put a message into words that quotes damaged bytes, and raises this instead.
FAULTS = (sqlite3.Error, UnicodeDecodeError)


def is_busy(error: Exception) -> bool:
    """Tell whether waiting may help."""
    # Not by `sqlite_errorcode`, which is 3.11 and newer: a full disk must not be retried as busy.
    text = str(error)
    return isinstance(error, sqlite3.OperationalError) and ("is locked" in text or "busy" in text)


def fault(error: Exception, subject: object = "the store", check: str = "") -> StoreError:
    """Return what a fault of the driver means to callers; busy ones only after waiting."""
    if is_busy(error):
        code = "store_locked"
    else:
        # The driver raises the bare class for a damaged file, subclasses for all else.
        code = "store_corrupt" if is_damage(error) else "store_unavailable"
    # What follows is the text that could not be decoded.
    said = str(error).partition(" with text ")[0]
    return StoreError(code, f"{subject} failed: {said}{check}")


def is_damage(error: Exception) -> bool:
    """Tell whether a fault of the driver means a damaged file."""
    if type(error) in (sqlite3.DatabaseError, UnicodeDecodeError):
        return True
    return str(error).startswith("Could not decode")


def pause() -> None:
    """Wait a moment between two tries, jittered so that waiting writers take turns."""
    import random

    time.sleep(random.uniform(0.0001, 0.004))  # noqa: S311 - no secret is made of it


def connect(target: str) -> sqlite3.Connection:
    """Connect in autocommit mode, with SQLite's own waiting off."""
    # Its waiting polls without queueing and starves writers.
    return sqlite3.connect(
        target,
        isolation_level=None,
        timeout=0,
        check_same_thread=False,
        uri=True,
        cached_statements=256,
    )


def prepare(path: Path, journal: str, mounts: Path) -> None:
    """Check what is there without touching it, or make a whole new store where nothing is.

    Args:
        path: The store's file.
        journal: ``wal`` or ``rollback``.
        mounts: The kernel's table of mounts.

    Raises:
        StoreError: Any of its codes but ``store_locked``; the file is left as it was.
    """
    kind = filesystem.file_system_type(path.parent, mounts)
    if journal == "wal" and kind in filesystem.SHARED_TYPES:
        raise StoreError(
            "store_unsupported_fs",
            f"{path.parent} lies on {kind}, where a write-ahead log is not safe",
        )
    try:
        if path.exists():
            _check_header(path)
            for part in ("", "-wal", "-shm"):
                tighten(path.with_name(path.name + part))
        else:
            _create(path, journal)
    except FAULTS as error:
        raise fault(error, path, " (check: file header)") from error
    except OSError as error:
        raise StoreError("store_unavailable", f"{path}: {error.strerror}") from error


def _create(path: Path, journal: str) -> None:
    # Made aside and linked in whole: a killed process leaves no half-made store behind, and of
    # several processes that start at once one wins and the others find a complete file.
    new = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        connection = connect(_uri(new, "mode=rw"))
        try:
            connection.execute(f"pragma journal_mode={_mode(journal)}")
            migrate(connection)
        finally:
            connection.close()
        _link(new, path)
    finally:
        new.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _link(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # pragma: no cover - file systems without hard links
        if not path.exists():
            new.replace(path)


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable: a record that survived needs a file that did."""
    if os.name == "posix":  # pragma: no branch - other platforms cannot open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_header(path: Path) -> None:
    if not path.is_file():
        raise StoreError("store_corrupt", f"{path} is not a regular file (check: file type)")
    if path.stat().st_size == 0:
        raise StoreError("store_corrupt", f"{path} is empty (check: size)")
    application, version = _header(path)
    if application != APPLICATION_ID:
        raise StoreError("store_corrupt", f"{path} is not a store (check: application id)")
    refuse_newer(version)


def _header(path: Path) -> tuple[int, int]:
    """Read the application id and the version of a file that others may be writing."""
    for _ in range(HEADER_TRIES):
        try:
            return _read_header(path)
        except FAULTS:
            pause()
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        # Killed while the log was moved into the file: it is whole only together with its log.
        return _read_header(path, "mode=rw")
    return _read_header(path)


def _read_header(path: Path, how: str = "mode=ro&immutable=1") -> tuple[int, int]:
    # `immutable` reads the file alone: no lock is taken and nothing is written beside it.
    connection = connect(_uri(path, how))
    try:
        application = connection.execute("pragma application_id").fetchone()[0]
        version = connection.execute("pragma user_version").fetchone()[0]
    finally:
        connection.close()
    return application, version


def connections(
    path: Path, journal: str, wait_s: float
) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Open the writer and the reader of a prepared file, checked and migrated.

    Args:
        path: A file that passed ``prepare``.
        journal: ``wal`` or ``rollback``.
        wait_s: How long to wait for other processes, in seconds.
    """
    try:
        writer = connect(_uri(path, "mode=rw"))
        try:
            _retry(partial(_set_up, writer, path, journal), wait_s)
            reader = connect(_uri(path, "mode=rw"))
        except BaseException:
            writer.close()
            raise
    except FAULTS as error:
        raise fault(error, path, " (check: opening)") from error
    # A text that a damaged or altered row holds must stay readable for those who look into it.
    reader.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return writer, reader


def _set_up(writer: sqlite3.Connection, path: Path, journal: str) -> None:
    # Checked first: whatever follows may write.
    if path.stat().st_size <= CHECKED_AT_OPEN_BYTES:
        found = writer.execute("pragma quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreError("store_corrupt", f"{path}: {found} (check: quick_check)")
    wanted = _mode(journal)
    mode = writer.execute(f"pragma journal_mode={wanted}").fetchone()[0]
    if mode != wanted:
        raise StoreError(
            "store_unsupported_fs", f"{path}: the file system refused journal mode {wanted}"
        )
    writer.execute("pragma synchronous=normal")
    migrate(writer)


def _retry(step: Callable[[], None], wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            pause()


def _mode(journal: str) -> str:
    return "wal" if journal == "wal" else "delete"


def _uri(path: Path, query: str) -> str:
    return f"{path.absolute().as_uri()}?{query}"
