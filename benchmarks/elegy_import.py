"""What 5,000 imported skills cost: import in one call, again, list, find. CPU and wall time."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_elegy import plugin
from holon_elegy.importing import import_skills

COUNT = 5_000
SOURCE = "holon-elegy.bench"
LIMIT_S = 10.0


def definition(number: int) -> dict[str, Any]:
    """Make up a skill of one capability, with words of its own."""
    word = f"w{number:05d}"
    return {
        "skillFormat": "elegy-skill-definition",
        "skillVersion": 2,
        "identity": {"namespace": "bench", "name": f"skill-{number}", "version": "1.0.0"},
        "metadata": {"displayName": f"Skill {number}", "summary": f"Does {word} for records."},
        "capabilities": [
            {
                "id": f"do-{number}",
                "name": f"Do {word}",
                "description": f"Find, change and report the {word} of one record.",
                "implementation": {
                    "executionType": "subprocess",
                    "executableName": "tool",
                    "arguments": ["do", "${record}", "--limit", "${limit}", f"--{word}", "${on}"],
                },
                "input": {
                    "parameters": [
                        {"name": "record", "type": "string", "required": True},
                        {"name": "limit", "type": "integer", "required": False},
                        {"name": "on", "type": "boolean", "required": False},
                        {"name": f"{word}_id", "type": "string", "required": False},
                    ]
                },
                "output": {
                    "schemaRef": "https://elegy/contracts/schemas/planning-result.schema.json"
                },
                "execution": {"hasSideEffects": number % 2 == 0, "timeoutSeconds": 30},
            }
        ],
        "discovery": {"keywords": [word, "records"], "triggers": [{"pattern": f"do {word}"}]},
        "lifecycleState": "active",
    }


def measured(name: str, work: Callable[[], Any]) -> tuple[Any, float]:
    """Run something, and say what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sys.stdout.write(f"{name:<42} {cpu:8.2f} s CPU {wall:8.2f} s wall\n")
    return made, cpu


def main() -> int:
    """Measure; 1 where the first import took more than its limit of CPU."""
    definitions = [definition(number) for number in range(COUNT)]
    with (
        tempfile.TemporaryDirectory() as folder,
        holon.Runtime.open(Path(folder) / "root", plugins=[plugin], discover=False) as rt,
    ):
        kind = holon.SkillSourceKind.ELEGY_V2
        rt.skills.register_source(holon.SkillSourceDescriptor(id=SOURCE, kind=kind))
        first, took = measured(
            f"import {COUNT} skills in one call", lambda: import_skills(rt, SOURCE, definitions)
        )
        assert all(each.state == "added" for each in first), first[0]
        again, _ = measured("import them again", lambda: import_skills(rt, SOURCE, definitions))
        assert all(each.state == "unchanged" for each in again)
        page, _ = measured("list 1,000 of them", lambda: rt.skills.list(limit=1000))
        assert len(page) == 1000
        session = rt.session(principal="ann")
        found, _ = measured("find one, the index made", lambda: session.discover("w04321"))
        assert found.items[0].id == f"{SOURCE}/do-4321"
        found, _ = measured("find another", lambda: session.discover("w00042"))
        assert found.items[0].id == f"{SOURCE}/do-42"
    return 0 if took <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
