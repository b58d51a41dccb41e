"""Pins, and what a changed definition means for those who approved the one before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import answer_of
from holon_core.catalogue import pins as pinning
from holon_core.records.words import Effect
from sample_lanes import Lane, ids, tool

WRITES = frozenset({Effect.MACHINE_WRITE})


@pytest.fixture
def acme() -> Lane:
    """A lane with one tool, that a test may redefine."""
    return Lane("acme", "a")


def redefine(rt: holon.Runtime, lane: Lane, **changes: Any) -> None:
    """Let the source say something else of its tool."""
    lane.source.definitions = [tool("acme/a", **changes)]
    rt.tools.refresh()


def call(rt: holon.Runtime, **options: Any) -> Any:
    return rt.session(principal="p").call("acme/a", **options)


def records(rt: holon.Runtime, kind: str) -> list[Any]:
    listed = rt.evidence.list(workspace=None, limit=1000)
    return [each.body for each in listed if each.kind == kind]


def test_a_pinned_tool_runs_by_that_definition_alone(open_runtime, acme) -> None:
    """Once it changes, calls stop until somebody pins the new one."""
    rt = open_runtime(acme, discover=False)
    pin = rt.tools.pin("acme/a", by="olga", reason="reviewed")
    assert call(rt).status is holon.Status.COMPLETED

    redefine(rt, acme, description="something else")

    result = call(rt)
    assert (result.status, result.failure.code) == (holon.Status.BLOCKED, "definition_changed")
    assert result.failure.details["pinned"] == pin.digest
    rt.tools.pin("acme/a", by="olga", reason="reviewed again")
    assert call(rt).status is holon.Status.COMPLETED


def test_unpinning_lets_the_new_definition_run(open_runtime, acme) -> None:
    """And says so in evidence, as pinning does."""
    rt = open_runtime(acme, discover=False)
    pin = rt.tools.pin("acme/a", by="olga", reason="reviewed")
    assert rt.tools.pins() == (pin,)
    redefine(rt, acme, version="2")

    rt.tools.unpin("acme/a", by="otto", reason="no need")

    assert call(rt).status is holon.Status.COMPLETED
    assert rt.tools.pins() == ()
    (pinned,), (unpinned,) = records(rt, "pinned"), records(rt, "unpinned")
    assert (pinned["by"], pinned["reason"], pinned["digest"]) == ("olga", "reviewed", pin.digest)
    assert (unpinned["by"], unpinned["tool_id"]) == ("otto", "acme/a")


def test_a_caller_can_not_pin_its_way_around_an_operator(open_runtime, acme) -> None:
    """Naming the present digest in the call does not lift the operator's pin."""
    rt = open_runtime(acme, discover=False)
    rt.tools.pin("acme/a", by="olga", reason="reviewed")
    redefine(rt, acme, version="2")
    now = rt.tools.read("acme/a").digest

    assert call(rt, definition=now).failure.code == "definition_changed"
    rt.tools.unpin("acme/a", by="olga", reason="fine")
    assert call(rt, definition=now).status is holon.Status.COMPLETED
    assert call(rt, definition="other").failure.code == "definition_changed"


def test_what_is_not_there_can_not_be_pinned_or_unpinned(open_runtime, acme) -> None:
    """Both say so; names and reasons are texts."""
    rt = open_runtime(acme, discover=False)

    with pytest.raises(holon.Refused) as unknown:
        rt.tools.pin("acme/nosuch", by="olga", reason="r")
    with pytest.raises(holon.Refused) as unpinned:
        rt.tools.unpin("acme/a", by="olga", reason="r")
    for by, reason in (("", "r"), ("olga", " "), (None, "r"), ("olga", "x" * 2001)):
        with pytest.raises(holon.Misuse):
            rt.tools.pin("acme/a", by=by, reason=reason)

    codes = (unknown.value.failure.code, unpinned.value.failure.code)
    assert codes == ("unknown_tool", "not_pinned")


def test_a_pin_holds_for_every_process(open_runtime, acme, tmp_path: Path) -> None:
    """One that was open before notices pin and unpinning at its next call."""
    rt = open_runtime(acme, discover=False)
    redefine(rt, acme, version="2")
    assert call(rt).status is holon.Status.COMPLETED
    code = """
import json, sys, holon_core as holon
from sample_lanes import Lane
with holon.Runtime.open(sys.argv[1], discover=False, plugins=[Lane("acme", "a")]) as rt:
    do = rt.tools.pin if sys.argv[2] == "pin" else rt.tools.unpin
    if sys.argv[2] == "pin":
        rt.tools.refresh()
    do("acme/a", by="olga", reason="r")
    print(json.dumps(rt.tools.read("acme/a").version))
"""
    assert answer_of(code, str(tmp_path / "root"), "pin") == "1"
    redefine(rt, acme, version="2")

    assert call(rt).failure.code == "definition_changed"
    assert answer_of(code, str(tmp_path / "root"), "unpin") == "2"
    assert call(rt).status is holon.Status.COMPLETED


