"""A short form of the fuzzing campaign (`./dev fuzz`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_any_json_is_read_imported_or_refused_with_paths():
    """No crash and no hang; most cases nearly fit a contract."""
    script = Path(__file__).with_name("fuzzing.py")

    done = subprocess.run(
        [sys.executable, str(script), "90"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("90 cases"), done.stdout
