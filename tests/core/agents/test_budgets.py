"""Budgets of agents: what is left of one bounds each call, and every view says what is used up."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import evolve

import holon_core as holon
from agent_office import DOOR, Office
from door import HandClock
from holon_core import AgentProfile, Authority, Guardrails
from holon_core.agents.answering import MAX_CALLS
from holon_core.agents.session_store import BLOCKED_PER_CALL
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


@pytest.fixture
def clock() -> HandClock:
    """A clock that the test moves; what runs, runs by the real one."""
    return HandClock()


@contextmanager
def slow(clock: HandClock, **limits: Any) -> Iterator[holon.Runtime]:
    """Open a runtime with tools that take ten seconds: in a thread, on a loop, in a process."""

    @holon.tool(effects={"none"}, **limits)
    def wait() -> str:
        """Wait in a thread."""
        time.sleep(10)
        return "late"

    @holon.tool(effects={"none"}, **limits)
    async def await_long() -> str:
        """Wait on a loop."""
        await asyncio.sleep(10)
        return "late"

    @holon.tool(effects={"none"}, **limits)
    def run(call: holon.SealedCall) -> str:
        """Wait for a program, which has its own limit."""
        call.run_process([sys.executable, "-c", "import time; time.sleep(10)"])
        return "late"

    with holon.Runtime.in_memory(tools=[wait, await_long, run], clock=clock) as made:
        yield made


@pytest.mark.parametrize("tool", ["wait", "await_long", "run"])
@pytest.mark.parametrize("own", [None, 600], ids=["without a limit", "with a longer limit"])
def test_the_end_of_a_session_ends_the_call_that_runs(
    clock: HandClock, tool: str, own: float | None
) -> None:
    """Its limit is the smaller of its own and what is left; it fails by the guardrail's code."""
    with slow(clock, **({} if own is None else {"timeout_s": own})) as runtime:
        session = agent(runtime, max_duration_s=60)
        assert session.agent_session.calls == 0
        clock.advance(59.7)
        began = time.monotonic()

        result = session.call(f"host.app/{tool}")

        assert code(result) == "budget_exceeded"
        assert result.failure is not None
        assert result.failure.details["limit"] == "max_duration_s"
        assert time.monotonic() - began < 5
        assert session.agent_session.calls == 1


def test_a_limit_of_its_own_that_is_smaller_stays_what_ends_a_call(clock: HandClock) -> None:
    """Then it is no matter of the session."""
    with slow(clock, timeout_s=0.2) as runtime:
        session = agent(runtime, max_duration_s=86_400)

        assert code(session.call("host.app/wait")) == "timeout"
        assert code(asyncio.run(session.acall("host.app/await_long"))) == "timeout"


@pytest.mark.parametrize(("took", "wanted"), [(61, "budget_exceeded"), (5, "timeout")])
def test_a_lane_that_keeps_the_limit_itself_is_ended_by_the_session_too(
    clock: HandClock, took: int, wanted: str
) -> None:
    """It is told the smaller limit; one of its own that was earlier stays its own matter."""
    given: list[float | None] = []

    class Late:
        """Answers that its time was up, after some time."""

        def execute(self, call: Any) -> Any:
            given.append(call.limits.timeout_s)
            clock.advance(took)
            kind = holon.StructuredFailureKind.TIMEOUT
            problem = holon.ExecutorFailure(kind=kind, code="timeout", message="its time was up")
            return holon.ExecutorOutcome(status=holon.ExecutorStatus.FAILED, failure=problem)

        def preview(self, _: Any) -> Any:
            return {}

    with holon.Runtime.in_memory(plugins=[Office(Late())], clock=clock) as runtime:
        session = agent(runtime, max_duration_s=20)

        assert code(session.call(DOOR)) == wanted
        assert given == [pytest.approx(20, abs=1)]


def test_a_session_may_be_longer_than_any_limit_of_a_tool(
    runtime: holon.Runtime, ran: list[str]
) -> None:
    """A day is left, and a tool without a limit has none that is shorter."""
    session = agent(runtime, max_duration_s=86_400)

    assert code(session.call("host.app/look")) == ""
    assert ran == ["look"]


def test_a_call_that_its_tool_blocks_is_none_of_the_calls_that_ran() -> None:
    """Nothing was done; the other calls of the session are still there."""
    with holon.Runtime.in_memory(plugins=[Office()]) as runtime:
        session = agent(runtime, max_calls=2, max_output_bytes=1000)

        results = [session.call(DOOR) for _ in range(3)]

        assert [code(each) for each in results] == ["path_escape"] * 3
        kept = session.agent_session
        assert (kept.calls, kept.blocked_calls, kept.reserved_bytes) == (0, 3, 0)
        assert [code(session.call(DOOR, {"open": True})) for _ in range(3)] == [
            "",
            "",
            "budget_exceeded",
        ]


