"""The memory lane keeps the rules of every lane."""

from __future__ import annotations

from holon_core.testing import LaneSuite
from memory_lane import REQUEST, SEARCH, WRITE

pytest_plugins = ["holon_core.testing.plugin"]

CALLS = {
    SEARCH: {"query": "hello"},
    WRITE: {"content": "hello"},
    REQUEST: {"content": "hello"},
}


class TestConformance(LaneSuite):
    """Found by its entry point, as hosts have it."""

    distribution = "holon-builtin-memory"
    samples = CALLS
    unchecked = dict.fromkeys(
        ("keeps-time", "ends-on-cancel"), "no search of it takes a second in a store that is new"
    ) | {"keeps-output": "in a store that is new no search finds anything, and a write answers ids"}
    failing = {SEARCH: {"query": "hello", "cursor": "x"}}  # noqa: RUF012
