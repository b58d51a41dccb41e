"""The lane keeps the rules of the conformance suite."""

from __future__ import annotations

from holon_core.testing import LaneSuite

pytest_plugins = ["holon_core.testing.plugin"]


class TestConformance(LaneSuite):
    """Every check, on a runtime that has this lane alone."""

    distribution = "holon-rust-tools"
