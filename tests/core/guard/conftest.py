"""Fixtures of the guard's tests: a clock, runtimes on real roots, and a few tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import HandClock

Open = Callable[..., holon.Runtime]


@pytest.fixture
def clock() -> HandClock:
    """A clock that only the test moves."""
    return HandClock()


@pytest.fixture
def open_runtime(tmp_path: Path, clock: HandClock) -> Iterator[Open]:
    """Open runtimes on one root; all are closed in the end."""
    with ExitStack() as stack:

        def opened(*tools: Any, **options: Any) -> holon.Runtime:
            options.setdefault("clock", clock)
            rt = holon.Runtime.open(tmp_path / "root", discover=False, tools=tools, **options)
            return stack.enter_context(rt)

        yield opened


@pytest.fixture
def ran() -> list[Any]:
    """What the tools of a test were really entered with."""
    return []


@pytest.fixture
def write(ran: list[Any]) -> Any:
    """A tool that asks by its effects and takes any object."""

    @holon.tool(
        id="write",
        effects={"machine_write"},
        input_schema={"type": "object", "additionalProperties": True},
    )
    def write(**arguments: Any) -> dict[str, Any]:
        ran.append(arguments)
        return {"n": len(ran)}

    return write


@pytest.fixture
def read(ran: list[Any]) -> Any:
    """A tool without effects."""

    @holon.tool(id="read", effects={"none"})
    def read(n: int = 0) -> int:
        ran.append(n)
        return n

    return read
