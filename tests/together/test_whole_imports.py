"""Imports are whole: whenever a process is killed in one, what was there before is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "dying_imports.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills children that it forks")
@pytest.mark.parametrize("case", ["package", "server", "refreshed_server"])
def test_a_kill_in_the_middle_leaves_what_was_there(tmp_path: Path, case: str):
    """Tools, skills, sources, pins: after each kill as before; not killed, it goes through."""
    told = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path), case],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    states = [json.loads(line) for line in told.stdout.splitlines()]

    (first, before), *killed, (last, after) = states
    assert (first, last) == ("before", "after")
    assert len(killed) > 3
    assert [state for state in killed if state != ["killed", before]] == []
    assert after != before
