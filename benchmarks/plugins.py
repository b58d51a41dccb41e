"""What opening a runtime costs with many installed lanes, before the first is used.

Each lane is a generated distribution with three hooks, one source and one tool. Each figure is
CPU time in a fresh interpreter, the median of several, on a root that knows the lanes already;
``first`` is the opening that stores their definitions. ``imports`` is what a bare interpreter
takes to import the same modules: two a lane, the thin one of its hooks and the one behind it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from pairs import report

OPEN = """
import json, sys, time
import holon_core
from holon_core import Runtime
began = time.process_time()
with Runtime.open(sys.argv[1]) as runtime:
    took = time.process_time() - began
    found = [len(runtime.plugins.list()), len(runtime.tools)]
print(json.dumps([took * 1000, found]))
"""
IMPORT = """
import importlib, json, sys, time
import holon_core.records.lane, pluggy
began = time.process_time()
for number in range(int(sys.argv[1])):
    importlib.import_module(f"acme_{number:03}")
    importlib.import_module(f"acme_{number:03}_lane")
print(json.dumps([(time.process_time() - began) * 1000, []]))
"""
LANE = """
from holon_core.plugins.markers import hookimpl

@hookimpl
def holon_capability_lanes(host):
    from {module}_lane import lane
    return [lane()]

@hookimpl
def holon_skill_sources(host):
    from {module}_lane import Source
    return [Source()]

@hookimpl
def holon_executors(host):
    from {module}_lane import executor
    return [executor()]
"""
INSIDE = """
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin, Posture

def lane():
    return CapabilityLane(kind={name!r}, postures=frozenset({{Posture.LANE_LIVE}}))

class Source:
    descriptor = SkillSourceDescriptor(
        id={name!r}, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN
    )

    def signal(self):
        return ""

    def read(self):
        from holon_core.records.tool import RuntimeToolDescriptor
        from holon_core.records.words import Effect
        return [RuntimeToolDescriptor(
            id={name!r} + "/say", lane={name!r}, origin=Origin.PLUGIN,
            posture=Posture.LANE_LIVE, version="1", name="say", description="Say something",
            input_schema={{"type": "object", "additionalProperties": False}},
            effects=frozenset({{Effect.NONE}}),
        )]

class Executor:
    def execute(self, call):
        from holon_core.records.outcome import completed
        return completed({{}})

    def preview(self, call):
        return {{}}

def executor():
    return LaneExecutor(source={name!r}, executor=Executor())
"""


def install(site: Path, count: int) -> None:
    """Make a folder of installed distributions: the core's metadata and so many lanes."""
    metadata(site, "holon-core", "0.1.0", "")
    for number in range(count):
        name = f"acme-{number:03}"
        module = name.replace("-", "_")
        (site / f"{module}.py").write_text(LANE.format(module=module), encoding="utf-8")
        (site / f"{module}_lane.py").write_text(INSIDE.format(name=name), encoding="utf-8")
        info = metadata(site, name, "1.0", "Requires-Dist: holon-core>=0.1,<0.2\n")
        points = f"[holon]\n{name} = {module}\n"
        (info / "entry_points.txt").write_text(points, encoding="utf-8")


def metadata(site: Path, name: str, version: str, requires: str) -> Path:
    """Write the metadata of one distribution."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
    (info / "METADATA").write_text(f"{head}\n{'A long description. ' * 200}\n", encoding="utf-8")
    return info


def fresh_ms(code: str, site: Path, argument: str) -> tuple[float, list[int]]:
    """Run code in a fresh interpreter; return its CPU milliseconds, and what it found."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code, argument],
        check=True,
        capture_output=True,
        text=True,
        env=env,
    )
    took, found = json.loads(done.stdout)
    return took, found


def main(runs: int = 15) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        places = []
        for count in (0, 50, 200):
            site, root = Path(folder, f"site{count}"), str(Path(folder, f"root{count}"))
            install(site, count)
            fresh_ms(OPEN, site, f"{root}.warm")
            first, found = fresh_ms(OPEN, site, root)
            assert all(each >= count for each in found), found
            places.append((count, site, root, first))
        # In turn, so that what else the machine does falls on all alike.
        warm: dict[int, list[float]] = {count: [] for count, *_ in places}
        imports: dict[int, list[float]] = {count: [] for count, *_ in places}
        for _ in range(runs):
            for count, site, root, _ in places:
                warm[count].append(fresh_ms(OPEN, site, root)[0])
                imports[count].append(fresh_ms(IMPORT, site, str(count))[0])
        base = statistics.median(warm[0])
        rows: list[dict[str, object]] = [
            {
                "lanes": count,
                "first_ms": first,
                "cpu_ms": statistics.median(warm[count]),
                "added_ms": statistics.median(warm[count]) - base,
                "imports_ms": statistics.median(imports[count]),
            }
            for count, _, _, first in places
        ]
    report("opening with installed lanes, CPU", rows)


if __name__ == "__main__":
    main()
