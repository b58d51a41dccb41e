"""Fixtures of script artifacts: a runtime with the lane, a workspace, and tools made active."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import BOSS
from holon_core import FrozenToolRecord
from holon_core.runtime import Runtime
from holon_core.session import Session
from scripts import activate, open_scripts, script

Make = Callable[..., FrozenToolRecord]


@pytest.fixture(scope="session")
def shared_runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """One runtime for all tests that need no settings."""
    with open_scripts(tmp_path_factory.mktemp("scripts") / "root") as opened:
        yield opened


@pytest.fixture
def runtime(shared_runtime: Runtime) -> Runtime:
    """The runtime."""
    return shared_runtime


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


@pytest.fixture
def make(runtime: Runtime, session: Session) -> Make:
    """Make a script an active tool."""

    def make(text: str, **changed: Any) -> FrozenToolRecord:
        return activate(runtime, session, script(text, **changed))

    return make


@pytest.fixture
def approved(runtime: Runtime, session: Session) -> Callable[..., holon.ToolResult]:
    """Call a tool; approve and release it where it is held."""

    def approved(tool: str, arguments: dict[str, Any]) -> holon.ToolResult:
        result = session.call(tool, arguments)
        if result.held is None:
            return result
        runtime.approvals.approve(result.held, by=BOSS, reason="ok")
        return session.release(result.held)

    return approved
