"""What runs a query: its file as it was approved, on a database inside the workspace."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holon_core import (
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    SealedCall,
    Status,
    StructuredFailure,
    completed,
    failure,
)
from holon_core.errors import FAILURES

from holon_sql_files.folder import Folder
from holon_sql_files.query import Query
from holon_sql_files.reading import Bounds, Stopped, read_rows
from holon_sql_files.tools import TIMEOUT_S


class Refused(Exception):
    """The call cannot run; carries the failure."""

    def __init__(self, problem: StructuredFailure) -> None:
        super().__init__(problem.code)
        self.problem = problem


class Executor:
    """Runs every query of the folder; each call has a connection of its own."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Run one query."""
        try:
            query = self._query(call)
            database = _database(call, query)
            return completed(_rows(call, query, database))
        except Refused as refused:
            return _refused(refused.problem)
        except Stopped as stopped:
            return _refused(failure(str(stopped)))
        except sqlite3.Error as error:
            return _refused(failure("tool_failed", f"SQLite: {error}"))

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show the statement with its values; no database is opened."""
        query = self._folder.query(call.tool.name)
        if query is None:
            return {"missing": call.tool.name}
        return {
            "sql": query.sql,
            "values": _values(call, query),
            "database": query.database or call.arguments.get("database"),
            "rows": query.rows,
        }

    def _query(self, call: SealedCall) -> Query:
        query = self._folder.query(call.tool.name)
        if query is None:
            raise Refused(failure("artifact_not_ready", "the SQL file is gone or no query"))
        if f"sha256:{query.digest}" != call.tool.executor_ref:
            raise Refused(failure("artifact_changed", "the SQL file is not what was registered"))
        return query


def _values(call: SealedCall, query: Query) -> dict[str, Any]:
    return {p.name: call.arguments.get(p.name, p.default) for p in query.parameters}


def _rows(call: SealedCall, query: Query, database: Path) -> dict[str, Any]:
    bounds = Bounds(
        timeout_s=call.limits.timeout_s or TIMEOUT_S,
        rows=query.rows,
        output_bytes=call.limits.max_output_bytes,
        cancelled=lambda: call.cancel.cancelled,
    )
    return read_rows(database, query.sql, arguments=_values(call, query), bounds=bounds)


def _database(call: SealedCall, query: Query) -> Path:
    """Return the file that a call reads; it lies inside the workspace, links followed."""
    if call.workspace is None:
        raise Refused(failure("workspace_required"))
    asked = query.database or str(call.arguments["database"])
    root = Path(call.workspace.root_path).resolve()
    try:
        path = (root / asked).resolve()
    except (OSError, RuntimeError, ValueError):
        raise Refused(failure("path_invalid", path=asked)) from None
    if not path.is_relative_to(root):
        raise Refused(failure("path_escape", path=asked))
    if not path.exists():
        raise Refused(failure("path_not_found", path=asked))
    if not path.is_file():
        raise Refused(failure("not_regular_file", path=asked))
    # SQLite opens these as well, and would follow a link out of the workspace.
    beside = [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]
    if any(os.path.lexists(each) and not _is_plain(each) for each in beside):
        raise Refused(failure("not_regular_file", path=asked))
    return path


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _refused(problem: StructuredFailure) -> ExecutorOutcome:
    """Answer with a row of the failure table; blocked means that nothing was done."""
    blocked = FAILURES[problem.code][1] is Status.BLOCKED
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        started=not blocked,
    )
