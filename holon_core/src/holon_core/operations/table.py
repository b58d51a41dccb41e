"""The table: every operation of the core, by its method."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holon_core.operations import (
    approval_rows,
    discovery_rows,
    evidence_rows,
    host_rows,
    protocol_rows,
    tool_rows,
)
from holon_core.records.operation import Operation

ROWS: tuple[Operation, ...] = (
    *tool_rows.ROWS,
    *discovery_rows.ROWS,
    *approval_rows.ROWS,
    *evidence_rows.ROWS,
    *host_rows.ROWS,
    *protocol_rows.ROWS,
)
OPERATIONS: Mapping[str, Operation] = MappingProxyType({row.method: row for row in ROWS})
