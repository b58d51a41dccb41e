"""A runtime for tools of other frameworks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import holon_core as holon


@pytest.fixture
def rt() -> Iterator[holon.Runtime]:
    """A runtime in memory."""
    with holon.Runtime.in_memory(app="desk") as runtime:
        yield runtime


@pytest.fixture
def ann(rt: holon.Runtime) -> holon.Session:
    """A caller."""
    return rt.session(principal="ann")
