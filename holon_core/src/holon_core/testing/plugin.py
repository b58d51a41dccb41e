"""Fixtures for pytest: name this module in ``pytest_plugins``; nothing loads it by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from holon_core.runtime import Runtime
from holon_core.testing.approver import ScriptedApprover
from holon_core.testing.bench import Bench
from holon_core.testing.clock import ManualClock
from holon_core.testing.reader import EvidenceReader

OpenRuntime = Callable[..., Runtime]


@pytest.fixture
def holon_clock() -> ManualClock:
    """A clock that only the test moves; the runtimes of the other fixtures go by it."""
    return ManualClock()


@pytest.fixture
def holon_workspace(tmp_path: Path) -> Path:
    """An empty folder for a workspace, outside every storage root."""
    folder = tmp_path / "holon-workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def holon_open(tmp_path: Path, holon_clock: ManualClock) -> Iterator[OpenRuntime]:
    """Open runtimes on one storage root without discovery; all are closed in the end.

    Takes what ``Runtime.open`` takes.
    """
    with ExitStack() as stack:

        def opened(**options: Any) -> Runtime:
            given = {"discover": False, "clock": holon_clock, **options}
            return stack.enter_context(Runtime.open(tmp_path / "holon-root", **given))

        yield opened


@pytest.fixture
def holon_disk_runtime(holon_open: OpenRuntime) -> Runtime:
    """A runtime on disk without discovery."""
    return holon_open()


@pytest.fixture
def holon_runtime(holon_clock: ManualClock) -> Iterator[Runtime]:
    """A runtime in memory without discovery."""
    with Runtime.in_memory(clock=holon_clock) as runtime:
        yield runtime


@pytest.fixture
def holon_approver() -> Callable[..., ScriptedApprover]:
    """Make an approver of a runtime: ``holon_approver(runtime, [Decision.ALLOW, …])``."""
    return ScriptedApprover


@pytest.fixture
def holon_evidence() -> Callable[[Runtime], EvidenceReader]:
    """Make a reader of a runtime's evidence: ``holon_evidence(runtime)``."""
    return EvidenceReader


@pytest.fixture(scope="class")
def holon_bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The bench of a ``LaneSuite`` subclass, shared by its tests."""
    return Bench(request.cls.lane(), tmp_path_factory.mktemp("holon-lane"))
