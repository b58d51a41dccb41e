"""Agent profiles and sessions: what an agent sees and calls, its limits, and how it ends."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest

import holon_core as holon
from holon_core import AgentProfile, Guardrails, PlanStep
from holon_core.testing import ManualClock

BY: dict[str, str] = {"by": "operator", "reason": "needed"}
OPTIONAL = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
PLAN = {"goal": "tidy", "steps": [{"id": "look", "summary": "list it"}]}


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock()


@pytest.fixture
def opened(tmp_path, clock):
    """Open runtimes on one root, with three tools."""

    @holon.tool(effects={"none"})
    def look(text: str = "") -> str:
        """Look."""
        return text

    @holon.tool(effects={"workspace_read"})
    def read() -> str:
        """Read."""
        return "r"

    @holon.tool(effects={"network_write"})
    def send() -> str:
        """Send."""
        return "sent"

    made: list[holon.Runtime] = []

    def make() -> holon.Runtime:
        runtime = holon.Runtime.open(
            tmp_path / "root", tools=[look, read, send], discover=False, clock=clock
        )
        made.append(runtime)
        return runtime

    yield make
    for each in made:
        each.close()


@pytest.fixture
def runtime(opened):
    """One of them."""
    return opened()


def agent(runtime: holon.Runtime, profile: AgentProfile, **who: Any) -> holon.Session:
    """Create a profile and open a session under it."""
    runtime.agents.profiles.create(profile, **BY)
    return runtime.session(principal="agent", profile=profile.id, **who)


def shown(session: holon.Session) -> list[str]:
    return [each["name"] for each in session.tools("openai-responses")]


def code(result: Any) -> str | None:
    return None if result.failure is None else result.failure.code


def test_an_agent_sees_and_calls_only_what_its_profile_allows(runtime):
    """Everything else is not allowed, and recorded."""
    session = agent(runtime, AgentProfile(id="looker", allowed_tools=("host.app/l*",)))

    assert shown(session) == ["look"]
    assert code(session.call("host.app/look")) is None
    assert code(session.call("host.app/send")) == "not_allowed"
    assert runtime.evidence.list(workspace=None, newest=True)[0].kind == "refused"


def test_what_a_profile_excludes_wins_over_what_it_allows(runtime):
    """An exception is an exception."""
    session = agent(runtime, AgentProfile(id="p", excluded_tools=("*/send",)))

    assert shown(session) == ["look"]
    assert code(session.call("host.app/send")) == "not_allowed"


def test_a_step_of_the_plan_narrows_and_never_widens(runtime):
    """Tools of a step are those that the profile allows as well."""
    steps = (PlanStep(id="one", allowed_tools=("*/look", "*/send")), PlanStep(id="two"))
    profile = AgentProfile(id="p", excluded_tools=("*/send",), plan_steps=steps)
    at_one = agent(runtime, profile, plan_step="one")
    lost = runtime.session(principal="agent", profile="p", plan_step="three")

    assert shown(at_one) == ["look"]
    assert code(at_one.call("host.app/send")) == "not_allowed"
    assert shown(lost) == []
    assert code(lost.call("host.app/look")) == "not_allowed"


def test_a_profile_that_does_not_exist_lets_nothing_run(runtime):
    """A mistyped name is no way to all tools."""
    session = runtime.session(principal="agent", profile="lookr")

    assert shown(session) == []
    assert code(session.call("host.app/look")) == "not_allowed"


def test_an_archived_profile_lets_nothing_run_from_the_next_call_on(runtime, opened):
    """In every process on the root, in sessions that are open already, too."""
    session = agent(runtime, AgentProfile(id="p"))
    elsewhere = opened().session(principal="other", profile="p")
    assert code(elsewhere.call("host.app/look")) is None

    runtime.agents.profiles.archive("p", **BY)

    assert code(session.call("host.app/look")) == "not_allowed"
    assert code(elsewhere.call("host.app/look")) == "not_allowed"


def test_the_ceiling_of_effects_holds(runtime):
    """What is stricter is neither shown nor called."""
    limits = Guardrails(effects_ceiling=holon.Effect.WORKSPACE_READ)
    session = agent(runtime, AgentProfile(id="p", guardrails=limits))

    assert shown(session) == ["look"]
    assert code(session.call("host.app/send")) == "not_allowed"


def test_the_calls_of_a_run_are_limited_across_restarts(runtime, opened):
    """The counter is in the store; another run has its own."""
    profile = AgentProfile(id="p", guardrails=Guardrails(max_calls=2))
    session = agent(runtime, profile, run="r1")

    assert code(session.call("host.app/look")) is None
    runtime.close()
    later = opened()
    again = later.session(principal="agent", profile="p", run="r1")

    assert code(again.call("host.app/look")) is None
    assert code(again.call("host.app/look")) == "budget_exceeded"
    assert again.agent_session.calls == 2
    assert (
        code(later.session(principal="agent", profile="p", run="r2").call("host.app/look")) is None
    )


def test_a_refused_or_held_call_is_not_counted(runtime):
    """Only what is accepted is."""
    profile = AgentProfile(id="p", guardrails=Guardrails(max_calls=1))
    session = agent(runtime, profile)

    session.call("host.app/nothing")
    held = session.call("host.app/send").held
    assert session.agent_session.calls == 0
    assert [c.call_id for c in runtime.agents.sessions.waiting(session.agent_session)] == [held]

    runtime.approvals.approve(held, by="boss", reason="ok")
    assert code(session.release(held)) is None
    assert code(session.call("host.app/look")) == "budget_exceeded"


def test_time_and_output_of_a_run_are_limited(runtime, clock):
    """By the clock of the runtime, and by the bytes that tools gave."""
    limits = Guardrails(max_duration_s=60, max_output_bytes=50)
    session = agent(runtime, AgentProfile(id="p", guardrails=limits))

    assert code(session.call("host.app/look", {"text": "x" * 30})) is None
    assert session.call("host.app/look").failure.details["limit"] == "max_output_bytes"
    clock.advance(61)
    assert session.call("host.app/look").failure.details["limit"] == "max_duration_s"


def test_a_session_with_a_contract_ends_by_its_answer_alone(runtime):
    """Gate, evidence, and nothing more is called afterwards."""
    profile = AgentProfile(id="planner", role="planner", output_class="planner_output")
    session = agent(runtime, profile)
    session.call("host.app/look")

    with pytest.raises(holon.Refused):
        runtime.agents.sessions.close(session.caller)
    wrong = session.finish("I would look first.")
    done = session.finish(PLAN)

    assert wrong.failure.kind is holon.StructuredFailureKind.EXTRACTION_FAILURE
    assert done.value == PLAN
    assert session.agent_session.state.value == "finished"
    assert session.agent_session.outputs == (done.output_id,)
    assert code(session.call("host.app/look")) == "not_allowed"
    again = session.finish(PLAN)
    assert (again.output_id, code(again)) == (None, "not_allowed")
    assert session.agent_session.outputs == (done.output_id,)
    kinds = [each.kind for each in runtime.evidence.list(workspace=None)]
    kinds = [each for each in kinds if each != "operation"]
    assert kinds[-4:] == ["structured_output", "agent_session", "refused", "structured_output"]
    assert session.hand_output(done.output_id, consumer="workflow_runner").value == PLAN


@pytest.mark.parametrize("moment", range(1, 9))
def test_of_two_answers_at_once_one_ends_the_session(runtime, clock, monkeypatch, moment):
    """Whenever the other comes: before this one is judged, or after."""
    profile = AgentProfile(id="planner", output_class="planner_output")
    session = agent(runtime, profile, run="r1")
    session.call("host.app/look")
    other = runtime.session(principal="agent", profile="planner", run="r1")
    usual, asked, done = clock.now, itertools.count(1), []
    comes = iter([True])

    def now() -> float:
        if next(asked) == moment and next(comes, False):
            # In the middle of a transaction nobody else comes.
            with contextlib.suppress(holon.Misuse):
                done.append(other.finish(PLAN))
        return usual()

    monkeypatch.setattr(clock, "now", now)
    done.append(session.finish(PLAN))

    kept = [each.output_id for each in done if each.output_id]
    assert session.agent_session.outputs == tuple(kept)
    assert len(kept) == 1
    assert [code(each) for each in done if not each.output_id] in ([], ["not_allowed"])


def test_what_is_accepted_in_a_session_is_an_output_of_it(runtime):
    """The store knows what an agent gave, before it ends and after."""
    session = agent(runtime, AgentProfile(id="planner", output_class="planner_output"))
    review = {"verdict": "approve", "summary": "ok", "findings": []}

    given = session.accept_output("reviewer_output", review)
    session.accept_output("reviewer_output", {})
    done = session.finish(PLAN)
    late = session.accept_output("reviewer_output", review)

    assert session.agent_session.outputs == (given.output_id, done.output_id)
    assert code(late) == "not_allowed"


def test_an_answer_in_a_response_format_is_mapped_back_before_the_gate(runtime):
    """What a strict format made null is left out again."""
    session = agent(runtime, AgentProfile(id="planner", output_schema=OPTIONAL))

    done = session.finish('{"n": 1, "note": null}', dialect="openai-responses")

    assert done.value == {"n": 1}


def test_a_contract_may_be_a_schema_of_its_own(runtime, opened):
    """It is a class for the host, also in another process."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    session = agent(runtime, AgentProfile(id="counter", output_schema=schema))

    assert session.finish({"n": "1"}).failure.details["path"] == "/n"
    done = session.finish({"n": 1})

    other = opened().session(principal="agent")
    assert other.hand_output(done.output_id, consumer="host").value == {"n": 1}
    assert code(other.hand_output(done.output_id, consumer="workflow_runner")) == "policy_denied"


