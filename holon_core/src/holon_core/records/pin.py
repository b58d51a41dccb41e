"""A tool pinned to one definition."""

from __future__ import annotations

from attrs import frozen

from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class Pin(Record):
    """A tool that runs only by the definition of this digest."""

    tool: str
    digest: str
    by: str
    reason: str
    at_unix_seconds: int
