"""Paired measurement on the CPU clock: two things in turn, block by block, and their ratio.

A shared machine changes its speed from second to second. A ratio of neighbouring blocks holds
where single figures do not, so that is what the claims in docs/performance.md are made of.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

Work = Callable[[], object]


class Paired(NamedTuple):
    """Medians of paired blocks: microseconds of each, and the ratio with its quartiles."""

    base_us: float
    other_us: float
    ratio: float
    low: float
    high: float


def block_us(work: Work, calls: int) -> float:
    """CPU microseconds of one call, over a block of them, all threads included."""
    began = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - began) / calls * 1e6


def paired(base: Work, other: Work, *, blocks: int = 25, target_s: float = 0.05) -> Paired:
    """Measure two things in turn: base, other, base; the ratio is against both neighbours."""
    calls_base, calls_other = _calls(base, target_s), _calls(other, target_s)
    gc.collect()
    rows = []
    for _ in range(blocks):
        before = block_us(base, calls_base)
        mine = block_us(other, calls_other)
        after = block_us(base, calls_base)
        rows.append(((before + after) / 2, mine))
    ratios = sorted(mine / floor for floor, mine in rows)
    quarter = len(ratios) // 4
    return Paired(
        base_us=statistics.median(floor for floor, _ in rows),
        other_us=statistics.median(mine for _, mine in rows),
        ratio=statistics.median(ratios),
        low=ratios[quarter],
        high=ratios[-1 - quarter],
    )


def _calls(work: Work, target_s: float) -> int:
    work()
    return max(1, int(target_s / max(block_us(work, 20) / 1e6, 1e-7)))


def report(title: str, rows: list[dict[str, object]]) -> None:
    """Print rows as a table, or as JSON with ``--json``."""
    if "--json" in sys.argv:
        print(json.dumps({"title": title, "rows": rows}))
        return
    print(title)
    names = list(rows[0])
    cells = [[f"{v:.2f}" if isinstance(v, float) else str(v) for v in r.values()] for r in rows]
    widths = [max(len(n), *(len(c[i]) for c in cells)) for i, n in enumerate(names)]
    for line in [names, *cells]:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))
