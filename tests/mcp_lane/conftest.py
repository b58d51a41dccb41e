"""Fixtures of the MCP lane: a runtime with it alone, its operations, and servers made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import holon_core as holon
import holon_mcp.plugin as lane
from holon_core.records.words import Authority

Do = Callable[..., Any]


@pytest.fixture
def rt() -> Iterator[holon.Runtime]:
    """A runtime with this lane alone."""
    with holon.Runtime.in_memory(plugins=[lane]) as opened:
        yield opened


@pytest.fixture
def session(rt: holon.Runtime) -> holon.Session:
    """A caller."""
    return rt.session(principal="ann")


@pytest.fixture
def do(rt: holon.Runtime) -> Do:
    """Ask an operation of the lane with every authority."""
    caller = rt.session(principal="olga").caller

    def do(verb: str, **params: Any) -> Any:
        return rt.dispatch(f"mcp-server/{verb}", params, caller=caller, authorities=[*Authority])

    return do


@pytest.fixture
def tool() -> Callable[..., dict[str, Any]]:
    """Make a tool as a server lists it."""

    def tool(name: str, description: str = "Add two numbers.", **more: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"a": {"type": "number", "description": "One."}}}
        return {"name": name, "description": description, "inputSchema": schema, **more}

    return tool
