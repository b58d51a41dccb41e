"""The table: every operation of the core, by its method, and beside them those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from holon_core.operations import (
    agent_rows,
    approval_rows,
    definition_rows,
    discovery_rows,
    evidence_rows,
    frozen_rows,
    host_rows,
    output_rows,
    protocol_rows,
    skill_rows,
    tool_rows,
)
from holon_core.records.operation import Operation

if TYPE_CHECKING:
    from holon_core.runtime import Runtime

ROWS: tuple[Operation, ...] = (
    *tool_rows.ROWS,
    *definition_rows.ROWS,
    *discovery_rows.ROWS,
    *approval_rows.ROWS,
    *evidence_rows.ROWS,
    *skill_rows.ROWS,
    *output_rows.ROWS,
    *agent_rows.ROWS,
    *frozen_rows.ROWS,
    *host_rows.ROWS,
    *protocol_rows.ROWS,
)
OPERATIONS: Mapping[str, Operation] = MappingProxyType({row.method: row for row in ROWS})


def row_of(runtime: Runtime, method: str) -> Operation | None:
    """Return the row of a method: the core's, or one that a plugin of a runtime offers."""
    return OPERATIONS.get(method) or runtime._parts.operations.get(method)


def rows_of(runtime: Runtime) -> tuple[Operation, ...]:
    """Return the rows that a runtime answers: the core's, then those of plugins by method."""
    return (*ROWS, *runtime._parts.operations.values())