def test_a_session_without_a_contract_is_closed(runtime):
    """Then it calls nothing more."""
    session = agent(runtime, AgentProfile(id="p"))

    runtime.agents.sessions.close(session.caller)

    assert code(session.call("host.app/look")) == "not_allowed"
    with pytest.raises(holon.Refused):
        session.finish({})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"id": "No Good"}, "/id"),
        ({"allowed_tools": "*"}, "/allowed_tools"),
        ({"allowed_tools": ("",)}, "/allowed_tools"),
        ({"excluded_tools": ("host.app/*", "host.app/[e")}, "/excluded_tools/1"),
        (
            {"plan_steps": (PlanStep(id="a", excluded_tools=("[!e",)),)},
            "/plan_steps/0/excluded_tools/0",
        ),
        ({"plan_steps": (PlanStep(id="a"), PlanStep(id="a"))}, "/plan_steps/1/id"),
        ({"output_class": "planer_output"}, "/output_class"),
        ({"output_schema": {"type": "string"}}, "/output_schema"),
        ({"output_class": "planner_output", "output_schema": {"type": "object"}}, "/output_schema"),
    ],
    ids=str,
)
def test_a_profile_that_is_not_sound_is_rejected_with_the_place(runtime, changes, path):
    """Nothing is stored."""
    with pytest.raises(holon.Rejected) as caught:
        runtime.agents.profiles.create(AgentProfile(**{"id": "p", **changes}), **BY)

    assert path in [each.path for each in caught.value.findings]
    assert runtime.agents.profiles.list() == ()


