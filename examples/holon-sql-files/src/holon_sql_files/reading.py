"""Running one statement on one database: read-only, and within time, rows and bytes."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import frozen

# SQLite looks at the clock after so many steps of its virtual machine.
STEPS = 1000
LOCK_WAIT_S = 0.5
MAX_CELL_CHARS = 8192
MAX_VALUE_BYTES = 16 * 1024 * 1024
MAX_EXACT = 2**53 - 1
# Brackets, commas and the names around rows, beyond the rows themselves.
FRAME_BYTES = 64

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_REFUSED_FUNCTIONS = frozenset(
    {"edit", "fts3_tokenizer", "load_extension", "randomblob", "readfile", "writefile", "zeroblob"}
)


class Stopped(Exception):
    """The statement was ended; the text is a code of the failure table."""


@frozen(kw_only=True)
class Bounds:
    """What one statement may use; ``cancelled`` tells when nobody waits any more."""

    timeout_s: float
    rows: int
    output_bytes: int
    cancelled: Callable[[], bool]


def read_rows(
    database: Path, sql: str, *, arguments: Mapping[str, Any], bounds: Bounds
) -> dict[str, Any]:
    """Run a statement and return its columns and as many rows as the bounds let through.

    Raises:
        Stopped: ``timeout`` or ``cancelled``.
        sqlite3.Error: What SQLite says of the statement or the file; ``not authorized`` for
            whatever would do more than read.
    """
    until = time.monotonic() + bounds.timeout_s
    stops: list[str] = []

    def stop() -> int:
        if bounds.cancelled():
            stops.append("cancelled")
        elif time.monotonic() >= until:
            stops.append("timeout")
        return 1 if stops else 0

    with closing(_connect(database)) as connection:
        connection.set_progress_handler(stop, STEPS)
        try:
            return _fetch(connection.execute(sql, arguments), bounds)
        except sqlite3.Error:
            if stops:
                raise Stopped(stops[0]) from None
            raise


def _connect(database: Path) -> sqlite3.Connection:
    uri = f"{database.as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=LOCK_WAIT_S, isolation_level=None)
    connection.execute("pragma query_only = on")
    # Views of a database that somebody made call nothing that could do harm.
    connection.execute("pragma trusted_schema = off")
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    if hasattr(connection, "setlimit"):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_authorise)
    return connection


def _authorise(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        refused = (name or "").lower() in _REFUSED_FUNCTIONS
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _fetch(cursor: sqlite3.Cursor, bounds: Bounds) -> dict[str, Any]:
    columns = [str(each[0]) for each in cursor.description or ()]
    rows: list[list[Any]] = []
    left = bounds.output_bytes - FRAME_BYTES - _size(columns)
    for values in cursor:
        row = [_cell(value) for value in values]
        left -= _size(row)
        if len(rows) == bounds.rows or left < 0:
            return {"columns": columns, "rows": rows, "truncated": True}
        rows.append(row)
    return {"columns": columns, "rows": rows, "truncated": False}


def _size(values: list[Any]) -> int:
    # As JSON in ASCII, which is the longest form that anybody writes.
    return len(json.dumps(values)) + 2


def _cell(value: Any) -> Any:
    """Return a value as JSON holds it without losing any of it; what is long is cut."""
    if isinstance(value, bytes):
        return f"x'{value[: MAX_CELL_CHARS // 2].hex()}'"
    if isinstance(value, int) and abs(value) > MAX_EXACT:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value[:MAX_CELL_CHARS] if isinstance(value, str) else value
