"""Fixtures of rooms that load plugins: installed distributions, and runtimes on one root."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import HandClock
from sample_lanes import Site

Open = Callable[..., holon.Runtime]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A folder of installed distributions; what was imported from it is forgotten again."""
    made = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(made.folder))
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(made.folder):
            del sys.modules[name]


@pytest.fixture
def clock() -> HandClock:
    """A clock that only the test moves."""
    return HandClock()


@pytest.fixture
def open_runtime(tmp_path: Path, clock: HandClock) -> Iterator[Open]:
    """Open runtimes on one root; all are closed in the end."""
    with ExitStack() as stack:

        def opened(*plugins: Any, **options: Any) -> holon.Runtime:
            options.setdefault("clock", clock)
            rt = holon.Runtime.open(tmp_path / "root", plugins=plugins, **options)
            return stack.enter_context(rt)

        yield opened
