"""`workflow-run/schedule|list-scheduled|unschedule`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.operations.answers import answer, listed
from holon_core.operations.schemas import LIMIT, choice, params, text
from holon_core.records.failure import failure
from holon_workflows.operations.common import (
    ANY,
    DEFINITION,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    OBJECT,
    TEXT,
    VERSION,
    WRITES,
    row,
)
from holon_workflows.schedules import ONCE, SKIP

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params
    from holon_core.records.operation import Operation
    from holon_workflows.service import Workflows

_SCHEDULE = answer(
    id=TEXT,
    definition=TEXT,
    version=TEXT,
    inputs=ANY,
    when=OBJECT,
    missed=TEXT,
    next_at=MAYBE_NUMBER,
    fired={"type": "integer"},
    last_run=MAYBE_TEXT,
)


def schedule(flows: Workflows, door: Door, given: Params) -> Any:
    """Keep a schedule."""
    when = {name: given[name] for name in ("at", "every_s", "cron") if name in given}
    if len(when) != 1:
        text = "say when in one way: at, every_s or cron"
        raise Refused(failure("arguments_invalid", text, path="/at"))
    if "timezone" in given:
        when["timezone"] = given["timezone"]
    made = flows.schedules.add(
        given["definition"],
        given.get("inputs", {}),
        caller=door.caller,
        when=when,
        missed=given.get("missed", ONCE),
        version=given.get("version"),
    )
    return _shown(made)


def list_scheduled(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the schedules that a caller may see."""
    found = [each for each in flows.schedules.list() if _mine(door, each)]
    return {"schedules": [_shown(each) for each in found[: given.get("limit", 50)]]}


def unschedule(flows: Workflows, door: Door, given: Params) -> Any:
    """Remove a schedule."""
    found = flows.schedules.read(given["schedule"])
    if not _mine(door, found):
        raise Refused(failure("unknown_workflow", f"no schedule {given['schedule']}"))
    flows.schedules.remove(found["id"])
    return _shown(found)


def _mine(door: Door, made: Any) -> bool:
    caller = made["caller"]
    return door.sees_all or door.owns(principal=caller["principal"], workspace=caller["workspace"])


def _shown(made: Any) -> Any:
    return {name: made[name] for name in _SCHEDULE["properties"]}


def rows(flows: Workflows) -> list[Operation]:
    """Return the rows about schedules."""
    columns = ("id", "definition", "version", "when", "next_at", "last_run")
    return [
        row(
            flows,
            "workflow-run/schedule",
            schedule,
            params(
                ("definition",),
                definition=DEFINITION,
                inputs={"type": "object", "description": "What the workflow takes."},
                version=VERSION,
                at=text("A time, RFC 3339: it starts once.", limit=40),
                every_s={"type": "number", "minimum": 1, "description": "Seconds between starts."},
                cron=text("A cron expression of five fields.", limit=100),
                timezone=text("Of the cron expression; UTC where left out.", limit=60),
                missed=choice(
                    [ONCE, SKIP],
                    "Of starts missed while nobody served the store: one is made up for, or none.",
                    default=ONCE,
                ),
            ),
            _SCHEDULE,
            effects=WRITES,
            positional=("definition",),
            doc=(
                "Start a workflow at a time, at intervals or by cron, in the caller's name and "
                "bound to its version; whatever processes serve the store start it once."
            ),
        ),
        row(
            flows,
            "workflow-run/list-scheduled",
            list_scheduled,
            params((), limit=LIMIT),
            answer(schedules=listed(_SCHEDULE)),
            listing="schedules",
            columns=columns,
            doc="List schedules, with when each fires next.",
        ),
        row(
            flows,
            "workflow-run/unschedule",
            unschedule,
            params(("schedule",), schedule=text("Id of the schedule.", limit=100)),
            _SCHEDULE,
            effects=WRITES,
            positional=("schedule",),
            doc="Remove a schedule; runs that it started go on.",
        ),
    ]
