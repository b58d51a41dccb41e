"""Agents' outputs, profiles and frozen tools, asked from Python, pass policy as operations do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import Echoes, open_runtime, proposal
from holon_core.errors import Refused
from holon_core.records.agent import AgentProfile
from holon_core.records.frozen import FrozenState

PLAN = {"goal": "tidy", "steps": [{"id": "look", "summary": "list it"}]}
PROFILE = AgentProfile(id="planner", output_class="planner_output")
Open = Callable[..., holon.Runtime]
Work = Callable[[holon.Runtime, Any, Any], Any]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open a runtime under rules on one root, one after the other."""
    made: list[holon.Runtime] = []

    def opening(**rule: Any) -> holon.Runtime:
        for each in made:
            each.close()
        rules = [rule] if rule else []
        made.append(open_runtime(tmp_path / "root", Echoes(), config={"rules": rules}))
        return made[-1]

    yield opening
    for each in made:
        each.close()


def ann(rt: holon.Runtime, place: Path) -> Any:
    """Open ann's session in a workspace."""
    place.mkdir(exist_ok=True)
    return rt.session(principal="ann", workspace=place, profile="planner", run="one")


def reasoned(verb: str) -> Work:
    """Make what moves a tool in somebody's name."""

    def work(rt: holon.Runtime, session: Any, ids: Any) -> Any:
        return getattr(rt.tools.frozen, verb)(ids["tool"], by="ann", reason="no use")

    return work


FROZEN = "frozen-tool-proposal"
WORKS: dict[str, Work] = {
    f"{FROZEN}/create": lambda rt, s, ids: rt.tools.frozen.create(
        proposal(name="other"), caller=s.caller
    ),
    f"{FROZEN}/update": lambda rt, s, ids: rt.tools.frozen.update(
        ids["tool"], proposal(), caller=s.caller
    ),
    f"{FROZEN}/validate": lambda rt, s, ids: rt.tools.frozen.validate(ids["tool"], caller=s.caller),
    f"{FROZEN}/promote": lambda rt, s, ids: rt.tools.frozen.promote(ids["tool"], session=s),
    f"{FROZEN}/unblock": lambda rt, s, ids: rt.tools.frozen.unblock(
        ids["tool"], session=s, reason="fixed"
    ),
    f"{FROZEN}/revalidate": lambda rt, s, ids: rt.tools.frozen.revalidate(caller=s.caller),
    **{
        f"{FROZEN}/{verb}": reasoned(verb) for verb in ("block", "deprecate", "archive", "withdraw")
    },
    "structured-output/validate": lambda rt, s, ids: s.accept_output("planner_output", PLAN),
    "structured-output/hand-over": lambda rt, s, ids: s.hand_output(
        ids["output"], consumer="workflow_validator"
    ),
    "agent-session/finish": lambda rt, s, ids: s.finish(PLAN),
    "agent-session/close": lambda rt, s, ids: rt.agents.sessions.close(s.caller, forced=True),
}


@pytest.mark.parametrize("method", WORKS)
def test_a_rule_for_this_caller_denies_the_method_before_anything_is_done(
    opened: Open, tmp_path: Path, method: str
) -> None:
    """What an operation is denied, its method from Python is denied, too; nothing changed."""
    rt = opened()
    rt.agents.profiles.create(PROFILE, by="boss", reason="first")
    session = ann(rt, tmp_path / "place")
    output = session.accept_output("planner_output", PLAN).output_id
    record = rt.tools.frozen.create(proposal(), caller=session.caller)
    ids = {"tool": record.id, "output": output}

    rt = opened(id=method, decision="deny", principal="ann", reason="not by ann")
    session = ann(rt, tmp_path / "place")
    with pytest.raises(Refused) as refused:
        WORKS[method](rt, session, ids)

    assert refused.value.failure.code == "policy_denied"
    assert refused.value.failure.message == "not by ann"
    assert rt.tools.frozen.list() == (record,)
    assert session.agent_session.state.value == "open"


def test_a_rule_for_somebody_else_lets_the_callers_own_methods_pass(
    opened: Open, tmp_path: Path
) -> None:
    """Policy is asked about the caller, not about the host that calls for them."""
    rt = opened(lane="operation", decision="deny", principal="bob")
    rt.agents.profiles.create(PROFILE, by="boss", reason="first")
    session = ann(rt, tmp_path / "place")

    record = rt.tools.frozen.create(proposal(), caller=session.caller)
    assert rt.tools.frozen.withdraw(record.id, by="ann", reason="r").state is FrozenState.ARCHIVED
    assert session.finish(PLAN).value == PLAN


@pytest.mark.parametrize("verb", ["create", "update", "archive"])
def test_a_profile_is_changed_only_where_policy_lets_whoever_changes_it(
    opened: Open, verb: str
) -> None:
    """The operations on profiles are asked in the name of `by`."""
    rt = opened()
    stored = rt.agents.profiles.create(PROFILE, by="boss", reason="first")

    rt = opened(id=f"agent-profile/{verb}", decision="deny", principal="boss")
    profiles = rt.agents.profiles
    given: Any = {"create": AgentProfile(id="new"), "update": stored, "archive": "planner"}[verb]
    with pytest.raises(Refused) as refused:
        getattr(profiles, verb)(given, by="boss", reason="second")

    assert refused.value.failure.code == "policy_denied"
    assert profiles.list() == (stored,)


def test_where_a_rule_asks_the_method_is_held_and_released_as_the_operation(
    opened: Open, tmp_path: Path
) -> None:
    """An approval lets exactly this proposal in, by asking once more."""
    rt = opened(id=f"{FROZEN}/create", decision="ask")
    session = rt.session(principal="ann", workspace=_place(tmp_path))
    with pytest.raises(Refused) as held:
        rt.tools.frozen.create(proposal(), caller=session.caller)

    assert held.value.failure.code == "approval_required"
    rt.approvals.approve(held.value.failure.details["held"], by="boss", reason="fine")
    record = rt.tools.frozen.create(proposal(), caller=session.caller)
    assert record.state is FrozenState.PROPOSED


def test_where_a_rule_asks_an_answer_waits_for_a_person(opened: Open, tmp_path: Path) -> None:
    """Accepting an output is no decision of a person, so `ask` holds it."""
    rt = opened(id="structured-output/validate", decision="ask")
    session = rt.session(principal="ann", workspace=_place(tmp_path))

    with pytest.raises(Refused) as held:
        session.accept_output("planner_output", PLAN)

    assert held.value.failure.code == "approval_required"
    call = held.value.failure.details["held"]
    rt.approvals.approve(call, by="boss", reason="fine")
    assert session.accept_output("planner_output", PLAN).value == PLAN


def test_an_answer_that_is_no_json_is_still_a_typed_failure(opened: Open, tmp_path: Path) -> None:
    """Policy sees nothing of it; its gate says what is wrong."""
    session = opened().session(principal="ann", workspace=_place(tmp_path))

    result = session.accept_output("planner_output", object())

    assert result.failure is not None
    assert result.output_id is None


def _place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    return place
