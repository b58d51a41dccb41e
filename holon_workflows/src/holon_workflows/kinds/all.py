"""All kinds of nodes of this distribution, made for one runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_workflows.kinds import bodies, branch, timer, tools
from holon_workflows.kinds.ai import ai_kind
from holon_workflows.kinds.gate import gate_kind
from holon_workflows.kinds.plan import plan_kind

if TYPE_CHECKING:
    from holon_workflows.parts import Parts
    from holon_workflows.records import NodeKind


def own_kinds(parts: Parts) -> dict[str, NodeKind]:
    """Return the kinds by name."""
    made = (
        tools.CAPABILITY,
        tools.FROZEN_TOOL,
        tools.ADAPTER_OPERATION,
        branch.KIND,
        timer.KIND,
        ai_kind(parts.gates),
        gate_kind(parts.gates),
        plan_kind(parts.gates),
        bodies.MAP,
        bodies.LOOP,
        bodies.SUB_WORKFLOW,
    )
    return {each.kind: each for each in made}
