"""Steps of workflows: what a governed, recorded step costs beside a durable step of DBOS.

Both run in this process, on SQLite files of their own, in turn, and do the same number of steps;
each step is a function that adds one. CPU time of the process, all threads.
"""

from __future__ import annotations

import gc
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairs import report

import holon_core as holon
import holon_workflows.plugin as lane

STEPS = 10


@holon.tool(effects={"none"})
def add_one(n: int) -> int:
    """Add one."""
    return n + 1


def definition() -> dict[str, Any]:
    """Make a workflow of steps that follow one another."""
    nodes: list[dict[str, Any]] = []
    for number in range(STEPS):
        before = {"value": 0} if not number else {"from": f"steps.s{number - 1}.output.result"}
        config = {"tool": "host.app/add_one"}
        node = {"id": f"s{number}", "kind": "capability", "config": config}
        nodes.append({**node, "inputs": {"n": before}})
    edges = [{"from": f"s{n}", "to": f"s{n + 1}"} for n in range(STEPS - 1)]
    head = {"schema_version": "holon-workflow/v1", "id": "steps", "version": "1"}
    return {**head, "nodes": nodes, "edges": edges, "outputs": {}}


def dbos_runner(folder: Path) -> Callable[[], object]:
    """Make the same with DBOS."""
    from dbos import DBOS

    logging.getLogger("dbos").setLevel(logging.ERROR)
    url = f"sqlite:///{folder / 'dbos.sqlite'}"
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    @DBOS.step()
    def step(n: int) -> int:
        return n + 1

    @DBOS.workflow()
    def workflow() -> int:
        n = 0
        for _ in range(STEPS):
            n = step(n)
        return n

    DBOS.launch()
    return workflow


def main() -> None:
    """Measure in turn, and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 15
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = dbos_runner(folder)
        with holon.Runtime.open(
            folder / "root", plugins=[lane], discover=False, tools=[add_one]
        ) as rt:
            flows, ann = rt.service("workflows"), rt.session(principal="ann")
            flows.create(definition(), by="olga")

            def ours() -> object:
                return flows.run("steps", session=ann)

            rows = measure({"holon": ours, "dbos": theirs}, rounds)
        from dbos import DBOS

        DBOS.destroy()
    report(f"{STEPS} durable steps in a workflow, SQLite files, CPU microseconds a step", rows)


def measure(works: dict[str, Callable[[], object]], rounds: int) -> list[dict[str, object]]:
    """Run each in turn, many times."""
    found: dict[str, list[float]] = {name: [] for name in works}
    walls: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
        work()
    gc.collect()
    for _ in range(rounds):
        for name, work in works.items():
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(5):
                work()
            found[name].append((time.process_time() - cpu) / 5 / STEPS * 1e6)
            walls[name].append((time.perf_counter() - wall) / 5 / STEPS * 1e6)
    base = statistics.median(found["dbos"])
    return [
        {
            "of": name,
            "cpu_us_a_step": statistics.median(taken),
            "wall_us_a_step": statistics.median(walls[name]),
            "ratio_cpu": statistics.median(taken) / base,
            "ratio_wall": statistics.median(walls[name]) / statistics.median(walls["dbos"]),
        }
        for name, taken in found.items()
    ]


if __name__ == "__main__":
    main()
