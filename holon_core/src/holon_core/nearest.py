"""What somebody who mistyped a name may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], *, most: int = 1) -> str:
    """Return the end of a message that suggests the names nearest to a mistyped one.

    Args:
        name: What was written.
        names: What there is.
        most: How many are suggested at most.

    Returns:
        ``; did you mean …?``, or nothing where none is near.
    """
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), n=most)
    return f"; did you mean {' or '.join(near)}?" if near else ""
