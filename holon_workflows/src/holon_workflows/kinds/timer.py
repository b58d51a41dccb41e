"""`wait-timer`: waits for a duration, or until a time; survives restarts, fires once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.definition.form import MAX_SECONDS
from holon_workflows.expressions import evaluate
from holon_workflows.records import NodeKind, Outcome, completed, failed, waiting

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step

# Each keyword binds one of the types, so that a finding says what is wrong with that.
_OR_FROM = {
    "properties": {"from": {"type": "string", "minLength": 1, "maxLength": 1000}},
    "required": ["from"],
    "additionalProperties": False,
}
CONFIG = {
    "type": "object",
    "properties": {
        "after_s": {
            "description": "Seconds from when the step begins.",
            "type": ["number", "object"],
            "minimum": 0,
            "maximum": MAX_SECONDS,
            **_OR_FROM,
        },
        "until": {
            "description": "A time: RFC 3339, or Unix seconds. One in the past passes at once.",
            "type": ["string", "number", "object"],
            "maxLength": 40,
            "minimum": 0,
            "maximum": 2**40,
            **_OR_FROM,
        },
    },
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}


class NotATime(ValueError):
    """A value that is no usable time or duration; the text says why."""


def moment(given: Any, *, now: float) -> float:
    """Read a time as Unix seconds.

    Raises:
        NotATime: It is none, has no offset, or lies more than a hundred years ahead.
    """
    if isinstance(given, str):
        try:
            read = datetime.fromisoformat(given.replace("Z", "+00:00"))
        except (ValueError, OverflowError):
            raise NotATime("a time is written like 2030-01-31T12:00:00Z") from None
        if read.tzinfo is None:
            raise NotATime("a time needs its offset: Z, or +02:00")
        at = read.timestamp()
    else:
        at = _number(given)
    if at > now + MAX_SECONDS:
        raise NotATime("a time lies at most a hundred years ahead")
    return at


def duration(given: Any) -> float:
    """Read a number of seconds.

    Raises:
        NotATime: It is none, negative, or more than a hundred years.
    """
    seconds = _number(given)
    if not 0 <= seconds <= MAX_SECONDS:
        raise NotATime("a duration is 0 s to a hundred years")
    return seconds


def _number(given: Any) -> float:
    sound = isinstance(given, (int, float)) and not isinstance(given, bool)
    # Compared, for an integer may be larger than any float.
    if not sound or not abs(given) <= sys.float_info.max:
        raise NotATime("a finite number of seconds is needed")
    return float(given)


def _run(step: Step) -> Outcome:
    now = step.now
    if step.wait is not None:
        due = float(step.wait["due_at"])
    else:
        try:
            due = _due(step, now)
        except NotATime as error:
            return failed(failure("workflow_expression", str(error)))
        if due <= now:
            note = "the time was there already: passed at once"
            return completed({"due_at": due, "passed_at_once": True}, note=note)
    if now >= due:
        return completed({"due_at": due, "passed_at_once": False}, note="the time has come")
    shown = datetime.fromtimestamp(due, tz=timezone.utc).isoformat(timespec="seconds")
    return waiting({"for": "time", "due_at": due}, due_at=due, note=f"waits until {shown}")


def _due(step: Step, now: float) -> float:
    config = step.node.config
    name = "after_s" if "after_s" in config else "until"
    given = config[name]
    if isinstance(given, Mapping):
        given = evaluate(given["from"], step.scope)
    return step.started_at + duration(given) if name == "after_s" else moment(given, now=now)


def _expressions(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("after_s", "until"):
        if isinstance(config.get(name), Mapping):
            yield f"/{name}/from", config[name]["from"]


def _check(node: Node, _about: Checking) -> Iterable[Finding]:
    import time

    given = node.config.get("until")
    if given is not None and not isinstance(given, Mapping):
        try:
            moment(given, now=time.time())
        except NotATime as error:
            yield wrong("workflow_timer", str(error), "/config/until")


KIND = NodeKind(
    kind="wait-timer",
    description="Waits for a duration or until a time.",
    config=CONFIG,
    run=_run,
    check=_check,
    expressions=_expressions,
    preview=lambda step: dict(step.node.config),
    output_schema=lambda _node, _about: {
        "type": "object",
        "properties": {"due_at": {"type": "number"}, "passed_at_once": {"type": "boolean"}},
    },
    repeatable=True,
)
