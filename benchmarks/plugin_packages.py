"""What 1,000 packages of 10 capabilities cost: register, import, start, list, find."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_plugin_packages import plugin

COUNT, EACH = 1_000, 10


def manifest(number: int) -> dict[str, Any]:
    """Make up a package of ten capabilities, with words of its own."""
    return {
        "kind": "holon-plugin/v1",
        "id": f"bench.p{number}",
        "version": "1.0.0",
        "title": f"Package {number}",
        "capabilities": [
            {
                "id": f"do-{at}",
                "title": f"Do w{number}x{at}",
                "description": f"Find, change and report the w{number}x{at} of one record.",
                "lane": "cli",
                "input_schema": {
                    "type": "object",
                    "properties": {"record": {"type": "string"}, f"w{at}": {"type": "integer"}},
                    "required": ["record"],
                    "additionalProperties": False,
                },
                "output_schema": {"type": "object"},
                "effects": ["machine_read"],
                "command": {"program": "./bin/tool", "arguments": ["--", "${record}"]},
            }
            for at in range(EACH)
        ],
    }


def measured(name: str, work: Callable[[], Any], *, times: int = 1) -> Any:
    """Run something, and say what it took, each time."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        made = work()
    wall, cpu = (time.perf_counter() - wall) / times, (time.process_time() - cpu) / times
    sys.stdout.write(f"{name:<44} {cpu * 1000:10.2f} ms CPU {wall * 1000:10.2f} ms wall\n")
    sys.stdout.flush()
    return made


def main() -> int:
    """Measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = []
        for number in range(COUNT):
            path = folder / f"p{number}"
            (path / "bin").mkdir(parents=True)
            (path / "bin" / "tool").write_text("#!/bin/sh\necho '{}'\n")
            (path / "holon-plugin.json").write_text(json.dumps(manifest(number)))
            paths.append(path)

        def opened() -> holon.Runtime:
            return holon.Runtime.open(folder / "root", plugins=[plugin], discover=False)

        with opened() as rt:
            packages = rt.service("plugin_packages")
            measured(
                f"register {COUNT} packages",
                lambda: [packages.register(path=str(path)) for path in paths],
            )
            measured(
                f"import {COUNT} packages of {EACH}",
                lambda: [packages.import_package(rt, f"bench.p{n}") for n in range(COUNT)],
            )
        rt = measured("open again", opened)
        with rt:
            session = rt.session(principal="ann")
            measured("a page of 50 packages", lambda: packages_page(rt), times=10)
            measured("the first search", lambda: session.discover("w500x5 of one record"))
            found = measured("a search", lambda: session.discover("w500x5 of one record"), times=20)
            best = found.items[0].id
            rt.skills.approve_execution(
                "holon-plugin-packages.bench.p500/bench.p500",
                posture=holon.Posture.PLUGIN_PACKAGE_LIVE,
                by="boss",
                reason="measured",
            )
            measured("a dry run", lambda: session.dry_run(best, {"record": "x"}), times=50)
    return 0 if best.endswith("p500/do-5") else 1


def packages_page(rt: holon.Runtime) -> Any:
    """Return a page of packages, as an operation answers it."""
    caller = rt.session(principal="ann").caller
    return rt.dispatch("plugin-package/list", {"limit": 50}, caller=caller)


if __name__ == "__main__":
    raise SystemExit(main())
