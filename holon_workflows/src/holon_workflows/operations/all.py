"""All rows of this distribution, with the workflows of one runtime behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_workflows.operations import definition_rows, run_rows, step_rows

if TYPE_CHECKING:
    from holon_core.records.operation import Operation
    from holon_workflows.service import Workflows


def rows(flows: Workflows) -> list[Operation]:
    """Return the rows of the table."""
    return [*definition_rows.rows(flows), *run_rows.rows(flows), *step_rows.rows(flows)]
