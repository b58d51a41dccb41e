"""Short forms of the campaigns: processes that are killed, and many that serve one store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


def test_a_workflow_killed_at_random_points_comes_to_the_same_end() -> None:
    """Every effect is there once; what nobody can know was asked about."""
    command = [sys.executable, str(HERE / "campaign.py"), "8", "7"]

    done = subprocess.run(command, check=False, capture_output=True, timeout=120, text=True)

    assert done.returncode == 0, done.stderr
    assert "kills=8" in done.stdout


def test_processes_that_serve_one_store_lose_and_double_nothing() -> None:
    """Each run is driven by one process at a time, and each effect is there once."""
    command = [sys.executable, str(HERE / "runners.py"), "4", "20"]

    done = subprocess.run(command, check=False, capture_output=True, timeout=120, text=True)

    assert done.returncode == 0, done.stderr
    assert "20 runs, 80 effects, each exactly once" in done.stdout
