"""Who does not belong to a workspace, or may do nothing any more, gets nowhere by any operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import brought_to, proposal, proposed
from holon_core import AgentProfile, Authority, FrozenState, Refused
from holon_core.operations.table import ROWS
from holon_core.operations.trail import CALLS
from holon_core.records.words import READ_ONLY
from holon_core.runtime import Runtime
from holon_core.session import Session

CALLER = frozenset({Authority.CALLER})
OWN_END = {"agent-session/open", "agent-session/finish", "agent-session/close"}
PLAN = {"goal": "tidy", "steps": [{"id": "look", "summary": "list it"}]}
OPEN_TO_CALLERS = [row for row in ROWS if row.open_to(CALLER) and row.method not in CALLS]


def refused(runtime: Runtime, session: Session, method: str, **given: Any) -> str:
    """Ask an operation as a plain caller; return the code of its refusal."""
    with pytest.raises(Refused) as found:
        runtime.dispatch(method, given, caller=session.caller, authorities=CALLER)
    return found.value.failure.code


@pytest.fixture
def mine(runtime: Runtime, place: Path) -> Session:
    """Ann, in a workspace that is hers alone."""
    runtime.workspaces.open(place, principals=["ann"])
    return runtime.session(principal="ann", workspace=place)


@pytest.fixture
def other(runtime: Runtime, mine: Session) -> Session:
    """Zed, who says that he is in Ann's workspace."""
    return runtime.session(principal="zed", workspace=mine.caller.workspace)


@pytest.mark.parametrize("row", OPEN_TO_CALLERS, ids=lambda row: row.method)
def test_no_operation_answers_whom_the_workspace_excludes(
    runtime: Runtime, other: Session, row: holon.Operation
) -> None:
    """Before its parameters are even read: reads, writes, every row that callers may ask."""
    assert refused(runtime, other, row.method) == "wrong_workspace"


def test_tools_of_another_workspace_are_nowhere_to_be_found(
    runtime: Runtime, mine: Session, tmp_path: Path
) -> None:
    """Neither listed, read, discovered, rehearsed nor called from beside it."""
    record = brought_to(runtime, mine, FrozenState.ACTIVE)
    (tmp_path / "beside").mkdir()
    bob = runtime.session(principal="bob", workspace=tmp_path / "beside")
    nowhere = runtime.session(principal="zed")

    for session in (bob, nowhere):
        listed = runtime.dispatch(
            "runtime-tool/list", {}, caller=session.caller, authorities=CALLER
        )
        assert record.id not in {each["id"] for each in listed["tools"]}
        assert refused(runtime, session, "runtime-tool/read", tool=record.id) == "unknown_tool"
        found = runtime.dispatch(
            "runtime-capability/discover",
            {"query": record.definition.purpose},
            caller=session.caller,
            authorities=CALLER,
        )
        assert record.id not in {each["id"] for each in found["items"]}
        for result in (
            session.call(record.id, {"text": "a"}),
            session.dry_run(record.id, {"text": "a"}),
        ):
            assert result.failure is not None
            assert (result.failure.code, result.output) == ("wrong_workspace", None)
    own = runtime.dispatch("runtime-tool/list", {}, caller=mine.caller, authorities=CALLER)
    assert record.id in {each["id"] for each in own["tools"]}


def test_an_operator_of_the_host_reads_what_excludes_it(
    runtime: Runtime, mine: Session, other: Session
) -> None:
    """Who may use a workspace says nothing of who runs the host."""
    record = proposed(runtime, mine)

    shown = runtime.dispatch(
        "frozen-tool-proposal/read",
        {"id": record.id},
        caller=other.caller,
        authorities=frozenset(Authority),
    )

    assert shown["proposal"]["id"] == record.id


