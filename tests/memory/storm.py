"""Many processes on one memory: every acknowledged write is found afterwards, none twice.

``python tests/memory/storm.py [--processes 20] [--seconds 30]`` runs it long.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# Opens a runtime of its own, writes and searches until the time is over, prints what was kept.
WORKER = """
import json, sys, time
import holon_core as holon
from holon_builtin_memory import plugin
root, project, name, seconds = sys.argv[1:]
SOURCE = "holon.built-in.memory"
acknowledged, failed, found, number = [], [], 0, 0
rule = {"id": f"{SOURCE}/write-workspace-memory", "decision": "allow"}
with holon.Runtime.open(root, plugins=[plugin], discover=False, config={"rules": [rule]}) as rt:
    session = rt.session(principal=name, workspace=project)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        content = f"storm {name} {number}"
        number += 1
        result = session.call(f"{SOURCE}/write-workspace-memory", {"content": content})
        if result.failure is None:
            acknowledged.append(content)
        else:
            failed.append(result.failure.code)
        seen = session.call(f"{SOURCE}/search-workspace-memory", {"query": f"storm {name}"})
        found += seen.failure is None
print(json.dumps({"acknowledged": acknowledged, "failed": failed, "searches": found}))
"""


class Broken(Exception):
    """A promise was not kept."""


def storm(folder: Path, *, processes: int, seconds: float) -> dict[str, int]:
    """Let processes write and search one workspace's memory, and count what came of it.

    Raises:
        Broken: A write that was acknowledged is missing or doubled, or the file is not sound.
    """
    root, project = folder / "root", folder / "proj"
    project.mkdir()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(root), str(project), f"p{n}", str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    answers = []
    for worker in workers:
        out, _ = worker.communicate(timeout=seconds + 300)
        if worker.returncode:
            raise Broken(f"a worker ended with {worker.returncode}")
        answers.append(json.loads(out))
    acknowledged = [content for answer in answers for content in answer["acknowledged"]]
    (file,) = root.rglob("memory.db")
    check(file, acknowledged)
    return {
        "processes": processes,
        "acknowledged": len(acknowledged),
        "failed": sum(len(answer["failed"]) for answer in answers),
        "searches": sum(answer["searches"] for answer in answers),
    }


def check(file: Path, acknowledged: list[str]) -> None:
    """Compare what is stored with what was acknowledged.

    Raises:
        Broken: They differ in a write that was acknowledged.
    """
    with sqlite3.connect(file) as connection:
        kept = Counter(row[0] for row in connection.execute("SELECT content FROM memories"))
        sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if sound != "ok":
        raise Broken(f"the file is not sound: {sound}")
    wrong = [content for content in acknowledged if kept[content] != 1]
    if wrong:
        raise Broken(f"{len(wrong)} acknowledged writes lost or doubled, as {wrong[0]!r}")


def main() -> int:
    """Run the storm and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        counts = storm(Path(folder), processes=options.processes, seconds=options.seconds)
    for name, number in counts.items():
        print(f"{name}: {number}")
    print(f"every acknowledged write was found once; {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
