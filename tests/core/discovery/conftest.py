"""Fixtures of discovery's tests: a lane with a source that a test fills, and runtimes on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import HandClock
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.outcome import ExecutorOutcome, completed
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Effect, Origin, Posture

SOURCE = "acme-tools"


def definition(name: str, description: str = "", **more: Any) -> RuntimeToolDescriptor:
    """Make a definition of the lane's source."""
    fields: dict[str, Any] = {
        "input_schema": {"type": "object", "additionalProperties": False, "properties": {}},
        "effects": frozenset({Effect.NONE}),
        **more,
    }
    return RuntimeToolDescriptor(
        id=f"{SOURCE}/{name}",
        lane="acme",
        origin=Origin.PLUGIN,
        posture=Posture.LANE_LIVE,
        version="1",
        name=name,
        description=description,
        **fields,
    )


class Executor:
    """Runs every tool of the lane, and counts."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def execute(self, call: Any) -> ExecutorOutcome:
        self.ran.append(call.tool.id)
        return completed({"ok": True})

    def preview(self, call: Any) -> dict[str, Any]:
        return {"tool": call.tool.id}


class Lane:
    """A plugin that brings one lane, one source and what runs it."""

    name = SOURCE

    def __init__(self) -> None:
        self.definitions: list[RuntimeToolDescriptor] = []
        self.gates: tuple[Any, ...] = ()
        self.executor = Executor()
        self.reads = 0

    @holon.hookimpl
    def holon_capability_lanes(self, host: Any) -> list[CapabilityLane]:
        postures = frozenset({Posture.LANE_LIVE})
        return [CapabilityLane(kind="acme", postures=postures, gates=self.gates)]

    @holon.hookimpl
    def holon_skill_sources(self, host: Any) -> list[Any]:
        return [self]

    @holon.hookimpl
    def holon_executors(self, host: Any) -> list[LaneExecutor]:
        return [LaneExecutor(source=SOURCE, executor=self.executor, self_limiting=True)]

    @property
    def descriptor(self) -> SkillSourceDescriptor:
        return SkillSourceDescriptor(id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN)

    def signal(self) -> str:
        return ""

    def read(self) -> list[RuntimeToolDescriptor]:
        self.reads += 1
        return list(self.definitions)


@pytest.fixture
def lane() -> Lane:
    """The plugin; a test fills its definitions before a runtime opens."""
    return Lane()


@pytest.fixture
def clock() -> HandClock:
    """A clock that only the test moves."""
    return HandClock()


@pytest.fixture
def open_runtime(
    tmp_path: Path, lane: Lane, clock: HandClock
) -> Iterator[Callable[..., holon.Runtime]]:
    """Open runtimes on one root, with the lane; all are closed in the end."""
    with ExitStack() as stack:

        def opened(*tools: Any, **options: Any) -> holon.Runtime:
            options.setdefault("clock", clock)
            options.setdefault("plugins", [lane])
            rt = holon.Runtime.open(tmp_path / "root", discover=False, tools=tools, **options)
            return stack.enter_context(rt)

        yield opened


@pytest.fixture
def make() -> Callable[..., RuntimeToolDescriptor]:
    """Make definitions of the lane's source."""
    return definition
