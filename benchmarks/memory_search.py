"""Search in a workspace memory of 100,000, process launch included: p50 and p95.

By the clock, and by the CPU time of caller and program, which other work on the machine disturbs
less.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import tempfile
import time
from pathlib import Path

import holon_core as holon
from holon_builtin_memory import plugin
from holon_core.records.caller import CallerContext

WORDS = [f"{a}{b}{c}" for a in "bdfglmnprst" for b in "aeiou" for c in ("", "r", "n", "lt", "st")]
SEARCH = "holon.built-in.memory/search-workspace-memory"


def texts(count: int, seed: int = 7) -> list[str]:
    """Make texts of 12 words; frequent words are as frequent as in prose."""
    choose = random.Random(seed)
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return [" ".join(choose.choices(WORDS, weights, k=12)) + f" n{n}" for n in range(count)]


def main() -> None:
    """Fill a memory, search it, print the distribution."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "proj").mkdir()
        lines = folder / "in.jsonl"
        lines.write_text("".join(f"{json.dumps(each)}\n" for each in texts(options.memories)))
        with holon.Runtime.open(folder / "root", plugins=[plugin], discover=False) as rt:
            session = rt.session(principal="ann", workspace=folder / "proj")
            caller = CallerContext(principal="ann", workspace=session.caller.workspace)
            began = time.perf_counter()
            taken = rt.dispatch(
                "memory/import", {"input": str(lines)}, caller=caller, authorities=holon.Authority
            )
            print(f"imported {taken['imported']} in {time.perf_counter() - began:.1f} s")
            for kind, make in (
                ("one rare word", lambda choose: f"n{choose.randrange(options.memories)}"),
                ("two words", lambda choose: " ".join(choose.sample(WORDS[20:], 2))),
                ("the most frequent word", lambda choose: WORDS[0]),
            ):
                clock, cpu = times(session, make, options.searches)
                print(f"{kind}: {shown(clock)} by the clock, {shown(cpu)} of CPU")


def shown(measured: list[float]) -> str:
    """Return the middle and the tail of times in seconds."""
    cuts = statistics.quantiles(measured, n=20)
    return f"p50 {cuts[9] * 1000:.1f} ms, p95 {cuts[18] * 1000:.1f} ms"


def spent() -> float:
    """Return the CPU time of this process and of the programs that it has waited for."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(each.ru_utime + each.ru_stime for each in map(resource.getrusage, who))


def times(session: holon.Session, make: object, count: int) -> tuple[list[float], list[float]]:
    """Return how long searches took, in seconds: by the clock, and of CPU."""
    choose = random.Random(11)
    found: list[float] = []
    cpu: list[float] = []
    for _ in range(count):
        query = make(choose)  # type: ignore[operator]
        began, before = time.perf_counter(), spent()
        result = session.call(SEARCH, {"query": query})
        found.append(time.perf_counter() - began)
        cpu.append(spent() - before)
        result.raise_for_failure()
    return found, cpu


if __name__ == "__main__":
    main()
