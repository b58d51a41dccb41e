"""Fixtures of workflows: a runtime with some tools of a host, and definitions in few words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_workflows.plugin as lane
from loopback_model import LoopbackModel


class Shop:
    """Tools of a host, and what they did."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.seen: list[int] = []
        self.failures = 0

    def tools(self) -> list[Any]:
        """The tools: one that reads, one with side effects, one that fails as often as is said."""

        @holon.tool(effects={"none"})
        def double(n: int) -> int:
            """Double a number."""
            self.seen.append(n)
            return n * 2

        @holon.tool(effects={"network_write"})
        def send(n: int) -> str:
            """Send a number to somebody."""
            self.sent.append(n)
            return f"sent {n}"

        @holon.tool(effects={"none"})
        def shaky(n: int) -> int:
            """Fail as often as is said, and then answer."""
            if self.failures > 0:
                self.failures -= 1
                raise RuntimeError("not now")
            return n

        return [double, send, shaky]


class FakeClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def now(self) -> float:
        """Return the time that was set."""
        return self.at

    def monotonic(self) -> float:
        """Return the same: it never goes back on its own."""
        return self.at


@pytest.fixture
def shop() -> Shop:
    """The host's tools."""
    return Shop()


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still until it is moved."""
    return FakeClock()


@pytest.fixture
def rt(tmp_path: Path, shop: Shop, clock: FakeClock) -> Iterator[holon.Runtime]:
    """A runtime with workflows alone."""
    with holon.Runtime.open(
        tmp_path / "root", discover=False, plugins=[lane], tools=shop.tools(), clock=clock
    ) as opened:
        yield opened


@pytest.fixture
def flows(rt: holon.Runtime) -> Any:
    """The workflows of the runtime."""
    return rt.service("workflows")


@pytest.fixture
def ann(rt: holon.Runtime) -> holon.Session:
    """Who starts runs."""
    return rt.session(principal="ann")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackModel]:
    """A model's service on loopback, and its key in the environment."""
    monkeypatch.setenv("LOOPBACK_KEY", "sk-loopback-0123456789abcdef")
    made = LoopbackModel()
    yield made
    made.close()
