"""`workflow-step/*`, `workflow-event/list`, `workflow-evidence/*`, `human-gate/*`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.schemas import AFTER_ID, LIMIT, REASON, params, text, whole
from holon_core.records.evidence import EvidenceRecord
from holon_core.records.failure import failure
from holon_core.records.words import Authority
from holon_workflows.engine.ledger import KIND
from holon_workflows.engine.resolving import ACTIONS
from holon_workflows.operations.common import (
    MAYBE_NUMBER,
    MAYBE_OBJECT,
    MAYBE_TEXT,
    NODE,
    NUMBER,
    OBJECT,
    RUN,
    RUN_VIEW,
    STEP,
    TEXT,
    WRITES,
    own_run,
    row,
)

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params
    from holon_core.records.operation import Operation
    from holon_workflows.engine.state import RunRecord
    from holon_workflows.service import Workflows

_GATE_ID = text("Id of the gate: run, step and attempt.", limit=600)
_EVENT = answer(
    seq={"type": "integer"},
    at=NUMBER,
    kind=TEXT,
    run=TEXT,
    step=MAYBE_TEXT,
    attempt={"type": ["integer", "null"]},
    state=TEXT,
    note=TEXT,
    by=MAYBE_TEXT,
    code=MAYBE_TEXT,
)
_EVENT["additionalProperties"] = True
_GATE = answer(
    id=TEXT,
    run=TEXT,
    step=TEXT,
    workflow=TEXT,
    question=TEXT,
    choices={"type": ["array", "null"]},
    form=MAYBE_OBJECT,
    assignee=MAYBE_TEXT,
    principal=TEXT,
    shown=OBJECT,
    state=TEXT,
    opened_at=NUMBER,
    expires_at=MAYBE_NUMBER,
    answer=MAYBE_OBJECT,
)


def list_steps(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the steps of a run."""
    view = flows.read(own_run(flows, door, given["run"]).id)
    return {"steps": view.to_json()["steps"]}


def resolve(flows: Workflows, door: Door, given: Params) -> Any:
    """Say what became of a step that was interrupted."""
    run = own_run(flows, door, given["run"])
    made = flows.resolve(
        run.id,
        given["step"],
        action=given["action"],
        by=door.caller.principal,
        reason=given["reason"],
        output=given.get("output"),
    )
    return made.to_json()


