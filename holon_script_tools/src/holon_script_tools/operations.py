"""Operations on script artifacts: judged, tried, proposed, listed."""

from __future__ import annotations

from holon_core import Operation

NOUN = "script-artifact"


def rows() -> list[Operation]:
    """Return the rows of this lane."""
    return []
