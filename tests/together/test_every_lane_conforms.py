"""The conformance suite on every lane of this repository, as it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

import distributions
from holon_core.testing import Lane, check_lane

LANES = [row.name for row in distributions.read_table().rows if row.plugins]


@pytest.mark.parametrize("name", LANES)
def test_a_first_party_lane_breaks_no_rule(name: str, tmp_path: Path) -> None:
    """With the samples that its own schemas state; its own tests give the suite more."""
    report = check_lane(Lane(distribution=name), folder=tmp_path)

    assert report.conforms, report.text()


def test_the_lanes_are_found() -> None:
    """The table names them, so that a new one is checked without being asked for."""
    assert "holon-builtin-workspace" in LANES
