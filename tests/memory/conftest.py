"""Fixtures of the memory lane: a runtime with it, a workspace, and commands of all kinds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holon_builtin_memory import plugin
from holon_core.records.result import ToolResult
from holon_core.runtime import Runtime
from memory_lane import WRITE

Write = Callable[..., ToolResult]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of the test's workspace."""
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Runtime]]:
    """Open runtimes on the test's storage root, with the lane; they are closed at the end."""
    runtimes: list[Runtime] = []

    def opened(*plugins: Any, **settings: Any) -> Runtime:
        runtime = Runtime.open(
            tmp_path / "root", plugins=[plugin, *plugins], discover=False, config=settings
        )
        runtimes.append(runtime)
        return runtime

    yield opened
    for runtime in runtimes:
        runtime.close()


@pytest.fixture
def rt(opened: Callable[..., Runtime]) -> Runtime:
    """A runtime with the default command."""
    return opened()


@pytest.fixture
def write(project: Path) -> Write:
    """Write a memory: held, approved by somebody else, released."""

    def write(runtime: Runtime, **payload: Any) -> ToolResult:
        session = runtime.session(principal="ann", workspace=project)
        held = session.call(WRITE, payload).held
        assert held is not None
        runtime.approvals.approve(held, by="bob", reason="as agreed")
        return session.release(held)

    return write


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], list[str]]:
    """Make a memory command of a Python program; it finds its subcommand in ``words``."""

    def fake(body: str) -> list[str]:
        place = tmp_path / "command.py"
        place.write_text(
            f"import json, os, sys, time\nwords = sys.argv[1:]\n{body}\n", encoding="utf-8"
        )
        return [sys.executable, "-I", str(place)]

    return fake