def test_a_caller_without_a_workspace_sees_no_proposals(runtime: Runtime, mine: Session) -> None:
    """No workspace is not all of them; an operator without one sees each."""
    record = proposed(runtime, mine)
    caller = runtime.session(principal="zed").caller

    def listed(authorities: frozenset[Authority]) -> list[str]:
        method = "frozen-tool-proposal/list"
        found = runtime.dispatch(method, {}, caller=caller, authorities=authorities)
        return [each["id"] for each in found["proposals"]]

    assert listed(CALLER) == []
    assert listed(frozenset(Authority)) == [record.id]


def test_methods_that_take_a_caller_refuse_whom_the_workspace_excludes(
    runtime: Runtime, mine: Session, other: Session
) -> None:
    """A host in Python that hands on a caller is told as much as one that asks operations."""
    frozen = runtime.tools.frozen
    record = proposed(runtime, mine)
    output = mine.accept_output("planner_output", PLAN)
    tries = [
        lambda: frozen.create(proposal(name="other"), caller=other.caller),
        lambda: frozen.update(record.id, proposal(), caller=other.caller),
        lambda: frozen.promote(record.id, session=other),
        lambda: frozen.unblock(record.id, session=other, reason="r"),
    ]

    for each in tries:
        with pytest.raises(Refused) as found:
            each()
        assert found.value.failure.code == "wrong_workspace"
    given = other.accept_output("planner_output", PLAN)
    taken = other.hand_output(output.output_id, consumer="workflow_runner")

    assert [r.failure and r.failure.code for r in (given, taken)] == ["wrong_workspace"] * 2
    assert taken.value is None
    assert given.evidence_refs[0].chain != mine.caller.workspace
    assert frozen.read(record.id) == record


def _without_profile(runtime: Runtime, place: Path) -> Session:
    return runtime.session(principal="ann", workspace=place, profile="nobody")


def _finished(runtime: Runtime, place: Path) -> Session:
    profile = AgentProfile(id="planner", role="planner", output_class="planner_output")
    runtime.agents.profiles.create(profile, by="op", reason="r")
    session = runtime.session(principal="ann", workspace=place, profile="planner")
    assert session.finish(PLAN).output_id
    return session


def _archived(runtime: Runtime, place: Path) -> Session:
    runtime.agents.profiles.create(AgentProfile(id="old", role="r"), by="op", reason="r")
    session = runtime.session(principal="ann", workspace=place, profile="old")
    assert session.agent_session.state.value == "open"
    runtime.agents.profiles.archive("old", by="op", reason="r")
    return session


@pytest.mark.parametrize("end", [_without_profile, _finished, _archived])
def test_who_may_do_nothing_any_more_has_no_effects_by_operations(
    runtime: Runtime, session: Session, place: Path, end: Any
) -> None:
    """An agent without a profile, or at its end, reads; it neither writes nor accepts anything."""
    record = proposed(runtime, session)
    ended = end(runtime, place)
    writes = [row for row in OPEN_TO_CALLERS if not row.effects <= READ_ONLY]

    for row in writes:
        if row.method not in OWN_END:
            assert refused(runtime, ended, row.method) == "not_allowed", row.method
    with pytest.raises(Refused) as found:
        runtime.tools.frozen.promote(record.id, session=ended)

    assert found.value.failure.code == "not_allowed"
    assert ended.accept_output("planner_output", PLAN).failure.code == "not_allowed"
    shown = runtime.dispatch(
        "frozen-tool-proposal/read", {"id": record.id}, caller=ended.caller, authorities=CALLER
    )
    assert shown["proposal"]["state"] == FrozenState.PROPOSED


def test_an_ended_agent_asks_for_no_approvals(runtime: Runtime, session: Session) -> None:
    """Nor does it rehearse as if it could still call."""
    record = brought_to(runtime, session, FrozenState.ACTIVE)
    ended = runtime.session(principal="ann", workspace=session.caller.workspace, profile="nobody")

    assert ended.request_approval(record.id, {"text": "x"}).failure.code == "not_allowed"
