"""A host of a workflow of three steps that dies where it is told; run as a program."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import holon_core as holon
import holon_workflows.plugin as lane
from holon_workflows.engine.driver import Driver
from sleeper import sleep_long

RULES = '[[rules]]\nname = "all"\nlane = "host"\ndecision = "allow"\n'
FOLDER, POINT = Path(sys.argv[1]), sys.argv[2]


def die() -> None:
    """Die as a host does whose power is cut."""
    os.kill(os.getpid(), signal.SIGKILL)


@holon.tool(effects={"none"})
def look() -> str:
    """Look."""
    return "seen"


@holon.tool(effects={"machine_write"})
def write() -> str:
    """Append a line to a file."""
    if POINT == "started":
        die()
    with (FOLDER / "effects").open("a", encoding="utf-8") as file:
        file.write("x\n")
    if POINT == "effect":
        die()
    return "written"


def node(name: str, tool: str, **inputs: Any) -> dict[str, Any]:
    """Make a node that calls a tool of this host."""
    given = {key: {"value": value} for key, value in inputs.items()}
    config = {"tool": f"host.app/{tool}"}
    return {"id": name, "kind": "capability", "config": config, "inputs": given}


def definition(*nodes: dict[str, Any]) -> dict[str, Any]:
    """Make a workflow of nodes that follow one another."""
    ids = [each["id"] for each in nodes]
    edges = [{"from": a, "to": b} for a, b in pairwise(ids)]
    head = {"schema_version": "holon-workflow/v1", "id": "three", "version": "1"}
    return {**head, "nodes": list(nodes), "edges": edges}


def killed(flows: Any, session: holon.Session) -> None:
    """Go on with the run, and die where that is asked; else tell how it stands."""
    first, second = node("a", "look"), node("b", "write")
    flows.create(definition(first, second, node("c", "look")), by="olga")
    flows.start("three", session=session, run_id="w1")
    run = flows.ready_run("w1")
    waits = run.waits_for
    print(run.state, waits[0]["code"] if waits else "-")


def die_at_steps() -> None:
    """Die before the second step is entered, or after its end was written."""
    begin, run = Driver._begin, Driver._run

    def before(self: Driver, place: Any, record: Any) -> None:
        if POINT == "before" and record.node == "b":
            die()
        begin(self, place, record)

    def after(self: Driver, place: Any, node_id: str) -> None:
        run(self, place, node_id)
        if POINT == "ended" and node_id == "b":
            self.flush()
            die()

    Driver._begin, Driver._run = before, after  # type: ignore[method-assign]


def cancelled(flows: Any, session: holon.Session) -> None:
    """Cancel, twice, while the second of four steps runs a process; tell how all stands."""
    steps = [node("a", "look"), node("b", "sleep_long", folder=str(FOLDER))]
    flows.create(definition(*steps, node("c", "write"), node("d", "look")), by="olga")
    run = flows.start("three", session=session)
    driving = threading.Thread(target=flows.ready_run, args=[run.id])
    driving.start()
    child = FOLDER / "child"
    deadline = time.monotonic() + 20
    while not child.exists() or not child.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline, flows.read(run.id)
        time.sleep(0.02)
    for _ in range(2):
        flows.cancel(run.id, by="ann", reason="enough")
    driving.join()
    flows.cancel(run.id, by="ann", reason="enough")
    run = flows.read(run.id)
    states = [run.step(each).state for each in "abc"]
    print(run.state, *states, "there" if alive(int(child.read_text())) else "gone")


def alive(pid: int) -> bool:
    """Tell whether a process lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Do what the command line says."""
    root = FOLDER / "root"
    root.mkdir(exist_ok=True)
    (root / "holon.toml").write_text(RULES, encoding="utf-8")
    die_at_steps()
    tools = [look, write, sleep_long]
    with holon.Runtime.open(root, plugins=[lane], discover=False, tools=tools) as rt:
        flows, session = rt.service("workflows"), rt.session(principal="ann")
        (cancelled if POINT == "cancel" else killed)(flows, session)


if __name__ == "__main__":
    main()
