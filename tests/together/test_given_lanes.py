"""A lane's module that a host gives is the plugin that its entry point brings."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points

import pytest

import holon_core as holon
from holon_core.plugins.first_party import FIRST_PARTY

LANES = {
    point.name: point.value
    for point in entry_points(group="holon")
    if point.dist is not None and point.dist.name in FIRST_PARTY
}


def test_every_lane_is_looked_at() -> None:
    """All lanes of this project are installed beside these tests."""
    assert len(LANES) == 9


@pytest.mark.parametrize("name", LANES)
def test_a_lane_given_alone_has_the_name_of_its_entry_point(name, tmp_path) -> None:
    """So that settings and documents are the same ones, whichever way it came in."""
    module = import_module(LANES[name])

    with holon.Runtime.open(tmp_path / "root", discover=False, plugins=[module]) as rt:
        (state,) = rt.plugins.list()

    assert (state.name, state.active, state.problems) == (name, True, ())


def test_lanes_given_and_found_at_once_are_one_plugin_each(tmp_path) -> None:
    """Every lane given, and every lane found by its entry point: none of them is there twice."""
    modules = [import_module(value) for value in LANES.values()]

    with holon.Runtime.open(tmp_path / "root", plugins=modules) as rt:
        states = {each.name: (each.active, each.problems) for each in rt.plugins.list()}

    assert {name: states[name] for name in LANES} == dict.fromkeys(LANES, (True, ()))