def test_a_tool_that_blocks_is_not_tried_without_end() -> None:
    """Ten times as often as calls are allowed; then the session calls nothing any more."""
    with holon.Runtime.in_memory(plugins=[Office()]) as runtime:
        session = agent(runtime, max_calls=1)

        codes = [code(session.call(DOOR)) for _ in range(BLOCKED_PER_CALL + 1)]

        assert codes == ["path_escape"] * BLOCKED_PER_CALL + ["budget_exceeded"]
        assert code(session.call(DOOR, {"open": True})) == "budget_exceeded"
        [found] = session.discover("door").items
        assert found.blocking_reasons[0].code == "budget_exceeded"


def test_callers_of_operations_without_a_run_share_a_session(runtime: holon.Runtime) -> None:
    """Each request is of the same caller: limits add up, and its end is the end of all."""
    agent(runtime, max_calls=2)
    caller = holon.CallerContext(principal="ann", profile="a")

    def ask(method: str, who: holon.CallerContext = caller, **params: Any) -> Any:
        return runtime.dispatch(method, params, caller=who, authorities=CALLER)

    def call(who: holon.CallerContext = caller) -> str:
        said = ask("runtime-tool/call", who, tool="host.app/look", arguments={})
        return "" if said["failure"] is None else str(said["failure"]["code"])

    assert [call(), call(), call()] == ["", "", "budget_exceeded"]
    assert ask("agent-session/open")["session"]["calls"] == 2
    assert ask("agent-session/finish", answer=PLAN)["output_id"]
    ended = ask("agent-session/finish", answer=PLAN)["failure"]
    assert ended["code"] == "not_allowed"
    assert "another run" in ended["message"]
    assert call(holon.CallerContext(principal="ann", profile="a", run="2")) == ""
    assert call(holon.CallerContext(principal="bob", profile="a")) == ""


def test_a_held_call_is_released_at_the_step_at_which_it_was_asked() -> None:
    """A person approved it there; the session itself has gone on and does not go back."""

    @holon.tool(effects={"network_write"})
    def send() -> str:
        """Send."""
        return "sent"

    steps = (holon.PlanStep(id="act"), holon.PlanStep(id="tell", excluded_tools=("*/send",)))
    with holon.Runtime.in_memory(tools=[send]) as runtime:
        profile = AgentProfile(id="s", plan_steps=steps)
        runtime.agents.profiles.create(profile, by="op", reason="r")
        held = runtime.session(principal="ann", profile="s", plan_step="act", run="1").call(
            "host.app/send"
        )
        telling = runtime.session(principal="ann", profile="s", plan_step="tell", run="1")
        kept = telling.agent_session
        assert held.held is not None
        runtime.approvals.approve(held.held, by="boss", reason="ok")

        assert code(telling.call("host.app/send")) == "not_allowed"
        assert telling.release(held.held).output == {"result": "sent"}
        # Read and not opened, which would move it.
        after = runtime.agents.sessions.read(kept.id)
        assert (kept.plan_step, after.plan_step, after.calls) == ("tell", "tell", 1)


def test_a_step_that_its_profile_closes_meanwhile_is_closed_for_what_is_held() -> None:
    """Rights are looked at anew, by the profile as it is now."""

    @holon.tool(effects={"network_write"})
    def send() -> str:
        """Send."""
        return "sent"

    with holon.Runtime.in_memory(tools=[send]) as runtime:
        made = runtime.agents.profiles.create(
            AgentProfile(id="s", plan_steps=(holon.PlanStep(id="act"),)), by="op", reason="r"
        )
        session = runtime.session(principal="ann", profile="s", plan_step="act", run="1")
        held = session.call("host.app/send").held
        assert held is not None
        runtime.approvals.approve(held, by="boss", reason="ok")
        closed = (holon.PlanStep(id="act", excluded_tools=("*/send",)),)
        runtime.agents.profiles.update(evolve(made, plan_steps=closed), by="op", reason="r")

        assert code(session.release(held)) == "not_allowed"
        assert [each.call_id for each in runtime.approvals.held()] == [held]


def test_what_a_session_that_is_over_may_not_call_is_not_shown(runtime: holon.Runtime) -> None:
    """Whether it ended by its answer, or by a limit that is used up."""
    session = agent(runtime, max_calls=1)
    assert len(session.tools("anthropic")) == 1

    session.call("host.app/look")
    used_up = session.tools("anthropic")
    session.finish({"goal": "g", "steps": [{"id": "s", "summary": "t"}]})

    assert session.agent_session.state == "finished"
    assert (list(used_up), list(session.tools("anthropic"))) == ([], [])


def test_the_time_of_a_session_counts_from_its_opening_to_the_fraction(clock: HandClock) -> None:
    """One that opens late in a second has as long as any other."""
    with slow(clock) as runtime:
        clock.advance(0.75)
        session = agent(runtime, max_duration_s=1)
        assert session.agent_session.calls == 0
        clock.advance(0.5)

        told = session.explain("host.app/wait")

        assert told.outcome == "would run"
        clock.advance(0.5)
        assert session.explain("host.app/wait").outcome == "would be refused"