def list_events(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the events of a run, in order."""
    run = own_run(flows, door, given["run"])
    limit = given.get("limit", 50)
    found = flows.events(run.root, after=given.get("after", 0), limit=limit)
    return {"events": found, "next_after": found[-1]["seq"] if found else given.get("after", 0)}


def list_evidence(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer what the chain says of a run."""
    run = own_run(flows, door, given["run"])
    return {"records": to_json(_of_run(door, run))}


def read_evidence(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer what the chain says of one step: its transitions, and the calls that it made."""
    run = own_run(flows, door, given["run"])
    found = [
        each
        for each in _of_run(door, run)
        if each.body["workflow"].get("step") == given["step"]
        and each.body["workflow"].get("run") == run.id
    ]
    calls = [
        note.removeprefix("call ")
        for note in (each.body["workflow"].get("note", "") for each in found)
        if note.startswith("call ")
    ]
    for call in dict.fromkeys(calls):
        found += _of_call(door, run, call)
    return {"records": to_json(sorted(found, key=lambda each: each.seq))}


def _of_run(door: Door, run: RunRecord) -> list[EvidenceRecord]:
    """Read what evidence says of a run.

    Ids of runs are callers' to choose, so that of others something may be read under the same:
    what is shown is of workflows, and in the name of who started the run.
    """
    found = door.runtime.evidence.read(run.root)
    return [each for each in found if each.kind == KIND and _is_of(each, run)]


def _of_call(door: Door, run: RunRecord, call: str) -> list[EvidenceRecord]:
    """Read what evidence says of a call, where a step of the run made it.

    Notes of events hold what people wrote, which may name any call.
    """
    found = [each for each in door.runtime.evidence.read(call) if each.kind != KIND]
    named = [each for each in found if "caller" in each.body]
    own = all(_is_of(each, run) and each.body["caller"].get("run") == run.root for each in named)
    return found if named and own else []


def _is_of(record: EvidenceRecord, run: RunRecord) -> bool:
    caller = record.body["caller"]
    return all(caller.get(name) == run.caller[name] for name in ("principal", "workspace"))


def list_gates(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the gates that wait."""
    state = given.get("state", "open")
    found = flows.gates.list(
        run=given.get("run"),
        state=None if state == "any" else state,
        after=given.get("after", ""),
        limit=1000,
    )
    mine = [each for each in found if _may_see(door, each)][: given.get("limit", 50)]
    return {"gates": [_gate(each) for each in mine]}


def answer_gate(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer a gate."""
    gate = flows.gates.read(given["gate"])
    if not _may_see(door, gate):
        raise Refused(failure("unknown_gate", f"no gate {given['gate']}"))
    made = flows.answer(
        gate["id"],
        by=door.caller.principal,
        choice=given.get("choice"),
        values=given.get("values"),
        reason=given.get("reason", ""),
    )
    return _gate(made)


def _may_see(door: Door, gate: Any) -> bool:
    return door.sees_all or door.owns(principal=gate["principal"], workspace=gate["workspace"])


def _gate(gate: Any) -> Any:
    return {name: gate[name] for name in _GATE["properties"]}


def rows(flows: Workflows) -> list[Operation]:
    """Return the rows about steps, events, evidence and gates."""
    steps = ("id", "kind", "state", "attempt", "note")
    records = answer(records=listed(schema_of(EvidenceRecord)))
    of_records: Any = {"listing": "records", "columns": ("seq", "kind", "call_id", "preview")}
    return [
        row(
            flows,
            "workflow-step/list",
            list_steps,
            params(("run",), run=RUN),
            answer(steps=listed(STEP)),
            positional=("run",),
            listing="steps",
            columns=steps,
            doc="List the steps of a run, in the order of its definition.",
        ),
        row(
            flows,
            "workflow-step/resolve",
            resolve,
            params(
                ("run", "step", "action", "reason"),
                run=RUN,
                step=NODE,
                action={
                    "type": "string",
                    "enum": list(ACTIONS),
                    "description": "Run it again, it took effect (with an output), or it failed.",
                },
                output={"description": "What the step gives, where it is complete."},
                reason=REASON,
            ),
            RUN_VIEW,
            authority=Authority.APPROVER,
            also=frozenset({Authority.OPERATOR}),
            effects=WRITES,
            positional=("run", "step", "action"),
            listing="steps",
            columns=steps,
            doc="Say what became of a step that was interrupted; nobody else ever repeats it.",
        ),
        row(
            flows,
            "workflow-event/list",
            list_events,
            params(
                ("run",),
                run=RUN,
                after=whole("Only events after this one: `next_after`.", least=0, default=0),
                limit=LIMIT,
            ),
            answer(events=listed(_EVENT), next_after={"type": "integer"}),
            positional=("run",),
            listing="events",
            columns=("seq", "kind", "step", "state", "note", "by"),
            doc="List what happened in a run, in order; ask again after `next_after` to follow it.",
        ),
        row(
            flows,
            "workflow-evidence/list",
            list_evidence,
            params(("run",), run=RUN),
            records,
            positional=("run",),
            doc="List the records of evidence about a run: a view of the chain.",
            **of_records,
        ),
        row(
            flows,
            "workflow-evidence/read",
            read_evidence,
            params(("run", "step"), run=RUN, step=NODE),
            records,
            positional=("run", "step"),
            doc="Read the records about one step: its transitions and its calls.",
            **of_records,
        ),
        row(
            flows,
            "human-gate/list",
            list_gates,
            params(
                (),
                run=RUN,
                state={
                    "type": "string",
                    "enum": ["open", "answered", "expired", "closed", "any"],
                    "description": "Only gates in this state.",
                    "default": "open",
                },
                after=AFTER_ID,
                limit=LIMIT,
            ),
            answer(gates=listed(_GATE)),
            listing="gates",
            columns=("id", "workflow", "question", "choices", "assignee", "state"),
            doc="List human gates, by default those that wait for an answer.",
        ),
        row(
            flows,
            "human-gate/answer",
            answer_gate,
            params(
                ("gate",),
                gate=_GATE_ID,
                choice=text("One of its choices.", limit=100),
                values={"type": "object", "description": "What its form asks for."},
                reason=REASON,
            ),
            _GATE,
            authority=Authority.APPROVER,
            effects=WRITES,
            positional=("gate", "choice"),
            doc="Answer a human gate; the first answer stands, and the run can go on.",
        ),
    ]
