"""What importing costs, and what it takes to be ready for the first guarded call.

Each figure is of a fresh interpreter: CPU time and resident memory beyond ``python -c pass``,
the best of several runs (CPU) and of one run (memory).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pairs import report

MEASURE = """
import resource, sys, json
usage = resource.getrusage(resource.RUSAGE_SELF)
memory = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(json.dumps([usage.ru_utime + usage.ru_stime, int(memory[0]) / 1024, len(sys.modules)]))
"""
READY = """
import holon_core as holon
@holon.tool(effects={{"none"}})
def add(a: int, b: int) -> int:
    return a + b
runtime = holon.Runtime.open({root!r}, tools=[add], discover=False)
assert runtime.session(principal="p").call("host.app/add", {{"a": 1, "b": 2}}).output["result"] == 3
runtime.close()
"""


def fresh(code: str) -> tuple[float, float, int]:
    """Run code in a fresh interpreter: CPU ms, resident MB, modules."""
    # Compiled modules are kept, as they are wherever a library is installed.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code + MEASURE], check=True, capture_output=True, text=True, env=env
    )
    cpu, memory, modules = json.loads(done.stdout.splitlines()[-1])
    return cpu * 1000, memory, modules


def best(code: str, runs: int = 9) -> tuple[float, float, int]:
    """The best of several runs, after one that warms the file cache."""
    fresh(code)
    return min(fresh(code) for _ in range(runs))


def main() -> None:
    """Measure and print."""
    empty = best("pass")
    cases = {
        "import holon_core": "import holon_core",
        "import holon_core, take every name": "from holon_core import *",
    }
    with tempfile.TemporaryDirectory() as folder:
        cases["open a new root, first guarded call"] = READY.format(root=str(Path(folder, "new")))
        known = READY.format(root=str(Path(folder, "known")))
        fresh(known)
        cases["open a known root, first guarded call"] = known
        rows: list[dict[str, object]] = []
        for name, code in cases.items():
            cpu, memory, modules = best(code)
            rows.append(
                {
                    "case": name,
                    "cpu_ms": cpu - empty[0],
                    "memory_mb": memory - empty[1],
                    "modules": modules - empty[2],
                }
            )
    report("start-up, beyond an empty interpreter", rows)


if __name__ == "__main__":
    main()
