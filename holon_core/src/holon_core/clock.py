"""Time behind a seam: wall clock for records, monotonic clock for durations."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What Holon asks of a clock. Tests bring their own."""

    def now(self) -> float:
        """Wall-clock time in Unix seconds; may be set back."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, from an arbitrary start."""
        ...


class SystemClock:
    """The machine's clocks."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
