"""Operations on crystallized capabilities: export, import, validate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elegy_contracts import examine
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.frozen_rows import ID, SECRET_REFS, visible
from holon_core.operations.schemas import params
from holon_core.records.finding import Finding
from holon_core.records.frozen import FrozenToolRecord
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect, Severity
from holon_elegy.crystallizing import CONTRACT, export, proposal_of

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params

NOUN = "crystallized-capability"
DEFINITION = {"type": "object", "description": "A CrystallizedCapabilityDefinition."}


def export_tool(door: Door, given: Params) -> Any:
    """Write an active tool as a portable definition."""
    return {"definition": export(door.runtime, visible(door, given["id"]))}


def import_tool(door: Door, given: Params) -> Any:
    """Take a portable definition in, as a proposal."""
    proposal, digest = proposal_of(given["definition"], given.get("secret_refs", {}))
    made = door.runtime.tools.frozen.propose(
        proposal, caller=door.caller, origin=("crystallized", digest)
    )
    return to_json(made)


def validate(door: Door, given: Params) -> Any:
    """Judge a portable definition; nothing is stored."""
    reading = examine(CONTRACT, given["definition"])
    findings = [
        Finding(
            code="record_invalid",
            message=each.message,
            path=each.path,
            severity=Severity(each.severity),
        )
        for each in reading.findings
    ]
    return {"valid": reading.valid, "findings": to_json(findings)}


def rows() -> list[Operation]:
    """Return the rows on crystallized capabilities."""
    return [
        Operation(
            noun=NOUN,
            verb="export",
            request=params(("id",), id=ID),
            response=answer(definition={"type": "object"}),
            authority=Authority.OPERATOR,
            effects=frozenset({Effect.HOST_STATE_READ}),
            handler=export_tool,
            positional=("id",),
            doc=(
                "Write an active frozen tool as a portable definition. Nothing of this host is in "
                "it: checked by its schema, and by looking for ids and secrets in every text."
            ),
        ),
        Operation(
            noun=NOUN,
            verb="import",
            request=params(("definition",), definition=DEFINITION, secret_refs=SECRET_REFS),
            response=schema_of(FrozenToolRecord),
            authority=Authority.CALLER,
            effects=frozenset({Effect.HOST_STATE_WRITE}),
            handler=import_tool,
            positional=("definition",),
            doc=(
                "Take a portable definition in as a proposed tool of the caller's workspace: no "
                "trust travels with it."
            ),
        ),
        Operation(
            noun=NOUN,
            verb="validate",
            request=params(("definition",), definition=DEFINITION),
            response=answer(valid={"type": "boolean"}, findings=listed(schema_of(Finding))),
            authority=Authority.CALLER,
            effects=frozenset({Effect.NONE}),
            handler=validate,
            positional=("definition",),
            doc="Judge a portable definition; nothing is stored.",
        ),
    ]
