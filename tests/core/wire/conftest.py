"""Fixtures of the wire tests: the shared conformance data, where it is present."""

from pathlib import Path

import pytest


def _shared() -> Path | None:
    for folder in Path(__file__).resolve().parents:
        if (folder.parent / "shared" / "conformance").is_dir():
            return folder.parent / "shared"
    return None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared test data; the test is skipped where it is absent."""
    found = _shared()
    if found is None:
        pytest.skip("shared data not present")
    return found
