"""`human-gate`: asks a person, and goes on with what they answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure
from holon_core.wire.schema_check import check_schema
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.definition.form import MAX_SECONDS
from holon_workflows.gates import ANSWERED, CLOSED, EXPIRED, OPEN
from holon_workflows.records import NodeKind, Outcome, completed, failed, waiting

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step
    from holon_workflows.gates import Gates

_CHOICE = {"type": "string", "minLength": 1, "maxLength": 100}
CONFIG = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1, "maxLength": 4000},
        "choices": {"type": "array", "items": _CHOICE, "minItems": 1, "maxItems": 20},
        "form": {"type": "object"},
        "assignee": {"type": "string", "minLength": 1, "maxLength": 200},
        "expires_after_s": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS},
        "on_expiry": {
            "description": "What then: fail, or go on as if this had been chosen.",
            "type": ["string", "object"],
            "pattern": "^fail$",
            "properties": {"choose": _CHOICE},
            "required": ["choose"],
            "additionalProperties": False,
        },
    },
    "required": ["question"],
    "additionalProperties": False,
}


def gate_id(step: Step) -> str:
    """Return the id of this instance of a gate; each turn and each attempt has its own."""
    return f"{step.id}/{step.attempt}"


def gate_of(step: Step, config: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Make the gate that a step opens."""
    expires = config.get("expires_after_s")
    run = step.run
    return {
        "id": gate_id(step),
        "run": run.id,
        "root": run.root,
        "step": step.node.id,
        "workflow": f"{run.definition}@{run.version}",
        "principal": run.caller["principal"],
        "workspace": run.caller["workspace"],
        "question": config["question"],
        "choices": config.get("choices"),
        "form": _closed(config.get("form")),
        "assignee": config.get("assignee"),
        "shown": step.inputs,
        "state": OPEN,
        "opened_at": step.now,
        "expires_at": None if expires is None else step.now + expires,
        "answer": None,
        "ended_at": None,
        **more,
    }


def _closed(form: Any) -> Any:
    return None if form is None else check_schema(form, role="input").schema


def ask(step: Step, gates: Gates, gate: dict[str, Any]) -> dict[str, Any]:
    """Open a gate, or look at the one that is open; it expires when its time has come."""
    found = gates.open(gate)
    late = found["expires_at"] is not None and step.now >= found["expires_at"]
    if found["state"] == OPEN and late:
        found = gates.end(found["id"], EXPIRED) or found
    return found


def gate_kind(gates: Gates) -> NodeKind:
    """Make the kind, on the gates of one runtime."""

    def run(step: Step) -> Outcome:
        config = step.node.config
        gate = ask(step, gates, gate_of(step, config))
        if gate["state"] == ANSWERED:
            answer = gate["answer"]
            return completed(answer, note=f"answered by {answer['by']}")
        if gate["state"] == EXPIRED:
            return _expired(gate, config)
        if gate["state"] == CLOSED:
            return failed(failure("cancelled", "the gate was closed"))
        text = f"asks {gate['assignee'] or 'somebody'}: {gate['id']}"
        return waiting({"for": "person", "gate": gate["id"]}, due_at=gate["expires_at"], note=text)

    def closes(step: Step) -> None:
        gates.end(gate_id(step), CLOSED)

    return NodeKind(
        kind="human-gate",
        description="Asks a person, and waits for the answer.",
        config=CONFIG,
        run=run,
        check=_check,
        preview=lambda step: {"would ask": step.node.config["question"], "shown": step.inputs},
        output_schema=_gives,
        repeatable=True,
        closes=closes,
    )


def _expired(gate: Mapping[str, Any], config: Mapping[str, Any]) -> Outcome:
    then = config.get("on_expiry", "fail")
    if then == "fail":
        return failed(failure("gate_expired", f"nobody answered {gate['id']} in time"))
    output = {"choice": then["choose"], "by": None, "at": gate["ended_at"], "expired": True}
    return completed(output, note="nobody answered in time")


def _check(node: Node, _about: Checking) -> Iterable[Finding]:
    config = node.config
    if "form" in config:
        for each in check_schema(config["form"], role="input").findings:
            yield wrong(each.code, each.message, "/config/form" + each.path, severity=each.severity)
    then = config.get("on_expiry")
    if then is not None and "expires_after_s" not in config:
        yield wrong("workflow_invalid", "it never expires: expires_after_s", "/config/on_expiry")
    if isinstance(then, Mapping) and then["choose"] not in config.get("choices", ()):
        yield wrong("workflow_invalid", "it is none of the choices", "/config/on_expiry/choose")


def _gives(node: Node, _about: Checking) -> Any:
    members: dict[str, Any] = {
        "by": {"type": ["string", "null"]},
        "at": {"type": "number"},
        "reason": {"type": "string"},
        "self_answered": {"type": "boolean"},
        "expired": {"type": "boolean"},
    }
    if "choices" in node.config:
        members["choice"] = {"type": "string", "enum": list(node.config["choices"])}
    if "form" in node.config:
        members["values"] = node.config["form"]
    return {"type": "object", "properties": members, "additionalProperties": False}
