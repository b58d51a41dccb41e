"""A runtime with one tool that completes, and sessions in and out of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holon_core as holon


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[holon.Runtime]:
    """A runtime on disk with `add`, `wipe`, which policy denies, and `pay`, which lacks a key."""

    @holon.tool(effects={"none"})
    def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    @holon.tool(effects={"destructive"})
    def wipe(what: str) -> None:
        """Wipe something."""

    @holon.tool(effects={"network_write"}, secrets={"key": "env:HOLON_TEST_UNSET"})
    def pay(cents: int, key: holon.SecretValue) -> None:
        """Pay somebody."""

    rules = [{"id": "host.app/wipe", "decision": "deny", "reason": "never"}]
    with holon.Runtime.open(
        tmp_path / "root", tools=[add, wipe, pay], discover=False, config={"rules": rules}
    ) as made:
        yield made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to be a workspace."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def session(runtime: holon.Runtime, place: Path) -> holon.Session:
    """Ann in the workspace."""
    return runtime.session(principal="ann", workspace=place)
