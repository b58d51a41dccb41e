"""kill -9 in each phase of promotion: nothing half-done, and the way on is open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import frozen_dying
from frozen_tools import BOSS, Echoes, open_runtime, settle
from holon_core import FrozenState
from holon_core.records.words import Status

S = FrozenState
EXPECTED = {
    "after propose": S.PROPOSED,
    "after candidate": S.CANDIDATE,
    "in fixture": S.CANDIDATE,
    "after fixtures": S.VALIDATED,
    "after hold": S.VALIDATED,
    "after approve": S.VALIDATED,
    "before move to frozen": S.VALIDATED,
    "inside move to frozen": S.VALIDATED,
    "after move to frozen": S.FROZEN,
    "before move to active": S.FROZEN,
    "inside move to active": S.FROZEN,
    "after move to active": S.ACTIVE,
    "after block": S.BLOCKED,
    "before move to validated": S.BLOCKED,
    "inside move to validated": S.BLOCKED,
    "after move to validated": S.VALIDATED,
}


def test_every_phase_has_its_state() -> None:
    """What is killed in is what is looked at."""
    assert tuple(EXPECTED) == frozen_dying.PHASES


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("phase", frozen_dying.PHASES)
def test_a_process_that_dies_leaves_the_tool_in_one_state(tmp_path: Path, phase: str) -> None:
    """Record, catalogue and evidence agree; from there it is brought to Active."""
    (tmp_path / "place").mkdir()
    done = subprocess.run(
        [sys.executable, frozen_dying.__file__, str(tmp_path), phase],
        env={**os.environ, "PYTHONPATH": str(Path(frozen_dying.__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr

    with open_runtime(tmp_path / "root", Echoes()) as runtime:
        session = runtime.session(principal="ann", workspace=tmp_path / "place")
        frozen = runtime.tools.frozen
        [record] = frozen.list()
        listed = {tool.id: tool.lifecycle for tool in runtime.tools.list()}
        moves = [
            row.body["to"]
            for row in runtime.evidence.list(workspace=record.workspace, limit=500)
            if row.kind == "lifecycle"
        ]

        assert record.state is EXPECTED[phase]
        assert moves[-1] == record.state.value
        assert listed.get(record.id, record.state) == record.state
        assert (record.id in listed) is (record.state not in (S.PROPOSED, S.CANDIDATE))
        assert runtime.evidence.verify(record.workspace).bad_seq is None

        if record.state is S.BLOCKED:
            assert session.call(record.id, {"text": "a"}).status is Status.BLOCKED
            back = frozen.unblock(record.id, session=session, reason="again").result
            assert back is not None
            settle(runtime, session, back.held)
        if record.state in (S.PROPOSED, S.CANDIDATE):
            frozen.validate(record.id, caller=session.caller)
        while frozen.read(record.id).state is not S.ACTIVE:
            asked = frozen.promote(record.id, session=session, reason="again").result
            assert asked is not None
            settle(runtime, session, asked.held)
        last = frozen.read(record.id)
        assert last.moves[-1].approved_by == BOSS
        assert session.call(record.id, {"text": "a"}).status is Status.COMPLETED
