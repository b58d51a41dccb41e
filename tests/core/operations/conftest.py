"""A runtime with two tools, and a way to ask it as anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core.operations.table import OPERATIONS
from holon_core.records.words import Authority
from holon_core.wire.schema_engine import compiled

ALL = frozenset(Authority)
CALLER = frozenset({Authority.CALLER})
Ask = Callable[..., Any]


@pytest.fixture
def written() -> list[str]:
    """What the writing tool wrote."""
    return []


@pytest.fixture
def runtime(tmp_path: Path, written: list[str]) -> Iterator[holon.Runtime]:
    """A runtime whose operator is bo."""

    @holon.tool(effects={"none"})
    def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    @holon.tool(effects={"machine_write"})
    def write(text: str) -> dict[str, int]:
        """Write a text."""
        written.append(text)
        return {"count": len(written)}

    root = tmp_path / "root"
    with holon.Runtime.open(root, tools=[add, write], operator="bo", discover=False) as made:
        yield made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to be a workspace."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def ask(runtime: holon.Runtime, place: Path) -> Ask:
    """Ask an operation; every answer is checked against its response schema."""

    def asking(
        method: str,
        *,
        who: str = "ann",
        authorities: frozenset[Authority] = CALLER,
        where: Any = place,
        **params: Any,
    ) -> Any:
        caller = runtime.session(principal=who, workspace=where).caller
        answer = runtime.dispatch(method, params, caller=caller, authorities=authorities)
        assert compiled(OPERATIONS[method].response, f"response {method}").errors(answer) == ()
        return answer

    return asking
