"""A ready Rust tool called under guard against the same binary bare.

The bare run by ``subprocess.run``, with the same input. Measured on the CPU clock of this process
and its children together, and by the clock on the wall, in pairs. Needs cargo.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_core.records.words import Authority

MANIFEST = '[package]\nname = "words"\nversion = "0.1.0"\nedition = "2021"\n'
MAIN = """fn main() {
    let input = std::env::var("HOLON_INPUT_JSON").unwrap_or_default();
    println!("{{\\"words\\":{}}}", input.split_whitespace().count());
}
"""
PROPOSAL = {
    "purpose": "Count words",
    "crate_name": "words",
    "binary_name": "words",
    "files": [
        {"path": "Cargo.toml", "content": MANIFEST},
        {"path": "src/main.rs", "content": MAIN},
    ],
    "required_inputs": [{"name": "text", "schema": {"type": "string"}}],
    "side_effects": ["none"],
    "expected_output_schema": {
        "type": "object",
        "properties": {"words": {"type": "integer"}},
        "required": ["words"],
        "additionalProperties": False,
    },
    "validation_command": "cargo test",
    "fixtures": [{"name": "two", "input": {"text": "a b"}, "expect": {"output": {"words": 2}}}],
}
ARGUMENTS = {"text": "to be or not to be"}
ROUNDS = 60


def cpu_s() -> float:
    """CPU seconds of this process and of its children that ended."""
    done = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + done.ru_utime + done.ru_stime


def activate(rt: holon.Runtime, session: holon.Session) -> tuple[str, str]:
    """Bring the tool to Active; return its id and its binary."""

    def ask(verb: str, **params: Any) -> Any:
        method = f"rust-code-tool/{verb}"
        return rt.dispatch(method, params, caller=session.caller, authorities=list(Authority))

    workspace = session.caller.workspace
    create = {"workspace_id": workspace, "name": "words", "version": "1", "proposal": PROPOSAL}
    tool = ask("create-frozen-tool-proposal", **create)["id"]
    one = {"workspace_id": workspace, "frozen_tool_proposal_id": tool}
    for verb in ("build", "test"):
        answer = ask(verb, **one)
        assert answer["status"] == "completed", answer["failure"]
    frozen = rt.tools.frozen
    frozen.validate(tool, caller=session.caller)
    for _ in range(2):
        asked = frozen.promote(tool, session=session).result
        assert asked is not None
        assert asked.held is not None
        rt.approvals.approve(asked.held, by="boss", reason="measured")
        session.release(asked.held)
    return tool, ask("read", **one)["binary_path"]


def compare(bare: Callable[[], Any], guarded: Callable[[], Any]) -> dict[str, dict[str, float]]:
    """Run both in turn; medians, ratios and differences by CPU and by the clock on the wall."""
    rows: list[tuple[float, float, float, float]] = []
    for work in (bare, guarded):
        work()
    for _ in range(ROUNDS):
        marks = []
        for work in (bare, guarded):
            cpu, wall = cpu_s(), time.perf_counter()
            work()
            marks += [cpu_s() - cpu, time.perf_counter() - wall]
        rows.append((marks[0], marks[1], marks[2], marks[3]))
    made = {}
    for name, base, other in (("cpu", 0, 2), ("wall", 1, 3)):
        ratios = sorted(row[other] / row[base] for row in rows)
        made[name] = {
            "bare_ms": statistics.median(row[base] for row in rows) * 1000,
            "guarded_ms": statistics.median(row[other] for row in rows) * 1000,
            "ratio": statistics.median(ratios),
            "low": ratios[len(ratios) // 4],
            "high": ratios[-1 - len(ratios) // 4],
        }
    return made


def main() -> int:
    """Measure and print JSON."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        settings = {"plugins": ["holon-rust-tools"]}
        with holon.Runtime.open(Path(folder) / "root", config=settings) as rt:
            session = rt.session(principal="bench", workspace=place)
            tool, binary = activate(rt, session)
            env = {"HOLON_INPUT_JSON": json.dumps(ARGUMENTS), "PATH": os.defpath}

            def bare() -> object:
                done = subprocess.run(
                    [binary],
                    env=env,
                    cwd=place,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=True,
                )
                return json.loads(done.stdout)

            found = compare(bare, lambda: session.call(tool, ARGUMENTS).raise_for_failure())
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
