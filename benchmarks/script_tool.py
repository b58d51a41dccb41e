"""A script tool called under guard against a bare run of the same program.

Both start the same interpreter with the same flags on the same script, with the same input; the
bare run by ``subprocess.run`` from a file. Measured on the CPU clock of this process and its
children together, in pairs. The bound: added latency of at most 1.15 times.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_script_tools.interpreters import INTERPRETERS, find

SCRIPT = (
    "import json, os\n"
    "given = json.loads(os.environ['HOLON_INPUT_JSON'])\n"
    "print(json.dumps({'words': len(given['text'].split())}))\n"
)
ARGUMENTS = {"text": "to be or not to be"}
ROUNDS = 40
BOUND = 1.15


@holon.tool(effects={"none"})
def count_words(text: str) -> dict[str, int]:
    """Count the words of a text."""
    return {"words": len(text.split())}


def cpu_s() -> float:
    """CPU seconds of this process and of its children that ended."""
    own, done = time.process_time(), os.times()
    return own + done.children_user + done.children_system


def activate(rt: holon.Runtime, session: holon.Session) -> str:
    """Bring the script to Active."""
    run = session.call("host.app/count_words", ARGUMENTS).call_id
    proposal = {
        "name": "count-words",
        "kind": "script-artifact",
        "purpose": "Count the words of a text",
        "policy": {"effects": ["none"]},
        "fallback": {"kind": "none"},
        "content": {"command": ["python3", "main.py"]},
        "files": [{"path": "main.py", "text": SCRIPT}],
    }
    frozen = rt.tools.frozen
    tool = frozen.create(proposal, caller=session.caller, calls=[run])
    frozen.validate(tool.id, caller=session.caller)
    for _ in range(2):
        asked = frozen.promote(tool.id, session=session).result
        assert asked is not None
        assert asked.held is not None
        rt.approvals.approve(asked.held, by="boss", reason="measured")
        session.release(asked.held)
    return tool.id


def compare(bare: Callable[[], Any], guarded: Callable[[], Any]) -> dict[str, dict[str, float]]:
    """Run both in turn; medians and ratios by CPU and by the clock on the wall."""
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
    """Measure, print JSON; the exit code says whether the claim holds."""
    interpreter = find("python3", {})
    assert interpreter is not None
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        program = Path(folder) / "main.py"
        program.write_text(SCRIPT, encoding="utf-8")
        argv = [interpreter, *INTERPRETERS["python3"].flags, str(program)]
        env = {"HOLON_INPUT_JSON": json.dumps(ARGUMENTS), "PATH": os.defpath}

        def bare() -> object:
            done = subprocess.run(
                argv, env=env, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=True
            )
            return json.loads(done.stdout)

        settings = {"plugins": ["holon-script-tools"]}
        with holon.Runtime.open(Path(folder) / "root", tools=[count_words], config=settings) as rt:
            session = rt.session(principal="bench", workspace=place)
            tool = activate(rt, session)
            found = compare(bare, lambda: session.call(tool, ARGUMENTS).raise_for_failure())
    print(json.dumps(found, indent=2))
    return 0 if found["wall"]["ratio"] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
