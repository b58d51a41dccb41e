"""What a workspace may say in its ``[tool.holon]``: only to tighten."""

from __future__ import annotations

from attrs import evolve, frozen

from holon_core.records.finding import Finding
from holon_core.records.rule import Rule
from holon_core.records.tool import Limits
from holon_core.records.words import Severity


@frozen(kw_only=True)
class LimitCaps:
    """Ceilings that lower the limits of tools and never raise them; ``None`` lowers nothing."""

    timeout_s: float | None = None
    max_output_bytes: int | None = None

    def lower(self, limits: Limits) -> Limits:
        """Return the lower of each; a tool without a time limit gets the ceiling."""
        times = [time for time in (limits.timeout_s, self.timeout_s) if time is not None]
        sizes = [size for size in (limits.max_output_bytes, self.max_output_bytes) if size]
        return evolve(limits, timeout_s=min(times, default=None), max_output_bytes=min(sizes))


@frozen(kw_only=True)
class WorkspaceConfig:
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
