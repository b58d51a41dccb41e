"""Fixtures of the workspace lane: one runtime, and a workspace of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holon_builtin_workspace.descriptors import tools
from holon_builtin_workspace.lane import SOURCE
from holon_core.catalogue.catalogue import Entry
from holon_core.functions.host import DEFINITION_DOMAIN
from holon_core.records.result import ToolResult
from holon_core.runtime import Runtime
from holon_core.wire.canonical import digest

Call = Callable[..., ToolResult]


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A runtime whose catalogue holds the four tools."""
    with Runtime.open(tmp_path_factory.mktemp("storage"), discover=False) as opened:
        for tool, executor in tools():
            whole = tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))
            opened._guard.catalogue.put(Entry(whole, executor, self_limiting=True))
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the test's workspace; beside it is room for what lies outside."""
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


@pytest.fixture
def call(runtime: Runtime, root: Path) -> Call:
    """Call a tool by its short name in the test's workspace."""
    session = runtime.session(principal="ann", workspace=root)

    def call(name: str, **arguments: Any) -> ToolResult:
        return session.call(f"{SOURCE}/workspace-{name}", arguments)

    return call


@pytest.fixture
def refused(call: Call) -> Callable[..., str]:
    """Call a tool that must not complete; return the code of its failure."""

    def refused(name: str, **arguments: Any) -> str:
        result = call(name, **arguments)
        assert result.failure is not None, result.output
        assert result.output is None
        return result.failure.code

    return refused
