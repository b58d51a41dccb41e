"""Sessions of agents across processes: killed in the middle, and ended by two at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked and killed")


def run(root: Path, *arguments: str) -> list[str]:
    """Run the campaign, and return what it printed; a promise that is not kept ends it."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests/support/agents_dying.py", root, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests/support"), *sys.path])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_after_a_kill_every_session_says_what_evidence_says(tmp_path):
    """Counters, ends, outputs and what waits, whatever the moment in which two processes died."""
    printed = run(tmp_path / "root", "6", "7")

    assert len(printed) == 6
    # How far they come before they are killed depends on the machine.
    assert int(printed[-1].split()[1]) > 0


def test_of_two_processes_that_finish_a_session_at_once_one_does(tmp_path):
    """Each session has one answer; the other process is told that it has ended."""
    printed = [line.split() for line in run(tmp_path / "root", "race", "15")]

    assert len(printed) == 30
    for number in range(15):
        said = [what for _, at, what in printed if at == str(number)]
        assert sorted(each == "not_allowed" for each in said) == [False, True]
