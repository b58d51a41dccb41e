"""A clock that only the test moves."""

from __future__ import annotations

from holon_core.errors import Misuse

START_UNIX_SECONDS = 1_800_000_000.0


class ManualClock:
    """A ``holon_core`` clock in the hand of a test; pass it to ``Runtime`` as ``clock``.

    Args:
        at: Wall-clock time at the start, in Unix seconds.
    """

    def __init__(self, at: float = START_UNIX_SECONDS) -> None:
        self._at = at
        self._passed = 0.0

    def now(self) -> float:
        """Return the wall-clock time in Unix seconds."""
        return self._at

    def monotonic(self) -> float:
        """Return the seconds that went by; they never go back."""
        return self._passed

    def advance(self, seconds: float) -> None:
        """Let time pass on both sides.

        Args:
            seconds: At least 0; ``set`` turns the wall clock back.

        Raises:
            Misuse: ``seconds`` is negative.
        """
        if seconds < 0:
            raise Misuse("time does not go back; use set(…) to turn the wall clock")
        self._at += seconds
        self._passed += seconds

    def set(self, at: float) -> None:
        """Set the wall clock, in Unix seconds, as an operator would; no time passes."""
        self._at = at
