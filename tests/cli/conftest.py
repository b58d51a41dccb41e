"""What tests of the command share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from command import Command, Done


@pytest.fixture
def holon(tmp_path: Path) -> Command:
    """The command in a folder of its own, with tools and an empty storage root."""
    return Command(tmp_path)


@pytest.fixture
def inside(
    holon: Command, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """The command in this process, which takes a hundredth of the time."""
    return lambda *words: holon.inside(words, monkeypatch, capfd)
