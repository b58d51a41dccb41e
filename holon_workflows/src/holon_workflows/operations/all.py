"""All rows of this distribution, with the workflows of one runtime behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_workflows.operations import (
    bridge_rows,
    definition_rows,
    run_rows,
    schedule_rows,
    step_rows,
)

if TYPE_CHECKING:
    from holon_core.records.operation import Operation
    from holon_workflows.service import Workflows


def rows(flows: Workflows) -> list[Operation]:
    """Return the rows of the table."""
    groups = (definition_rows, run_rows, schedule_rows, step_rows, bridge_rows)
    return [row for group in groups for row in group.rows(flows)]
