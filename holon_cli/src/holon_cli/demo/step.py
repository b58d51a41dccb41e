"""One step of the demo, and what it must show."""

from __future__ import annotations

from typing import Any

from attrs import frozen


class NotAsExpected(Exception):
    """A step did not show what it has to: the demo fails."""


@frozen(kw_only=True)
class Step:
    """One step: what it is about, what was done and seen, and the same as facts."""

    title: str
    lines: tuple[tuple[str, str], ...]
    facts: dict[str, Any]


def expect(holds: bool, what: str) -> None:
    """Fail the demo where something does not hold.

    Raises:
        NotAsExpected: It does not.
    """
    if not holds:
        raise NotAsExpected(what)
