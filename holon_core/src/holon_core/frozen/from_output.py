"""From an accepted answer of an agent to a proposal: the gates of its class are behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.guard.outputs import COLLECTION
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.records.output import OutputResult
    from holon_core.session import Session

# Who takes an output of each class.
CONSUMERS = {
    "script_artifact_proposal": "frozen_tool_promotion_gate",
    "frozen_tool_proposal": "promotion_validator",
}


def taken(guard: Guard, session: Session, output_id: str) -> OutputResult:
    """Take an accepted proposal of an agent as the consumer that its class names.

    Raises:
        Refused: ``unknown_output``, ``policy_denied``, or what else handing it over refuses; an
            output of another class is no proposal.
    """
    row = guard.store.read(lambda tables: tables.document(COLLECTION, output_id))
    named = "" if row is None else str(json.loads(row.body).get("class", ""))
    result = session.hand_output(output_id, consumer=CONSUMERS.get(named, "promotion_validator"))
    if result.failure is not None:
        raise Refused(result.failure)
    return result


def proposal_from(result: OutputResult, bindings: Mapping[str, str]) -> dict[str, Any]:
    """Write an accepted output as a proposal.

    Args:
        result: As it was taken.
        bindings: The reference of each secret that it names, which no agent states.

    Raises:
        Refused: ``secret_unresolved``: a secret has no binding.
    """
    value: dict[str, Any] = result.value
    if result.output_class == "script_artifact_proposal":
        return _script(value, bindings)
    return _frozen(value)


def evidence_of(result: OutputResult) -> list[tuple[str, int]]:
    """Return the records that an accepted proposal names as its origin."""
    provenance = result.value.get("provenance", {})
    refs = [*provenance.get("evidence", ()), *result.value.get("validation_evidence", ())]
    return [(ref["chain"], ref["seq"]) for ref in refs]


def _script(value: Mapping[str, Any], bindings: Mapping[str, str]) -> dict[str, Any]:
    slots = []
    for each in value.get("secrets", ()):
        if each["name"] not in bindings:
            text = f"the secret {each['name']} has no reference; bind it in secret_refs"
            raise Refused(failure("secret_unresolved", text))
        slots.append({**each, "ref": bindings[each["name"]]})
    return {
        "name": value["name"],
        "kind": "script-artifact",
        "purpose": value["purpose"],
        "input_schema": value["inputs"],
        "output_schema": value["outputs"],
        "policy": _policy(value["side_effects"], value.get("approval")),
        "fallback": _fallback(value.get("fallback")),
        "content": {"command": value["command"]},
        "files": [{"path": path, "text": text} for path, text in value["files"].items()],
        "fixtures": value["validation"],
        "secret_slots": slots,
    }


def _frozen(value: Mapping[str, Any]) -> dict[str, Any]:
    """Write a frozen-tool proposal; its implementation holds what its kind needs."""
    made = dict(value.get("implementation", {}))
    return {
        **made,
        "name": value["name"],
        "kind": value["kind"],
        "purpose": value["purpose"],
        "input_schema": value["input_schema"],
        "output_schema": value["output_schema"],
        "policy": _policy(value["policy"]["effects"], value["policy"]["approval"]),
        "fallback": _fallback(value["fallback"]),
    }


def _policy(effects: list[str], approval: str | None) -> dict[str, Any]:
    return {"effects": effects, **({} if approval is None else {"approval": approval})}


def _fallback(given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is None:
        return {"kind": "none"}
    made: dict[str, Any] = {"kind": given["policy"], "instructions": given.get("note", "")}
    return {**made, "triggers": given["triggers"]} if given.get("triggers") else made
