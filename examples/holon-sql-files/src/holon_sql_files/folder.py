"""The folder of SQL files that the host's configuration names."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import field, frozen

from holon_sql_files.query import MAX_FILE_BYTES, BadQuery, Query, read_query

MAX_FILES = 1000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@frozen(kw_only=True)
class Contents:
    """What is in the folder: sound queries, and why the other files are none, by name."""

    queries: dict[str, Query] = field(factory=dict)
    problems: dict[str, str] = field(factory=dict)


class Folder:
    """Reads the files when asked; holds nothing, so that a changed file is seen.

    Args:
        path: An absolute path; without one there are no files.
    """

    def __init__(self, path: Any) -> None:
        self._path = Path(path) if isinstance(path, str) and path else None

    def signal(self) -> str:
        """Return a text that changes with the names, sizes and times of the files."""
        marks = [
            (path.name, (found := path.stat()).st_size, found.st_mtime_ns) for path in self._files()
        ]
        return sha256(repr(marks).encode()).hexdigest()

    def read(self) -> Contents:
        """Read every file."""
        contents = Contents()
        for path in self._files():
            try:
                contents.queries[path.stem] = self._query(path)
            except (BadQuery, OSError) as error:
                contents.problems[path.name] = str(error)
        return contents

    def query(self, name: str) -> Query | None:
        """Read one query; ``None`` where its file is gone or no query any more."""
        if self._path is None or not _NAME.fullmatch(name):
            return None
        try:
            return self._query(self._path / f"{name}.sql")
        except (BadQuery, OSError):
            return None

    def _files(self) -> list[Path]:
        if self._path is None or not self._path.is_dir():
            return []
        return sorted(path for path in self._path.glob("*.sql") if path.is_file())[:MAX_FILES]

    def _query(self, path: Path) -> Query:
        if not _NAME.fullmatch(path.stem):
            raise BadQuery("a file's name is of a-z 0-9 _ -, up to 64")
        if not path.is_file():
            # A named pipe would be waited for.
            raise BadQuery("no regular file")
        with path.open("rb") as file:
            return read_query(path.stem, file.read(MAX_FILE_BYTES + 1))
