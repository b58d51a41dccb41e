"""Any JSON is read, imported or refused with paths: no crash, no hang; how many cases, by number.

python tests/elegy/fuzzing.py 10000
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from hypothesis import HealthCheck, given, settings

import holon_core as holon
from contract_values import values
from elegy_contracts import canonical, examine, write
from holon_elegy import plugin
from holon_elegy.importing import import_skills

SOURCE = "holon-elegy.fuzz"
MAX_CASE_S = 5.0
FUZZED = (
    None,
    "skill",
    "skill-definition",
    "capability-definition",
    "elegy-capability-catalog-v1",
    "elegy-capability-catalog-v2",
    "elegy-plugin-package",
    "skill-discovery-index",
    "invocation-response",
    "execution-event",
)


def check(data: Any, rt: holon.Runtime) -> str:
    """Read and import one value; return what became of it."""
    began = time.monotonic()
    one = examine(None, data)
    assert one.valid or one.findings, "refused without a finding"
    assert all(f.path == "" or f.path.startswith("/") for f in one.findings), one.findings
    if one.valid:
        assert canonical(write(one.value)) == one.canonical()
    state = "read" if one.valid else "refused"
    outcomes = import_skills(rt, SOURCE, [data])
    assert outcomes, "nothing is said of it"
    for outcome in outcomes:
        assert all(f.path == "" or f.path.startswith("/") for f in outcome.findings)
        if outcome.state == "rejected":
            assert outcome.findings
        else:
            state = "imported"
    assert time.monotonic() - began < MAX_CASE_S, "a case took too long"
    return state


def run(cases: int) -> dict[str, int]:
    """Try a number of cases; return how many were read, refused and imported."""
    counts: dict[str, int] = {}
    each = -(-cases // len(FUZZED))
    with holon.Runtime.in_memory(plugins=[plugin]) as rt:
        kind = holon.SkillSourceKind.ELEGY_V2
        rt.skills.register_source(holon.SkillSourceDescriptor(id=SOURCE, kind=kind))
        for contract in FUZZED:

            @settings(
                max_examples=each,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(values(contract))
            def one(data: Any) -> None:
                state = check(data, rt)
                counts[state] = counts.get(state, 0) + 1

            one()
    return counts


def main() -> int:
    """Run the campaign and say what it came to."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    began = time.monotonic()
    counts = run(cases)
    took = time.monotonic() - began
    sys.stdout.write(f"{sum(counts.values())} cases in {took:.0f} s: {counts}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
