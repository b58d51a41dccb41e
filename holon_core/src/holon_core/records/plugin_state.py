"""One plugin, as listings show it."""

from __future__ import annotations

from attrs import frozen

from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class PluginState(Record):
    """One plugin: whether it is active, who provides it, and what was found wrong.

    ``distribution`` and ``version`` are empty for an object that the host gave.
    ``deprecations`` are what it does in an old way that still works, and until when.
    """

    name: str
    distribution: str
    version: str
    active: bool
    problems: tuple[str, ...] = ()
    deprecations: tuple[str, ...] = ()
