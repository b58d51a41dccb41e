"""`workflow-run/start|ready-run|read|list|cancel|resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.operations.answers import answer, listed, page
from holon_core.operations.schemas import AFTER_ID, LIMIT, REASON, flag, params, text
from holon_core.records.failure import failure
from holon_core.records.words import Authority
from holon_workflows.operations.common import (
    ANY,
    DEFINITION,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    NUMBER,
    OBJECT,
    RUN,
    RUN_VIEW,
    TEXT,
    VERSION,
    WRITES,
    own_run,
    row,
    sees,
)
from holon_workflows.records import RunState

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params
    from holon_core.records.operation import Operation
    from holon_workflows.service import Workflows

_INPUTS = {"type": "object", "description": "What the workflow takes; none where left out."}
_SUMMARY = {
    "id": TEXT,
    "definition": TEXT,
    "version": TEXT,
    "state": TEXT,
    "principal": TEXT,
    "workspace": MAYBE_TEXT,
    "created_at": NUMBER,
    "ended_at": MAYBE_NUMBER,
    "due_at": MAYBE_NUMBER,
}
_REHEARSED = answer(
    id=TEXT,
    kind=TEXT,
    inputs=OBJECT,
    unknown=listed(TEXT),
    preview=ANY,
    blocking_reasons=listed(OBJECT),
)
_STEPS = ("id", "kind", "state", "attempt", "note")


def start(flows: Workflows, door: Door, given: Params) -> Any:
    """Start a run."""
    run = flows.start(
        given["definition"],
        given.get("inputs"),
        session=door.caller,
        version=given.get("version"),
        run_id=given.get("run"),
    )
    return run.to_json()


def dry_run(flows: Workflows, door: Door, given: Params) -> Any:
    """Show what each step would do."""
    shown = flows.dry_run(
        given["definition"],
        given.get("inputs"),
        session=door.caller,
        version=given.get("version"),
        assume=given.get("assume"),
    )
    return {"steps": list(shown)}


def ready_run(flows: Workflows, door: Door, given: Params) -> Any:
    """Run what is ready."""
    return flows.ready_run(own_run(flows, door, given["run"]).id).to_json()


def resume(flows: Workflows, door: Door, given: Params) -> Any:
    """Go on, trying anew what was blocked."""
    run = own_run(flows, door, given["run"])
    accept, take_over = given.get("accept", ()), given.get("take_over", False)
    if (accept or take_over) and not door.may(Authority.OPERATOR):
        text = "another definition is accepted, and a run taken over, by an operator"
        raise Refused(failure("not_allowed", text, run=run.id))
    by = door.caller.principal
    return flows.resume(run.id, accept=accept, take_over=take_over, by=by).to_json()


def read(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer a run with its steps."""
    return flows.read(own_run(flows, door, given["run"]).id).to_json()


def cancel(flows: Workflows, door: Door, given: Params) -> Any:
    """Cancel a run."""
    run = own_run(flows, door, given["run"])
    return flows.cancel(run.id, by=door.caller.principal, reason=given["reason"]).to_json()


def list_runs(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the runs that a caller may see."""
    limit, after = given.get("limit", 50), given.get("after", "")
    found: list[Any] = []
    more = True
    while more and len(found) < limit:
        batch = flows.list(after=after, limit=200, state=given.get("state"))
        more = len(batch) == 200
        after = batch[-1].id if batch else after
        found += [each for each in batch if sees(door, each)]
    shown = [_summary(each) for each in found[:limit]]
    full = len(found) > limit or (more and len(found) == limit)
    return {"runs": shown, "next_after": shown[-1]["id"] if full and shown else None}


def _summary(run: Any) -> dict[str, Any]:
    made = {name: getattr(run, name, None) for name in _SUMMARY}
    made["state"] = run.state.value
    made["principal"], made["workspace"] = run.caller["principal"], run.caller["workspace"]
    return made


def rows(flows: Workflows) -> list[Operation]:
    """Return the rows about runs."""
    shown: Any = {"listing": "steps", "columns": _STEPS}
    return [
        row(
            flows,
            "workflow-run/start",
            start,
            params(
                ("definition",),
                definition=DEFINITION,
                inputs=_INPUTS,
                version=VERSION,
                run=text("Under which id; the same id starts once.", limit=100),
            ),
            RUN_VIEW,
            effects=WRITES,
            positional=("definition",),
            doc=(
                "Start a run of a workflow, bound to its version and to the definitions of its "
                "tools; nothing of it runs before `workflow-run/ready-run`."
            ),
            **shown,
        ),
        row(
            flows,
            "workflow-run/dry-run",
            dry_run,
            params(
                ("definition",),
                definition=DEFINITION,
                inputs=_INPUTS,
                version=VERSION,
                assume={
                    "type": "object",
                    "description": "Outputs of steps, by node, that later ones are shown with.",
                },
            ),
            answer(steps=listed(_REHEARSED)),
            positional=("definition",),
            listing="steps",
            columns=("id", "kind", "unknown", "blocking_reasons"),
            doc="Show what each step of a run would do, and what would block it; nothing starts.",
        ),
        row(
            flows,
            "workflow-run/ready-run",
            ready_run,
            params(("run",), run=RUN),
            RUN_VIEW,
            effects=WRITES,
            positional=("run",),
            doc=(
                "Run every step that is ready and those that become so, each a governed call of "
                "who started the run; answer what waits."
            ),
            **shown,
        ),
        row(
            flows,
            "workflow-run/resume",
            resume,
            params(
                ("run",),
                run=RUN,
                accept={
                    "type": "array",
                    "items": text("Id of a tool.", limit=400),
                    "maxItems": 100,
                    "description": (
                        "A tool whose definition of now is accepted in place of that of the start."
                    ),
                },
                take_over=flag("Also from a process that hangs: what it still writes is refused."),
            ),
            RUN_VIEW,
            effects=WRITES,
            positional=("run",),
            doc=(
                "Go on with a run, trying anew the steps that were blocked. An operator may accept "
                "changed definitions of tools, and take a run over from a process that hangs."
            ),
            **shown,
        ),
        row(
            flows,
            "workflow-run/read",
            read,
            params(("run",), run=RUN),
            RUN_VIEW,
            positional=("run",),
            doc="Read a run: its steps, what it waits for, and what came of it.",
            **shown,
        ),
        row(
            flows,
            "workflow-run/list",
            list_runs,
            params(
                (),
                state={
                    "type": "string",
                    "enum": [state.value for state in RunState],
                    "description": "Only runs in this state.",
                },
                after=AFTER_ID,
                limit=LIMIT,
            ),
            page("runs", answer(**_SUMMARY)),
            listing="runs",
            columns=("id", "definition", "version", "state", "principal"),
            doc="List runs by id, without those that steps of others started.",
        ),
        row(
            flows,
            "workflow-run/cancel",
            cancel,
            params(("run", "reason"), run=RUN, reason=REASON),
            RUN_VIEW,
            effects=WRITES,
            positional=("run",),
            doc="Cancel a run: what runs is ended, what has not begun never does.",
            **shown,
        ),
    ]
