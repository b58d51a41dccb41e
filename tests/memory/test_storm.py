"""The short form of the storm, and that it would notice a lost write."""

from __future__ import annotations

import importlib.util
import sqlite3
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def storms() -> ModuleType:
    """The campaign, which is a script beside this file."""
    path = Path(__file__).with_name("storm.py")
    spec = importlib.util.spec_from_file_location("holon_memory_storm", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_processes_on_one_memory_lose_and_double_nothing(storms, tmp_path):
    """Four processes write and search at once; what was acknowledged is found once."""
    counts = storms.storm(tmp_path, processes=4, seconds=2)

    assert counts["acknowledged"] >= 4
    assert counts["searches"] >= 4


@pytest.mark.parametrize("stored", [[], ["a", "a"]], ids=["lost", "doubled"])
def test_the_storm_notices_a_broken_promise(storms, tmp_path, stored):
    """A campaign that cannot fail shows nothing."""
    file = tmp_path / "m.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE memories (content TEXT)")
        connection.executemany("INSERT INTO memories VALUES (?)", [(each,) for each in stored])

    with pytest.raises(storms.Broken):
        storms.check(file, ["a"])
