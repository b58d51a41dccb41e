"""The file of the search index, beside the store."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from holon_core.catalogue.search_index import Index
from holon_core.store.opening import is_busy

if TYPE_CHECKING:
    from pathlib import Path

FILE = "search.db"
# What is of one workspace alone has an index of its own.
BOUND_FILES = "search.*.db"


def open_index(store: Path | None, file: str = FILE) -> Index:
    """Open an index beside a store; what is damaged is made anew, what cannot be is in memory."""
    if store is None:
        return Index()
    path = store.with_name(file)
    for _ in range(2):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            return Index(str(path))
        except sqlite3.OperationalError as error:
            if is_busy(error):
                raise
            break
        except sqlite3.DatabaseError:
            remove_index(path)
        except OSError:
            break
    return Index()


def file_of(workspace: str) -> str:
    """Name the file of the index of what is of one workspace alone."""
    return f"search.{sha256(workspace.encode(errors='surrogatepass')).hexdigest()[:16]}.db"


def remove_index(path: Path) -> None:
    """Remove an index file and what SQLite keeps beside it."""
    for part in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + part).unlink()
