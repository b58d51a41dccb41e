"""An office in which agents work: tools that read, that ask a person, and that block."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_core import AgentProfile, Guardrails, PlanStep
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.outcome import (
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    completed,
)
from holon_core.records.words import Posture
from sample_lanes import Source, tool

LOOK, SEND, DOOR = "host.app/look", "host.app/send", "office/door"
PLAN = {"goal": "tidy", "steps": [{"id": "look", "summary": "list it"}]}
REVIEW = {"verdict": "approve", "summary": "ok", "findings": []}
MAX_CALLS = 4
# At the first step nothing is sent.
PROFILE = AgentProfile(
    id="clerk",
    output_class="planner_output",
    plan_steps=(PlanStep(id="read", excluded_tools=(SEND,)), PlanStep(id="write")),
    guardrails=Guardrails(max_calls=MAX_CALLS),
)


class Blocking:
    """An executor that finds, once it is entered, that it must do nothing."""

    def execute(self, call: Any) -> ExecutorOutcome:
        if call.arguments.get("open"):
            return completed({})
        kind = holon.StructuredFailureKind.PATH_REFUSED
        problem = ExecutorFailure(kind=kind, code="path_escape", message="it leads outside")
        return ExecutorOutcome(status=ExecutorStatus.BLOCKED, failure=problem)

    def preview(self, _: Any) -> Mapping[str, Any]:
        return {}


class Office:
    """A plugin with one tool, which blocks unless it is asked to be open."""

    name = "office"

    def __init__(self, executor: Any = None) -> None:
        self._executor = executor or Blocking()

    @holon.hookimpl
    def holon_capability_lanes(self) -> Any:
        yield CapabilityLane(kind="office", postures=frozenset({Posture.LANE_LIVE}))

    @holon.hookimpl
    def holon_skill_sources(self) -> Any:
        schema = {
            "type": "object",
            "properties": {"open": {"type": "boolean"}},
            "additionalProperties": False,
        }
        yield Source("office", [tool(DOOR, input_schema=schema)])

    @holon.hookimpl
    def holon_executors(self) -> Any:
        yield LaneExecutor(source="office", executor=self._executor, self_limiting=True)


@holon.tool(effects={"none"})
def look(n: int = 0) -> int:
    """Look."""
    return n


@holon.tool(effects={"network_write"})
def send(n: int = 0) -> int:
    """Send."""
    return n


def office(root: str | Path, **options: Any) -> holon.Runtime:
    """Open the office; the first to do so hires the clerk."""
    runtime = holon.Runtime.open(
        root, tools=[look, send], plugins=[Office()], discover=False, **options
    )
    if not runtime.agents.profiles.list():
        runtime.agents.profiles.create(PROFILE, by="operator", reason="hired")
    return runtime


def clerk(runtime: holon.Runtime, run: str, step: str = "write") -> holon.Session:
    """Open the door of the clerk in one run."""
    return runtime.session(principal="agent", profile=PROFILE.id, run=run, plan_step=step)


def records(runtime: holon.Runtime) -> list[Any]:
    """Return all evidence of the root, in order."""
    found: list[Any] = []
    while page := runtime.evidence.list(
        workspace=None, after=found[-1].seq if found else 0, limit=1000
    ):
        found += page
    return found


def counted(found: list[Any], run: str) -> tuple[int, int]:
    """Count by evidence alone the calls of a run that were accepted: not blocked, and blocked."""
    accepted = {
        each.call_id
        for each in found
        if each.kind == "accepted" and each.body["caller"].get("run") == run
    }
    blocked = {each.call_id for each in found if each.kind == "blocked"} & accepted
    return len(accepted - blocked), len(blocked)
