"""Serves a runtime with a few tools on standard input and output, for tests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_core.operations.lines import claimed_streams
from holon_core.operations.serve import Server
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.outcome import ExecutorFailure, ExecutorOutcome, ExecutorStatus, completed
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.tool import Limits, RuntimeToolDescriptor
from holon_core.records.words import Authority, Effect, Origin, Posture
from holon_core.tool_contract import process_failure

SOURCE = "acme-tools"


@holon.tool(effects={"none"})
def add(a: int, b: int) -> int:
    """Add, with noise on every way to standard output."""
    print("noise")
    os.write(1, b"more noise\n")
    return a + b


@holon.tool(effects={"none"})
async def nap(seconds: float, marker: str = "") -> str:
    """Sleep on the loop, once the marker is there."""
    if marker:
        Path(marker).touch()
    await asyncio.sleep(seconds)
    return "slept"


@holon.tool(effects={"none"})
def block(seconds: float, marker: str) -> str:
    """Sleep in a thread that nobody can end, once the marker is there."""
    Path(marker).touch()
    time.sleep(seconds)
    return "blocked"


@holon.tool(effects={"none"})
def ask() -> str:
    """Read standard input, as a careless tool does."""
    return sys.stdin.readline()


@holon.tool(effects={"none"})
def interrupt() -> None:
    """Raise what ends programs."""
    raise KeyboardInterrupt


@holon.tool(effects={"machine_write"})
def write(text: str) -> str:
    """Write, which asks."""
    return text


def definition(name: str, **properties: Any) -> RuntimeToolDescriptor:
    return RuntimeToolDescriptor(
        id=f"{SOURCE}/{name}",
        lane="acme",
        origin=Origin.PLUGIN,
        posture=Posture.LANE_LIVE,
        version="1",
        name=name,
        input_schema={
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        },
        effects=frozenset({Effect.NONE}),
        limits=Limits(timeout_s=60),
    )


class Lane:
    """A lane whose tools report progress, and start processes."""

    name = SOURCE
    descriptor = SkillSourceDescriptor(id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN)

    @holon.hookimpl
    def holon_capability_lanes(self, host: Any) -> list[CapabilityLane]:
        return [CapabilityLane(kind="acme", postures=frozenset({Posture.LANE_LIVE}))]

    @holon.hookimpl
    def holon_skill_sources(self, host: Any) -> list[Any]:
        return [self]

    @holon.hookimpl
    def holon_executors(self, host: Any) -> list[LaneExecutor]:
        return [LaneExecutor(source=SOURCE, executor=self, self_limiting=True)]

    def signal(self) -> str:
        return "1"

    def read(self) -> list[RuntimeToolDescriptor]:
        steps = definition("steps", count={"type": "integer"})
        return [steps, definition("sleep", pid_file={"type": "string"})]

    def preview(self, call: Any) -> dict[str, Any]:
        return {}

    def execute(self, call: Any) -> ExecutorOutcome:
        if call.tool.name == "steps":
            for step in range(call.arguments["count"]):
                call.progress("step", step, call.arguments["count"], f"number {step}")
            return completed({"done": True})
        code = "import os,sys,time; open(sys.argv[1],'w').write(str(os.getpid())); time.sleep(60)"
        done = call.run_process((sys.executable, "-c", code, call.arguments["pid_file"]))
        failed = process_failure(done)
        if failed is None:
            return completed({"done": True})
        return ExecutorOutcome(
            status=ExecutorStatus.FAILED,
            failure=ExecutorFailure(kind=failed.kind, code=failed.code, message=failed.message),
        )


def main(root: str, options: str) -> None:
    """Serve until the input ends or SIGTERM comes."""
    given = json.loads(options)
    with (
        claimed_streams() as (source, sink),
        holon.Runtime.open(
            root,
            tools=[add, nap, block, ask, interrupt, write],
            plugins=[Lane()],
            discover=False,
        ) as runtime,
    ):
        server = Server(
            runtime,
            runtime.session(principal="ann").caller,
            authorities=[Authority.CALLER, *map(Authority, given.get("authorities", ()))],
            approver=given.get("approver"),
        )
        signal.signal(signal.SIGTERM, lambda *_: server.stop())
        server.run(source, sink)


if __name__ == "__main__":
    main(*sys.argv[1:])
