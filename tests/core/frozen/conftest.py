"""Fixtures of frozen tools: a runtime with a kind of this process, and a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frozen_tools import Echoes, open_runtime
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.testing import ManualClock


@pytest.fixture
def kind() -> Echoes:
    """The kind, breakable."""
    return Echoes()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that only the test moves."""
    return ManualClock()


@pytest.fixture
def runtime(tmp_path: Path, kind: Echoes, clock: ManualClock) -> Iterator[Runtime]:
    """A runtime with the kind."""
    with open_runtime(tmp_path / "root", kind, clock=clock) as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of a workspace."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def session(runtime: Runtime, place: Path) -> Session:
    """Ann, in the workspace."""
    return runtime.session(principal="ann", workspace=place)
