"""What tests of the command share."""

from pathlib import Path

import pytest

from command import Command


@pytest.fixture
def holon(tmp_path: Path) -> Command:
    """The command in a folder of its own, with tools and an empty storage root."""
    return Command(tmp_path)
