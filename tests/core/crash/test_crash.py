"""The short form of the crash campaign, and that the campaign would notice a broken promise."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def crash() -> ModuleType:
    """The campaign, which is a script beside this file."""
    path = Path(__file__).with_name("campaign.py")
    spec = importlib.util.spec_from_file_location("holon_crash_campaign", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_killed_callers_lose_double_and_break_nothing(crash, tmp_path):
    """Fifteen callers are killed in the middle of their calls; every promise is kept."""
    counts = crash.campaign(tmp_path, kills=15, processes=2, seed=7)

    assert counts["completed"] > 20
    assert counts["effects"] > 10


GOOD: dict[str, list[str]] = {"c1": ["accepted", "completed"], "c2": ["held", "accepted", "failed"]}


@pytest.mark.parametrize(
    "calls",
    [
        {"c1": ["accepted", "completed", "interrupted"]},
        {"c1": ["accepted", "accepted", "completed"]},
        {"c1": ["completed"]},
        {"c1": ["accepted"]},
    ],
    ids=["marked-while-alive", "accepted-twice", "never-accepted", "no-end"],
)
def test_the_campaign_notices_ends_that_do_not_fit(crash, calls):
    """A campaign that cannot fail shows nothing."""
    crash.check_ends(GOOD, set(), 0)

    with pytest.raises(crash.Broken):
        crash.check_ends({**GOOD, **calls}, set(), 0)


@pytest.mark.parametrize(
    "lines",
    [
        [["append", "c3", "None"]],
        [["append", "c1", "None"], ["append", "c1", "None"]],
        [["append", "c1", "k"], ["append", "c2", "k"]],
    ],
    ids=["not-accepted", "twice", "key-twice"],
)
def test_the_campaign_notices_effects_that_do_not_fit(crash, lines):
    """An effect without a record, one too many, one too many for a key."""
    good: list[Any] = [["append", "c1", "k"], ["append", "c2", "l"]]
    crash.check_effects(GOOD, good)

    with pytest.raises(crash.Broken):
        crash.check_effects(GOOD, lines)


CHECKPOINTING = """
import sys
from pathlib import Path
from holon_core.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
store._writer.execute("pragma wal_autocheckpoint=1")
print("ready", flush=True)
for number in range(10**9):
    store.transact(lambda tables: tables.put_blob(str(number).encode() * 3000))
"""


def test_a_store_whose_log_another_process_moves_is_not_taken_for_damaged(tmp_path):
    """Its header is looked at again, since a reader without locks may see half a change."""
    from door import started
    from holon_core.store import filesystem, opening
    from holon_core.store.sqlite import SqliteStore

    path = tmp_path / "holon.db"
    SqliteStore(path).close()
    with started(CHECKPOINTING, str(path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2000):
            opening.prepare(path, "wal", filesystem.MOUNTS)