def test_two_changes_of_one_revision_do_not_both_count(runtime):
    """The second is told of the first."""
    made = runtime.agents.profiles.create(AgentProfile(id="p"), **BY)
    runtime.agents.profiles.update(made, **BY)

    with pytest.raises(holon.Refused) as caught:
        runtime.agents.profiles.update(made, **BY)
    assert caught.value.failure.code == "conflict"


@pytest.mark.parametrize(
    ("name", "text", "flagged"),
    [
        ("make_plan", "Think.", True),
        ("think", "Return the plan of the work.", True),
        ("submit_travel_plan", "Send it.", True),
        ("list_plans", "List the plans of a customer.", False),
        ("explain", "Explain.", False),
    ],
)
def test_a_tool_whose_purpose_is_to_return_a_plan_is_flagged(runtime, name, text, flagged):
    """Planning prose is an answer, not a call."""

    def tool() -> str:
        return ""

    tool.__doc__ = text
    runtime.register(tool, name=name, effects={"none"})

    found = [each.code for each in runtime.tools.findings(f"host.app/{name}")]
    assert ("returns_plan" in found) is flagged


def test_the_operations_create_and_end(runtime):
    """Over every protocol; only operators change profiles, and sessions are one's own."""
    session = runtime.session(principal="agent", profile="p", run="r")
    operator = (holon.Authority.OPERATOR, holon.Authority.CALLER)

    def ask(method: str, who: holon.Session = session, **params: Any) -> Any:
        authorities = operator if who is not session else (holon.Authority.CALLER,)
        return runtime.dispatch(method, params, caller=who.caller, authorities=authorities)

    boss = runtime.session(principal="boss")
    given = {"id": "p", "output_class": "reviewer_output", "guardrails": {"max_calls": 3}}
    with pytest.raises(holon.Refused):
        ask("agent-profile/create", profile=given, reason="r")
    made = ask("agent-profile/create", boss, profile=given, reason="r")["profile"]
    assert made["guardrails"]["max_calls"] == 3

    opened = ask("agent-session/open")["session"]
    review = {"verdict": "approve", "summary": "ok", "findings": []}
    stranger = runtime.session(principal="eve", profile="p", run="r")
    with pytest.raises(holon.Refused):
        runtime.dispatch("agent-session/read", {"id": opened["id"]}, caller=stranger.caller)
    assert ask("agent-session/finish", answer=review)["output_id"]
    assert ask("agent-session/read", id=opened["id"])["session"]["state"] == "finished"


def test_a_skill_that_the_profile_does_not_allow_is_not_loaded(runtime):
    """Before it is looked for: what is not allowed is not told of."""
    session = agent(runtime, AgentProfile(id="p", allowed_skills=("acme.*",)))

    for skill, wanted in (("other.skill", "not_allowed"), ("acme.skill", "unknown")):
        with pytest.raises(holon.Refused) as caught:
            runtime.dispatch("runtime-skill/load", {"skill": skill}, caller=session.caller)
        assert caught.value.failure.code.startswith(wanted)
