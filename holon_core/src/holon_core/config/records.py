"""Settings as data: those of a runtime, and what a workspace adds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from holon_core.records.base import Record
from holon_core.records.tool import Limits
from holon_core.records.words import Severity, Word

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_core.records.rule import Rule

FILE = "holon.toml"
DAY_S = 86_400
LIMITS = Limits(timeout_s=30.0)
EMPTY: Mapping[str, Any] = MappingProxyType({})


class Journal(Word):
    """How the store keeps its file sound: write-ahead log, or rollback journal."""

    WAL = "wal"
    ROLLBACK = "rollback"


@frozen(kw_only=True, eq=False, repr=False)
class Config(Record):
    """The settings of one runtime, and where each comes from.

    ``plugins`` are the distributions that may load, ``None`` all of them; names of
    distributions are normalised. ``approval_ttl_s`` and ``key_ttl_s`` are how long an approval
    waits and an idempotency key lives, in seconds. ``retention_days`` is how long evidence
    keeps payloads, ``None`` for ever. ``secrets`` binds names to references, never to values.
    ``limits`` are for lanes other than host functions. ``lanes`` holds the table
    ``[lane.NAME]`` of each lane as it stands, for the lane to check; ``[memory]`` is the memory
    lane's. ``sources`` tells for each setting ``default``, ``holon.toml:LINE``,
    ``env VARIABLE`` or ``argument``.
    """

    rules: tuple[Rule, ...] = ()
    required_plugins: tuple[str, ...] = ()
    plugins: tuple[str, ...] | None = None
    store_journal: Journal = Journal.WAL
    approval_ttl_s: int = DAY_S
    key_ttl_s: int = DAY_S
    retention_days: int | None = None
    secrets: Mapping[str, str] = EMPTY
    limits: Limits = LIMITS
    lanes: Mapping[str, Mapping[str, Any]] = field(default=EMPTY, repr=False)
    memory: Mapping[str, Any] = field(default=EMPTY, repr=False)
    sources: Mapping[str, str] = EMPTY


@frozen(kw_only=True, eq=False, repr=False)
class LimitCaps(Record):
    """Ceilings that lower the limits of tools and never raise them; ``None`` lowers nothing."""

    timeout_s: float | None = None
    max_output_bytes: int | None = None

    def lower(self, limits: Limits) -> Limits:
        """Return the lower of each; a tool without a time limit gets the ceiling."""
        times = [time for time in (limits.timeout_s, self.timeout_s) if time is not None]
        sizes = [size for size in (limits.max_output_bytes, self.max_output_bytes) if size]
        return evolve(limits, timeout_s=min(times, default=None), max_output_bytes=min(sizes))


@frozen(kw_only=True, eq=False, repr=False)
class WorkspaceConfig(Record):
    """The ``[tool.holon]`` of a workspace's ``pyproject.toml``.

    With an error among ``findings`` its rules can't be known, and policy denies every call in
    the workspace.
    """

    rules: tuple[Rule, ...] = ()
    limits: LimitCaps = LimitCaps()
    findings: tuple[Finding, ...] = ()

    @property
    def fault(self) -> str:
        """The first error, for people; empty where there is none."""
        errors = (each.message for each in self.findings if each.severity is Severity.ERROR)
        return next(errors, "")
