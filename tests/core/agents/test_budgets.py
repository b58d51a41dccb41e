"""Budgets of agents: what is left of one bounds each call, and every view says what is used up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import holon_core as holon
from holon_core import AgentProfile, Authority, Guardrails
from holon_core.agents.answering import MAX_CALLS
from holon_core.session import Session

CALLER = frozenset({Authority.CALLER})
PLAN = {"goal": "tidy", "steps": [{"id": "look", "summary": "list it"}]}


@pytest.fixture
def ran() -> list[str]:
    """What ran."""
    return []


@pytest.fixture
def runtime(ran: list[str]) -> Iterator[holon.Runtime]:
    """A runtime with one tool that gives as many characters as it is asked for."""

    @holon.tool(effects={"none"})
    def look(size: int = 1) -> str:
        """Look."""
        ran.append("look")
        return "y" * size

    with holon.Runtime.in_memory(tools=[look]) as made:
        yield made


def agent(runtime: holon.Runtime, **limits: Any) -> Session:
    """Open a session of a profile with these guardrails, and a contract."""
    profile = AgentProfile(
        id="a", role="r", guardrails=Guardrails(**limits), output_class="planner_output"
    )
    runtime.agents.profiles.create(profile, by="op", reason="r")
    return runtime.session(principal="ann", profile="a")


def code(result: Any) -> str:
    """Return the code of a failure."""
    return result.failure.code if result.failure else ""


def test_one_call_gives_no_more_than_is_left_of_the_budget(runtime: holon.Runtime) -> None:
    """It fails with the guardrail's own code, and what it gave is not delivered."""
    session = agent(runtime, max_output_bytes=100)

    result = session.call("host.app/look", {"size": 1000})
    small = session.call("host.app/look", {"size": 50})

    assert (code(result), result.output) == ("budget_exceeded", None)
    assert small.output == {"result": "y" * 50}


def test_calls_at_once_pass_no_budget_together(runtime: holon.Runtime) -> None:
    """What a call may give is reserved before it runs, and given back where it gave less."""
    session = agent(runtime, max_output_bytes=100)

    async def at_once() -> list[Any]:
        return await asyncio.gather(
            *(session.acall("host.app/look", {"size": 60}) for _ in range(8))
        )

    results = asyncio.run(at_once())

    given = sum(len(each.output["result"]) for each in results if each.output)
    assert given <= 100
    assert {code(each) for each in results} <= {"", "budget_exceeded"}
    kept = session.agent_session
    assert (kept.output_bytes <= 100, kept.reserved_bytes) == (True, 0)


def test_every_view_names_a_used_up_budget_and_an_ended_session(runtime: holon.Runtime) -> None:
    """Dry run, explain, policy/explain and discover say what the call would be refused by."""
    session = agent(runtime, max_calls=1)
    session.call("host.app/look", {})

    def views() -> list[str]:
        tool = {"tool": "host.app/look", "arguments": {}}
        said = runtime.dispatch("policy/explain", tool, caller=session.caller, authorities=CALLER)
        [found] = session.discover("look").items
        return [
            session.dry_run("host.app/look", {}).blocking_reasons[0].code,
            session.explain("host.app/look", {}).steps[-2].detail.partition(":")[0],
            said["stopped"].partition(":")[0],
            found.blocking_reasons[0].code,
            code(session.request_approval("host.app/look", {})),
        ]

    assert views() == ["budget_exceeded"] * 5
    assert session.explain("host.app/look", {}).outcome == "would be refused"
    assert session.finish(PLAN).output_id
    assert views() == ["not_allowed"] * 5


def test_calls_beyond_the_most_of_one_answer_are_refused_each(
    runtime: holon.Runtime, ran: list[str]
) -> None:
    """A model's long turn raises nothing into the host: each call has an answer and a record."""
    session = runtime.session(principal="ann")
    calls = [
        {"type": "tool_use", "id": f"t{n}", "name": "look", "input": {}}
        for n in range(MAX_CALLS + 2)
    ]

    messages = session.answer(calls)

    assert len(messages) == MAX_CALLS + 2
    assert len(ran) == MAX_CALLS
    assert [code(each.result) for each in messages[-3:]] == ["", *["budget_exceeded"] * 2]
    last = runtime.evidence.read(messages[-1].result.call_id)
    assert [each.kind for each in last] == ["refused"]


def test_a_session_without_a_step_gets_what_no_step_restricts(runtime: holon.Runtime) -> None:
    """Leaving the step out opens nothing that the plan closes somewhere."""
    steps = (holon.PlanStep(id="wait", excluded_tools=("host.app/look",)), holon.PlanStep(id="go"))
    profile = AgentProfile(id="s", role="r", plan_steps=steps)
    runtime.agents.profiles.create(profile, by="op", reason="r")

    without = runtime.session(principal="ann", profile="s", run="1")
    within = runtime.session(principal="ann", profile="s", plan_step="go", run="2")

    assert code(without.call("host.app/look")) == "not_allowed"
    assert code(within.call("host.app/look")) == ""
