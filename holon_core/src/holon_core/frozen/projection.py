"""A frozen tool as the catalogue shows it: from Validated on, in its workspace."""

from __future__ import annotations

from typing import Any

from holon_core.records.frozen import RUNNING_STATES, TRIAL_STATES, FrozenState, FrozenToolRecord
from holon_core.records.tool import Limits, Provenance, RuntimeToolDescriptor
from holon_core.records.words import ApprovalRequirement, Origin, Posture
from holon_core.wire.canonical import digest

DEFINITION_DOMAIN = "holon-definition/1"


def projected(record: FrozenToolRecord) -> RuntimeToolDescriptor | None:
    """Return the tool that the catalogue holds of a record; ``None`` where it holds none.

    A blocked tool that was validated once stays listed, so that its callers learn why it is
    blocked.
    """
    known = record.state in RUNNING_STATES or (
        record.state is FrozenState.BLOCKED and was_validated(record)
    )
    return descriptor_of(record) if known else None


def was_validated(record: FrozenToolRecord) -> bool:
    """Tell whether a tool ever was in a state in which it could be called."""
    return any(move.target is FrozenState.VALIDATED for move in record.moves)


def descriptor_of(record: FrozenToolRecord) -> RuntimeToolDescriptor:
    """Return the descriptor of a record in its state, carrying its digest."""
    definition = record.definition
    policy = definition.policy
    # A block changes nothing of the definition, so that it is told as what it is.
    blocked = record.state is FrozenState.BLOCKED and record.moves
    state = record.moves[-1].source if blocked else record.state
    approval = ApprovalRequirement.REQUIRED if state in TRIAL_STATES else policy.approval
    tool = RuntimeToolDescriptor(
        id=record.id,
        lane=definition.kind,
        origin=Origin.FROZEN,
        posture=Posture.FROZEN_TOOL_LIVE,
        version=str(record.version),
        name=definition.name,
        description=definition.purpose,
        input_schema=plain(definition.input_schema),
        output_schema=plain(definition.output_schema),
        effects=policy.effects,
        approval=approval,
        risk_hints=definition.risk_hints,
        dependencies=definition.dependencies,
        secret_slots=definition.secret_slots,
        limits=Limits(timeout_s=policy.timeout_s, max_output_bytes=policy.max_output_bytes),
        executor_ref=record.executor_ref,
        provenance=Provenance(),
        lifecycle=record.state.value,
        workspace=record.workspace,
    )
    return tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))


def plain(value: Any) -> Any:
    """Return a mapping as the plain dict that JSON is made of."""
    return dict(value)
