"""A crash campaign: a workflow of 30 nodes, killed at random points, goes on to the same end.

Run as a program it takes the number of kills: ``./dev crash-workflows 300``.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from attrs import define

import holon_core as holon
import holon_workflows.plugin as lane

NODES = 30
RULES = '[[rules]]\nname = "all"\nlane = "host"\ndecision = "allow"\n'


@define
class Report:
    """What a campaign saw."""

    kills: int = 0
    runs: int = 0
    interrupted: int = 0
    effects: int = 0
    restarts: int = 0


def tools(effects: Path) -> list[Any]:
    """Make the tools: one that reads, one whose effect is a line in a file."""

    @holon.tool(effects={"none"})
    def add(n: int, more: int) -> int:
        """Add two numbers."""
        return n + more

    @holon.tool(effects={"machine_write"})
    def note(n: int, step: str) -> int:
        """Note a step in a file, and give its number."""
        with effects.open("a", encoding="utf-8") as file:
            file.write(f"{step}\n")
            file.flush()
            os.fsync(file.fileno())
        return n

    return [add, note]


def workflow() -> dict[str, Any]:
    """Make the workflow: every third node has a side effect, and two ways join at the end."""
    nodes: list[dict[str, Any]] = []
    edges = []
    for number in range(NODES):
        name = f"s{number}"
        before = number - 2 if number > 1 else None
        given: Any = (
            {"value": number} if before is None else {"from": f"steps.s{before}.output.result"}
        )
        if number % 3 == 2:
            config, inputs = {"tool": "host.app/note"}, {"n": given, "step": {"value": name}}
        else:
            config, inputs = {"tool": "host.app/add"}, {"n": given, "more": {"value": number}}
        nodes.append({"id": name, "kind": "capability", "config": config, "inputs": inputs})
        if before is not None:
            edges.append({"from": f"s{before}", "to": name})
    return {
        "schema_version": "holon-workflow/v1",
        "id": "long",
        "version": "1",
        "nodes": nodes,
        "edges": edges,
        "outputs": {
            "a": f"steps.s{NODES - 1}.output.result",
            "b": f"steps.s{NODES - 2}.output.result",
        },
    }


def opened(root: Path, effects: Path) -> holon.Runtime:
    """Open the store of a campaign."""
    return holon.Runtime.open(root, plugins=[lane], discover=False, tools=tools(effects))


def prepared(folder: Path) -> tuple[Path, dict[str, Any], float]:
    """Make a store with the workflow; return it, what an undisturbed run gives, and its time."""
    root = folder / "root"
    root.mkdir()
    (root / "holon.toml").write_text(RULES, encoding="utf-8")
    with opened(root, folder / "undisturbed") as rt:
        flows = rt.service("workflows")
        flows.create(workflow(), by="olga")
        flows.run("long", session=rt.session(principal="ann"))
        begun = time.monotonic()
        run = flows.run("long", session=rt.session(principal="ann"))
        took = time.monotonic() - begun
        assert run.state == "completed"
        return root, run.outputs, took


def kill_once(root: Path, effects: Path, run_id: str, after_s: float) -> bool:
    """Drive a run in a process of its own, and kill that; tell whether it was still at work."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the process that is killed
        try:
            with opened(root, effects) as rt:
                os.write(told, b"x")
                rt.service("workflows").ready_run(run_id)
        finally:
            os._exit(0)
    os.close(told)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(after_s)
    killed = os.waitpid(pid, os.WNOHANG)[0] == 0
    if killed:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return killed


def campaign(folder: Path, *, kills: int, seed: int) -> Report:
    """Kill until that many kills are counted; every run ends as an undisturbed one does.

    What was interrupted is resolved as a person would: by looking at the file.
    """
    root, expected, took = prepared(folder)
    dice, report = random.Random(seed), Report()
    while report.kills < kills:
        report.runs += 1
        effects = folder / f"effects-{report.runs}"
        effects.touch()
        with opened(root, effects) as rt:
            ann = rt.session(principal="ann")
            run_id = rt.service("workflows").start("long", session=ann).id
        for _ in range(4):
            if report.kills < kills:
                report.kills += kill_once(root, effects, run_id, dice.uniform(0, took * 0.8))
        finish(root, effects, run_id, expected, report)
    return report


def finish(
    root: Path, effects: Path, run_id: str, expected: dict[str, Any], report: Report
) -> None:
    """Bring a run to its end, and hold it against the undisturbed one."""
    with opened(root, effects) as rt:
        flows = rt.service("workflows")
        run = flows.ready_run(run_id)
        while run.state == "blocked":
            for waits in run.waits_for:
                assert waits["code"] == "workflow_step_indeterminate", waits
                report.interrupted += 1
                resolve(flows, run, waits["step"], effects)
            report.restarts += 1
            run = flows.ready_run(run_id)
        assert run.state == "completed", (run.state, run.failure)
        assert run.outputs == expected
        lines = effects.read_text(encoding="utf-8").split()
        wanted = {f"s{number}" for number in range(NODES) if number % 3 == 2}
        assert sorted(lines) == sorted(wanted), "each effect is there exactly once"
        report.effects += len(lines)
        assert rt.evidence.verify(None).consistent


def resolve(flows: Any, run: Any, step: str, effects: Path) -> None:
    """Look whether the effect is there, and say so."""
    done = step in effects.read_text(encoding="utf-8").split()
    number = int(step[1:])
    value = number
    if number > 1:
        value = run.step(f"s{number - 2}").output["result"]
    action = "complete" if done else "rerun"
    output = {"result": value} if done else None
    flows.resolve(run.id, step, action=action, by="olga", reason="I looked", output=output)


def main() -> int:
    """Run the campaign of the command line."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = campaign(Path(folder), kills=kills, seed=seed)
    print(report)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
