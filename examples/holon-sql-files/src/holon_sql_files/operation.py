"""The operation `files`: which SQL files are tools, and why the others are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holon_core import Authority, Effect, Operation

from holon_sql_files.folder import Folder
from holon_sql_files.tools import SOURCE

_FILE = {
    "type": "object",
    "properties": {
        "file": {"type": "string"},
        "tool": {"type": ["string", "null"]},
        "problem": {"type": ["string", "null"]},
    },
    "required": ["file", "tool", "problem"],
    "additionalProperties": False,
}


def files_operation(folder: Folder) -> Operation:
    """Make the operation on one folder."""

    def files(_: Any, __: Mapping[str, Any]) -> dict[str, Any]:
        contents = folder.read()
        rows = [
            {"file": f"{name}.sql", "tool": f"{SOURCE}/{name}", "problem": None}
            for name in contents.queries
        ]
        rows += [
            {"file": name, "tool": None, "problem": problem}
            for name, problem in contents.problems.items()
        ]
        return {"files": rows}

    return Operation(
        noun=SOURCE,
        verb="files",
        request={"type": "object", "properties": {}, "additionalProperties": False},
        response={
            "type": "object",
            "properties": {"files": {"type": "array", "items": _FILE}},
            "required": ["files"],
            "additionalProperties": False,
        },
        authority=Authority.CALLER,
        effects=frozenset({Effect.HOST_STATE_READ}),
        handler=files,
        listing="files",
        columns=("file", "tool", "problem"),
        doc="List the SQL files of the folder: which are tools, and why the others are none.",
    )
