"""What is kept of sources of definitions, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.finding import Finding


@frozen(kw_only=True, eq=False, repr=False)
class StoredSource(Record):
    """What is stored of a source: under which key it was read, by whom, and what was found.

    ``registered`` sources came while a runtime was open: nothing offers them at the next start.
    """

    id: str
    key: str
    distribution: str
    findings: Mapping[str, tuple[Finding, ...]] = field(factory=dict)
    registered: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class Registered(Record):
    """What registering one source came to; findings are by tool id, else by position.

    ``dropped``: the source itself is gone, and all that it defined.
    """

    source: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(factory=dict)
    dropped: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class SourceState(Record):
    """What became of one source of definitions when it was read last.

    ``state`` is ``current`` (nothing changed since the stored reading), ``read``,
    ``registered`` (while a runtime was open; nothing reads it), ``late``, ``failed`` or
    ``absent``: its plugin is not active. Of all but ``read`` the stored
    definitions stay, after ``failed`` with those that came before the fault. ``findings`` are
    by tool id, else by position.
    """

    id: str
    distribution: str
    state: str
    problem: str = ""
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(factory=dict)
