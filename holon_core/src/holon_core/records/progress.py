"""How far long work is."""

from __future__ import annotations

from attrs import frozen

from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class Progress(Record):
    """How far long work is: one shape for command line, protocol and callbacks."""

    stage: str
    done: int = 0
    total: int | None = None
    message: str = ""
    call_id: str = ""
