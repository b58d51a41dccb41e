"""Many processes serve one store: every run ends, nothing is lost or done twice.

Run as a program it takes the numbers of processes and runs: ``./dev many-runners 8 200``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import holon_core as holon
import holon_workflows.plugin as lane

RULES = '[[rules]]\nname = "all"\nlane = "host"\ndecision = "allow"\n'


def tools(effects: Path) -> list[Any]:
    """Make one tool, whose effect is a line in a file."""

    @holon.tool(effects={"machine_write"})
    def note(run: int, step: str) -> str:
        """Note a step of a run in a file."""
        line = f"{run}/{step}\n".encode()
        with effects.open("ab", buffering=0) as file:
            file.write(line)
        return step

    return [note]


def workflow() -> dict[str, Any]:
    """Make four steps with effects, two of them side by side, and a short wait."""
    steps = {name: {"run": {"from": "inputs.run"}, "step": {"value": name}} for name in "abcd"}
    nodes: list[dict[str, Any]] = [
        {
            "id": name,
            "kind": "capability",
            "config": {"tool": "host.app/note"},
            "inputs": inputs,
        }
        for name, inputs in steps.items()
    ]
    nodes.append({"id": "w", "kind": "wait-timer", "config": {"after_s": 0.05}})
    pairs = (("a", "b"), ("a", "c"), ("b", "w"), ("c", "w"), ("w", "d"))
    return {
        "schema_version": "holon-workflow/v1",
        "id": "many",
        "version": "1",
        "inputs": {
            "type": "object",
            "properties": {"run": {"type": "integer"}},
            "required": ["run"],
            "additionalProperties": False,
        },
        "nodes": nodes,
        "edges": [{"from": a, "to": b} for a, b in pairs],
        "outputs": {"last": "steps.d.output.result"},
    }


def opened(folder: Path) -> holon.Runtime:
    """Open the store."""
    return holon.Runtime.open(
        folder / "root", plugins=[lane], discover=False, tools=tools(folder / "effects")
    )


def served(folder: Path, *, processes: int, runs: int) -> Counter[str]:
    """Start runs, let processes serve them, and count the effects.

    Raises:
        AssertionError: A run is lost, or did something twice, or a process failed.
    """
    (folder / "root").mkdir()
    (folder / "root" / "holon.toml").write_text(RULES, encoding="utf-8")
    with opened(folder) as rt:
        flows, ann = rt.service("workflows"), rt.session(principal="ann")
        flows.create(workflow(), by="olga")
        for number in range(runs):
            flows.start("many", {"run": number}, session=ann)
    pids = [_serving(folder) for _ in range(processes)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert codes == [0] * processes, codes
    with opened(folder) as rt:
        flows = rt.service("workflows")
        found = flows.list(limit=runs + 1)
        assert len(found) == runs
        assert {run.state.value for run in found} == {"completed"}
        assert rt.evidence.verify(None).consistent
    lines = Counter((folder / "effects").read_text(encoding="utf-8").split())
    assert set(lines) == {f"{run}/{step}" for run in range(runs) for step in "abcd"}
    assert set(lines.values()) == {1}, "each effect is there exactly once"
    return lines


def _serving(folder: Path) -> int:
    pid = os.fork()
    if pid == 0:  # pragma: no cover - a process of its own
        code = 1
        try:
            with opened(folder) as rt:
                rt.service("workflows").serve(until_idle=True)
            code = 0
        finally:
            os._exit(code)
    return pid


def main() -> int:
    """Serve as the command line says."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as folder:
        lines = served(Path(folder), processes=processes, runs=runs)
    print(f"{processes} processes, {runs} runs, {sum(lines.values())} effects, each exactly once")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
