"""Regular expressions of packages: which are taken. They run in a process of their own."""

from __future__ import annotations

import re

MAX_PATTERN = 500


def pattern_problem(pattern: str) -> str:
    """Say why a pattern is not taken; empty where it is."""
    if len(pattern) > MAX_PATTERN:
        return f"it has more than {MAX_PATTERN} characters"
    try:
        names = re.compile(pattern).groupindex
    except (re.error, RecursionError, OverflowError) as error:
        return f"it is none: {error}"
    return "" if names else "it has no named group"