def test_host_functions_are_pinned_too(open_runtime) -> None:
    """By their version, since code is not part of a definition."""

    def read() -> int:
        """Read."""
        return 1

    rt = open_runtime(discover=False)
    rt.register(read, effects={"none"}, version="1")
    rt.tools.pin("host.app/read", by="olga", reason="r")
    session = rt.session(principal="p")
    assert session.call("host.app/read").failure is None

    rt.register(read, effects={"none"}, version="2")

    assert session.call("host.app/read").failure.code == "definition_changed"
    changes = {
        each.path: (each.before, each.after) for each in rt.tools.difference("host.app/read")
    }
    assert changes["/version"] == ('"1"', '"2"')


def test_an_approval_of_the_old_definition_is_void(open_runtime) -> None:
    """What was approved was another tool; the new one asks again."""
    acme = Lane("acme", "a")
    acme.source.definitions = [tool("acme/a", effects=WRITES)]
    rt = open_runtime(acme, discover=False)
    held = call(rt).held
    rt.approvals.approve(held, by="boss", reason="ok")

    redefine(rt, acme, effects=WRITES, description="also deletes")

    again = rt.session(principal="p").release(held)
    assert again.status is holon.Status.BLOCKED
    assert str(again.failure.kind) in ("approval_required", "definition_changed")
    assert call(rt).held is not None


def test_a_difference_reads_like_one(open_runtime, acme) -> None:
    """Each smallest place, with what was and what is."""
    rt = open_runtime(acme, discover=False)
    assert rt.tools.difference("acme/a") == ()
    first = rt.tools.read("acme/a").digest

    redefine(rt, acme, description="other", effects=WRITES, risk_hints=("new",))

    changes = {
        each.path: (each.change, each.before, each.after) for each in rt.tools.difference("acme/a")
    }
    assert changes == {
        "/description": ("changed", '"a of acme"', '"other"'),
        "/effects/0": ("changed", '"none"', '"machine_write"'),
        "/risk_hints/0": ("added", None, '"new"'),
    }
    redefine(rt, acme, description="third", effects=WRITES, risk_hints=("new",))
    assert [each.path for each in rt.tools.difference("acme/a")] == ["/description"]
    assert len(rt.tools.difference("acme/a", since=first)) == 3
    assert rt.tools.difference("acme/a", since="nosuch") == ()
    assert rt.tools.difference("acme/a", since=rt.tools.read("acme/a").digest) == ()


def test_the_difference_of_a_pinned_tool_is_to_what_was_pinned(open_runtime, acme) -> None:
    """That is what an operator has to judge, however many changes came since."""
    rt = open_runtime(acme, discover=False)
    rt.tools.pin("acme/a", by="olga", reason="r")
    for version in ("2", "3"):
        redefine(rt, acme, version=version)

    (change,) = rt.tools.difference("acme/a")

    assert (change.path, change.before, change.after) == ("/version", '"1"', '"3"')


def test_the_difference_of_a_tool_that_was_away_is_to_its_last_form(open_runtime, acme) -> None:
    """A tool that was removed and came back is compared with what it was."""
    rt = open_runtime(acme, discover=False)
    acme.source.definitions = []
    rt.tools.refresh()
    assert ids(rt) == []

    redefine(rt, acme, version="2")

    assert [each.path for each in rt.tools.difference("acme/a")] == ["/version"]


def test_a_difference_is_bounded(open_runtime, acme, monkeypatch) -> None:
    """Revisions far back and changes beyond the limit are left out."""
    monkeypatch.setattr(pinning, "MAX_CHANGES", 2)
    rt = open_runtime(acme, discover=False)
    first = rt.tools.read("acme/a").digest
    redefine(rt, acme, version="2", description="x", risk_hints=("a",), idempotent=True)

    assert len(rt.tools.difference("acme/a")) == 2
    monkeypatch.setattr(pinning, "MAX_REVISIONS", 1)
    assert rt.tools.difference("acme/a", since=first) == ()


def test_the_difference_of_an_unknown_tool_is_refused(open_runtime) -> None:
    """As reading it is."""
    with pytest.raises(holon.Refused):
        open_runtime(discover=False).tools.difference("acme/nosuch")
