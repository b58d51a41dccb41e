"""The conformance suite as a test class: subclass it, name the lane, give sample calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from holon_core.testing.bench import Bench, Calls, Lane
from holon_core.testing.checks import CHECKS, Check, NewCheck, run_check
from holon_core.testing.report import Report, Verdict

if TYPE_CHECKING:
    from holon_core.runtime import Runtime
    from holon_core.session import Session


class LaneSuite:
    """One test for each check. See ``Lane`` for what each attribute says.

    The module or a ``conftest.py`` names ``holon_core.testing.plugin`` in ``pytest_plugins``.
    A check fails with a row for each tool that it failed on, and is skipped where no tool
    could be checked.
    """

    distribution: ClassVar[str] = ""
    plugin: ClassVar[object | None] = None
    samples: ClassVar[Calls] = {}
    failing: ClassVar[Calls] = {}
    slow: ClassVar[Calls] = {}
    large: ClassVar[Calls] = {}
    secrets: ClassVar[Sequence[str]] = ()
    config: ClassVar[Mapping[str, Any]] = {}
    proposals: ClassVar[Sequence[Mapping[str, Any]]] = ()
    unchecked: ClassVar[Mapping[str, str]] = {}

    def prepare(self, workspace: Path) -> None:
        """Fill a fresh workspace with what the sample calls need; nothing by default."""

    def setup(self, runtime: Runtime) -> None:
        """Register in a runtime what the lane itself does not define; nothing by default."""

    def build(self, runtime: Runtime, session: Session, tool_id: str) -> None:
        """Build what a proposed frozen tool runs, before it is validated; nothing by default."""

    @classmethod
    def lane(cls) -> Lane:
        """Return what the class says as a record."""
        return Lane(
            distribution=cls.distribution,
            plugin=cls.plugin,
            samples=cls.samples,
            failing=cls.failing,
            slow=cls.slow,
            large=cls.large,
            secrets=cls.secrets,
            prepare=cls().prepare,
            setup=cls().setup,
            config=cls.config,
            proposals=cls.proposals,
            unchecked=cls.unchecked,
            build=cls().build,
        )

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make one test of each check."""
        if "holon_check" in metafunc.fixturenames:
            names = [check.name for check in CHECKS]
            metafunc.parametrize("holon_check", CHECKS, ids=names)

    def test_lane_conforms(self, holon_check: Check, holon_bench: Bench) -> None:
        """The lane keeps this rule."""
        rows = run_check(holon_check, holon_bench)
        report = Report(distribution=self.distribution, results=rows)
        assert report.conforms, f"{holon_check.about}\n{report.text()}"
        if report.of(Verdict.WARN):
            import warnings

            warnings.warn(f"{holon_check.about}\n{report.text()}", NewCheck, stacklevel=1)
        elif not report.of(Verdict.PASS):
            import pytest

            pytest.skip("; ".join(dict.fromkeys(row.reason for row in rows)))
