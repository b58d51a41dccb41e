"""The lane, and the tool that each query becomes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from holon_core import (
    CapabilityLane,
    Effect,
    Limits,
    Origin,
    Posture,
    RuntimeToolDescriptor,
    SkillSourceDescriptor,
    SkillSourceKind,
)

from holon_sql_files.folder import Folder
from holon_sql_files.query import Query

SOURCE = "holon-sql-files"
VERSION = "0.1.0"
TIMEOUT_S = 10.0

LANE = CapabilityLane(kind=SOURCE, postures=frozenset({Posture.LANE_LIVE}))

OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {
            "type": "array",
            "items": {"type": "array", "items": {"type": ["string", "number", "null"]}},
        },
        "truncated": {"type": "boolean", "description": "Whether there are more rows."},
    },
    "required": ["columns", "rows", "truncated"],
    "additionalProperties": False,
}
DATABASE = {
    "type": "string",
    "minLength": 1,
    "maxLength": 1000,
    "description": "Path of the SQLite database, relative to the workspace.",
}


# Stands for all queries where the signal is made.
PROBE = Query(name="probe", sql="", digest="", description="")


def tool_of(query: Query) -> RuntimeToolDescriptor:
    """Describe a query as a tool; another text of its file is another definition."""
    properties = {parameter.name: parameter.schema() for parameter in query.parameters}
    required = [p.name for p in query.parameters if p.default is None]
    if query.database is None:
        properties["database"] = DATABASE
        required.append("database")
    return RuntimeToolDescriptor(
        id=f"{SOURCE}/{query.name}",
        lane=LANE.kind,
        origin=Origin.PLUGIN,
        posture=Posture.LANE_LIVE,
        version=VERSION,
        name=query.name,
        description=query.description[:1000],
        input_schema={
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        output_schema=OUTPUT,
        effects=frozenset({Effect.WORKSPACE_READ}),
        limits=Limits(timeout_s=TIMEOUT_S),
        idempotent=True,
        executor_ref=f"sha256:{query.digest}",
    )


class Source:
    """The folder's sound queries as a source of definitions."""

    descriptor = SkillSourceDescriptor(
        id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN, title="SQL files"
    )

    def __init__(self, folder: Folder, logger: logging.Logger) -> None:
        self._folder = folder
        self._logger = logger

    def signal(self) -> str:
        """Return what changes when a file does, or what this module makes of files."""
        made = repr(tool_of(PROBE).definition())
        return sha256(f"{made} {self._folder.signal()}".encode()).hexdigest()

    def read(self) -> Iterator[RuntimeToolDescriptor]:
        """Return the definitions; a file that is no query is logged and left out."""
        contents = self._folder.read()
        for name, problem in contents.problems.items():
            self._logger.warning("%s is no tool: %s", name, problem)
        yield from map(tool_of, contents.queries.values())
