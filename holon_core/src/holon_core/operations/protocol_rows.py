"""The operation that lists the operations."""

from __future__ import annotations

from typing import Any

from holon_core.operations.answers import answer, listed, schema_of
from holon_core.operations.door import Door, Params
from holon_core.operations.schemas import params
from holon_core.operations.tool_rows import READS
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect


def list_operations(door: Door, _: Params) -> Any:
    """Answer the rows that this caller may use."""
    from holon_core.operations.table import rows_of

    return {
        "operations": [
            {
                "method": row.method,
                "authority": row.authority.value,
                "effects": sorted(effect.value for effect in row.effects),
                "doc": row.doc,
                "request": row.request,
                "response": row.response,
            }
            for row in rows_of(door.runtime)
            if row.open_to(door.authorities)
        ]
    }


ROWS = (
    Operation(
        noun="protocol",
        verb="list",
        request=params(),
        response=answer(
            operations=listed(
                answer(
                    method={"type": "string"},
                    authority=schema_of(Authority),
                    effects=listed(schema_of(Effect)),
                    doc={"type": "string"},
                    request={"type": "object"},
                    response={"type": "object"},
                )
            )
        ),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_operations,
        listing="operations",
        columns=("method", "authority", "effects", "doc"),
        doc="List the operations that this caller may use, with their schemas.",
    ),
)
