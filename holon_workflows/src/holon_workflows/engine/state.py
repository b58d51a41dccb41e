"""Runs and steps as they are kept in the store, and what is shown of them."""

from __future__ import annotations

from typing import Any

from attrs import asdict, define, field, fields

from holon_core.records.caller import CallerContext
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.words import Surface
from holon_workflows.records import RunState, StepState


@define(kw_only=True)
class StepRecord:
    """One step of a run, as the process that drives the run knows it.

    ``holds`` counts calls that need a new idempotency key for the same attempt: approvals that
    expired, and calls that were ended when their driver left.
    ``repairs`` counts proposals of an AI step that were tried; ``repair_call`` is the call that
    the last of them proposed.
    """

    run: str
    node: str
    state: StepState = StepState.PENDING
    attempt: int = 1
    holds: int = 0
    repairs: int = 0
    output: Any = None
    failure: dict[str, Any] | None = None
    repair_call: dict[str, Any] | None = None
    wait: dict[str, Any] | None = None
    due_at: float | None = None
    chosen: list[str] | None = None
    note: str = ""
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def id(self) -> str:
        """Under which id it is kept."""
        return f"{self.run}/{self.node}"

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept."""
        made = {name: getattr(self, name) for name in _STEP_FIELDS}
        made["state"] = self.state.value
        return made

    @classmethod
    def of(cls, data: dict[str, Any]) -> StepRecord:
        """Read it as it was kept."""
        return cls(**{**data, "state": StepState(data["state"])})


_STEP_FIELDS = tuple(each.name for each in fields(StepRecord))


@define(kw_only=True)
class RunRecord:
    """One run: of a definition's version, or of a body within one (``path`` leads to it).

    ``root`` is the run that nobody started but a caller; ``parent`` names run, step and place of
    the step that started this one. ``bound`` are the versions of other workflows that it uses.
    """

    id: str
    root: str
    definition: str
    version: str
    digest: str
    caller: dict[str, Any]
    inputs: Any
    created_at: float
    path: list[str] = field(factory=list)
    parent: list[Any] | None = None
    state: RunState = RunState.READY
    bound: dict[str, str] = field(factory=dict)
    pins: dict[str, str] = field(factory=dict)
    outputs: Any = None
    failure: dict[str, Any] | None = None
    due_at: float | None = None
    ended_at: float | None = None
    cancelled_by: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept."""
        return {**asdict(self), "state": self.state.value}

    @classmethod
    def of(cls, data: dict[str, Any]) -> RunRecord:
        """Read it as it was kept."""
        return cls(**{**data, "state": RunState(data["state"])})

    @property
    def who(self) -> CallerContext:
        """In whose name its steps run."""
        return CallerContext(**self.caller)

    def caller_of(self, node: str) -> CallerContext:
        """Return the caller of one step: who started the run, by the surface of workflows."""
        made = {**self.caller, "run": self.root, "plan_step": node, "surface": Surface.WORKFLOW}
        return CallerContext(**made)


def caller_json(caller: CallerContext) -> dict[str, Any]:
    """Return of a caller what a run keeps: who it is, and what it is allowed by."""
    kept = ("principal", "on_behalf_of", "workspace", "role", "profile", "trace_id")
    return {name: getattr(caller, name) for name in kept}


def failure_json(given: StructuredFailure) -> dict[str, Any]:
    """Return a failure as it is kept and shown."""
    return {
        "kind": given.kind.value,
        "code": given.code,
        "message": given.message,
        "details": dict(given.details),
        "next_action": given.next_action,
    }


def problem(code: str, message: str | None = None, /, **details: Any) -> dict[str, Any]:
    """Make a failure of the table as it is kept."""
    return failure_json(failure(code, message, **details))
