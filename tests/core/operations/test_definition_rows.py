"""Pins, sources and differences of definitions as operations: authority, answers, evidence."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon
from door import kinds
from holon_core.errors import Refused
from holon_core.records.words import Authority
from sample_lanes import Lane, tool

CALLER, OPERATOR = [Authority.CALLER], list(Authority)


@pytest.fixture
def acme() -> Lane:
    """A lane with one tool."""
    return Lane("acme", "x")


@pytest.fixture
def rt(tmp_path, acme):
    """A runtime with the lane."""
    with holon.Runtime.open(tmp_path / "root", plugins=[acme], discover=False) as opened:
        yield opened


def ask(rt: Any, method: str, authorities: Any = OPERATOR, **params: Any) -> Any:
    caller = rt.session(principal="olga").caller
    return rt.dispatch(method, params, caller=caller, authorities=authorities)


def test_a_tool_is_pinned_listed_and_let_go(rt):
    """The pin is of who asked, with the reason; one that is not there is told."""
    pinned = ask(rt, "runtime-tool/pin", tool="acme/x", reason="reviewed")
    assert ask(rt, "runtime-tool/list-pins")["pins"] == [pinned]
    assert (pinned["by"], pinned["reason"]) == ("olga", "reviewed")
    assert pinned["digest"] == rt.tools.read("acme/x").digest

    assert ask(rt, "runtime-tool/unpin", tool="acme/x", reason="trusted") == {"unpinned": "acme/x"}
    assert ask(rt, "runtime-tool/list-pins")["pins"] == []
    with pytest.raises(Refused, match="not pinned"):
        ask(rt, "runtime-tool/unpin", tool="acme/x", reason="again")


def test_a_changed_definition_is_read_again_and_shown(rt, acme):
    """Refreshing names what changed; the pin holds the tool until somebody has read that."""
    ask(rt, "runtime-tool/pin", tool="acme/x", reason="reviewed")
    acme.source.definitions = [tool("acme/x", description="Something else.")]

    (source,) = ask(rt, "runtime-tool/refresh")["sources"]
    (change,) = ask(rt, "runtime-tool/diff", CALLER, tool="acme/x")["changes"]

    assert (source["id"], source["state"], source["changed"]) == ("acme", "read", ["acme/x"])
    assert (change["path"], change["after"]) == ("/description", '"Something else."')
    code = rt.session(principal="ann").call("acme/x").failure.code
    assert code == "definition_changed"
    ask(rt, "runtime-tool/pin", tool="acme/x", reason="read the difference")
    assert rt.session(principal="ann").call("acme/x").failure is None


@pytest.mark.parametrize("method", ["pin", "unpin", "refresh", "list-pins"])
def test_a_caller_moves_no_definition(rt, method):
    """That is for operators, and leaves nothing behind."""
    given = {"tool": "acme/x", "reason": "r"} if method in ("pin", "unpin") else {}

    with pytest.raises(Refused, match="authority"):
        ask(rt, f"runtime-tool/{method}", CALLER, **given)

    assert rt.tools.pins() == ()


def test_a_pin_from_python_is_recorded_as_the_operation_it_is(rt):
    """Begun and ended under the name of who pinned, around the record of the pin itself."""
    rt.tools.pin("acme/x", by="bo", reason="reviewed")

    assert kinds(rt, None)[-3:] == ["operation", "pinned", "operation"]
