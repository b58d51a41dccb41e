"""grep and glob through the guarded call against ripgrep started alone, on 20,000 files.

Both run the same program with warm caches, in turn, so that a busy machine is busy for both. The
claim: the median through the call is at most 1.15 times the median of the program, plus 2 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holon_builtin_workspace.descriptors import tools
from holon_builtin_workspace.lane import SOURCE
from holon_builtin_workspace.ripgrep import packaged
from holon_core.catalogue.catalogue import Entry
from holon_core.functions.host import DEFINITION_DOMAIN
from holon_core.runtime import Runtime
from holon_core.wire.canonical import digest

WORDS = ["alpha", "beta", "gamma", "delta", "value", "index", "count", "result", "error", "handle"]


def plant(root: Path, files: int) -> None:
    """Make a tree of small source files; one in 2,000 has the rare word."""
    choose = random.Random(7)
    for number in range(files):
        folder = root / f"package{number % 40}" / f"module{number % 400}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (
            f"{choose.choice(WORDS)}_{choose.choice(WORDS)} = {choose.choice(WORDS)}({n})"
            for n in range(choose.randint(10, 70))
        )
        rare = "\nrareneedle = 1" if number % 2000 == 0 else ""
        suffix = "toml" if number % 1000 == 0 else choose.choice(["py", "py", "md", "txt"])
        (folder / f"file{number}.{suffix}").write_text("\n".join(lines) + rare + "\n")
    (root / ".gitignore").write_text("*.log\n/build\n")


def files(glob: str) -> list[str]:
    """Put the same question to ripgrep: its own ``--glob`` would overrule the ignore rules."""
    return ["--files", "--null", f"--type-add=asked:{glob}", "--type=asked", "--", "./"]


def compare(pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]], rounds: int) -> Any:
    """Time each pair in turn; return medians in milliseconds and their ratio.

    ``cpu_ratio`` is of the CPU time of this process and of the programs that it ran: on a machine
    that others use as well, the clock says how long both waited.
    """
    report = {}
    for name, functions in pairs.items():
        times: tuple[list[float], list[float]] = ([], [])
        cpu: tuple[list[float], list[float]] = ([], [])
        for number in range(rounds + 3):
            for which in (number % 2, 1 - number % 2):
                began, used = time.perf_counter(), sum(os.times()[:4])
                functions[which]()
                if number >= 3:
                    times[which].append((time.perf_counter() - began) * 1000)
                    cpu[which].append(sum(os.times()[:4]) - used)
        raw, governed = map(statistics.median, times)
        raw_cpu, governed_cpu = map(statistics.mean, cpu)
        report[name] = {
            "rg_ms": round(raw, 2),
            "call_ms": round(governed, 2),
            "ratio": round(governed / raw, 3),
            "cpu_ratio": round(governed_cpu / raw_cpu, 3),
            "allowed_ms": round(raw * 1.15 + 2, 2),
            "holds": governed <= raw * 1.15 + 2,
        }
    return report


def main() -> int:
    """Make the tree, measure, print JSON; the exit code says whether the claim holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    program = packaged()
    if program is None:
        parser.error("the package ripgrep is not installed")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        root.mkdir()
        plant(root, options.files)
        with Runtime.open(Path(folder) / "storage", discover=False) as runtime:
            for tool, executor in tools():
                whole = tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))
                runtime._guard.catalogue.put(Entry(whole, executor, self_limiting=True))
            session = runtime.session(principal="bench", workspace=root)

            def rg(*arguments: str) -> Callable[[], Any]:
                argv = [program, "--no-config", "--no-require-git", *arguments]
                return lambda: subprocess.run(
                    argv, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=True
                )

            def call(name: str, **arguments: Any) -> Callable[[], Any]:
                tool = f"{SOURCE}/workspace-{name}"
                return lambda: session.call(tool, arguments).raise_for_failure()

            report = compare(
                {
                    "grep, rare word": (
                        rg("--json", "-e", "rareneedle", "--", "./"),
                        call("grep", pattern="rareneedle"),
                    ),
                    "grep, common word": (
                        rg("--json", "-e", "alpha_beta", "--", "./"),
                        call("grep", pattern="alpha_beta"),
                    ),
                    "glob, few files": (rg(*files("*.toml")), call("glob", pattern="*.toml")),
                    "glob, many files": (rg(*files("*.py")), call("glob", pattern="*.py")),
                },
                options.rounds,
            )
    print(json.dumps(report, indent=2))
    return 0 if all(row["holds"] for row in report.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
