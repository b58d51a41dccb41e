"""The circuit breaker, the drift watch, and the fallback that is offered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from frozen_tools import Echoes, brought_to, open_runtime
from holon_core import FrozenState
from holon_core.records.fallback import FallbackKind
from holon_core.records.words import Status
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.testing import ManualClock

S = FrozenState
DRIFT = ["output_schema", "timeout", "tool_exit"]


def codes(session: Session, tool: str, times: int) -> list[str]:
    """Call a tool several times; return why it failed each time."""
    made = [session.call(tool, {"text": "a"}) for _ in range(times)]
    return ["" if each.failure is None else each.failure.code for each in made]


def break_by(kind: Echoes, code: str) -> None:
    """Let the kind fail with a code."""
    kind.broken = {"all": "schema" if code == "output_schema" else code}


@pytest.mark.parametrize("code", DRIFT)
def test_three_drift_failures_in_a_row_open_it(
    runtime: Runtime, session: Session, kind: Echoes, code: str
) -> None:
    """The fourth call does not run, and says how long."""
    record = brought_to(runtime, session, S.ACTIVE)
    break_by(kind, code)

    assert codes(session, record.id, 3) == [code] * 3
    kind.runs.clear()
    refused = session.call(record.id, {"text": "a"})

    assert refused.failure is not None
    assert refused.failure.code == "circuit_open"
    assert refused.failure.details["retry_after_s"] == 60
    assert kind.runs == []


@pytest.mark.parametrize("other", ["tool_failed", "output_too_large", "raises"])
def test_other_failures_do_not_open_it(
    runtime: Runtime, session: Session, kind: Echoes, other: str
) -> None:
    """A tool that says what is wrong has not drifted."""
    record = brought_to(runtime, session, S.ACTIVE)
    kind.broken = {"all": other}

    assert "circuit_open" not in codes(session, record.id, 5)


def test_a_callers_bad_arguments_never_open_it(runtime: Runtime, session: Session) -> None:
    """They are refused before the tool is entered."""
    record = brought_to(runtime, session, S.ACTIVE)
    for _ in range(5):
        session.call(record.id, {"text": 1})

    assert session.call(record.id, {"text": "a"}).status is Status.COMPLETED


def test_a_success_in_between_begins_the_count_anew(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """In a row means in a row."""
    record = brought_to(runtime, session, S.ACTIVE)
    for _ in range(3):
        break_by(kind, "timeout")
        assert codes(session, record.id, 2) == ["timeout"] * 2
        kind.broken = {}
        assert codes(session, record.id, 1) == [""]


def test_after_a_minute_its_fixtures_are_tried_and_let_calls_through(
    runtime: Runtime, session: Session, kind: Echoes, clock: ManualClock
) -> None:
    """The fixture runs first, the call after it."""
    record = brought_to(runtime, session, S.ACTIVE)
    break_by(kind, "timeout")
    codes(session, record.id, 3)
    kind.broken = {}
    clock.advance(59)
    assert codes(session, record.id, 1) == ["circuit_open"]
    kind.runs.clear()
    clock.advance(1)

    assert codes(session, record.id, 1) == [""]

    assert [run["trial"] for run in kind.runs] == [True, False]


def test_a_fixture_that_fails_keeps_it_open_for_another_minute(
    runtime: Runtime, session: Session, kind: Echoes, clock: ManualClock
) -> None:
    """No live call is spent on the question."""
    record = brought_to(runtime, session, S.ACTIVE)
    break_by(kind, "timeout")
    codes(session, record.id, 3)
    clock.advance(61)
    kind.runs.clear()

    assert codes(session, record.id, 2) == ["circuit_open"] * 2

    assert [run["trial"] for run in kind.runs] == [True]


def test_it_is_open_for_every_process_and_for_one_version_alone(
    tmp_path: Path, runtime: Runtime, session: Session, kind: Echoes, place: Path
) -> None:
    """It is in the store, by tool."""
    first = brought_to(runtime, session, S.ACTIVE)
    second = brought_to(runtime, session, S.ACTIVE, purpose="Another text")
    break_by(kind, "timeout")
    codes(session, second.id, 3)
    with open_runtime(tmp_path / "root", Echoes(), clock=runtime._guard.clock) as other:
        there = other.session(principal="bo", workspace=place)

        assert codes(there, second.id, 1) == ["circuit_open"]
        assert codes(there, first.id, 1) == [""]


@pytest.mark.parametrize("how", ["call", "acall"])
def test_who_sends_what_it_chokes_on_shuts_it_for_nobody(
    runtime: Runtime, session: Session, kind: Echoes, place: Path, how: str
) -> None:
    """Valid input, failing each time, however often: its fixtures pass, so it serves the others."""
    record = brought_to(runtime, session, S.ACTIVE)
    mallory = runtime.session(principal="mallory", workspace=place)
    kind.chokes_on = {"poison"}
    kind.runs.clear()

    def poison() -> Any:
        if how == "call":
            return mallory.call(record.id, {"text": "poison"})
        return asyncio.run(mallory.acall(record.id, {"text": "poison"}))

    made = [poison() for _ in range(9)]

    assert {each.failure.code for each in made} == {"tool_exit"}
    assert session.call(record.id, {"text": "a"}).status is Status.COMPLETED
    assert sum(run["trial"] for run in kind.runs) == 1
    last = runtime.evidence.read(made[2].call_id)[-1]
    assert (last.kind, last.body["failures"]) == ("circuit_kept", 3)
    assert made[2].evidence_refs[-1].seq == last.seq


def test_its_fixtures_are_run_for_a_suspicion_once_a_minute(
    runtime: Runtime, session: Session, kind: Echoes, clock: ManualClock
) -> None:
    """Successes in between change nothing: nobody has them run as often as he likes."""
    record = brought_to(runtime, session, S.ACTIVE)
    kind.chokes_on = {"poison"}
    kind.runs.clear()
    for _ in range(3):
        for _ in range(4):
            session.call(record.id, {"text": "poison"})
        session.call(record.id, {"text": "a"})
        clock.advance(25)
    assert sum(run["trial"] for run in kind.runs) == 1

    for _ in range(3):
        session.call(record.id, {"text": "poison"})

    assert sum(run["trial"] for run in kind.runs) == 2


def test_a_tool_that_breaks_after_it_was_suspected_is_found_out(
    runtime: Runtime, session: Session, kind: Echoes, clock: ManualClock
) -> None:
    """Within a minute, by the next failure."""
    record = brought_to(runtime, session, S.ACTIVE)
    kind.chokes_on = {"poison"}
    for _ in range(3):
        session.call(record.id, {"text": "poison"})
    break_by(kind, "tool_exit")
    clock.advance(60)

    assert codes(session, record.id, 4) == [*["tool_exit"] * 3, "circuit_open"]


def test_what_policy_says_of_a_caller_does_not_make_a_tool_look_broken(
    tmp_path: Path, runtime: Runtime, session: Session, kind: Echoes, place: Path
) -> None:
    """Its fixtures run for whoever proved it, so that a caller denied their input opens nothing."""
    record = brought_to(runtime, session, S.ACTIVE)
    deny = {"principal": "mallory", "decision": "deny", "arguments": {"text": {"equals": "hi"}}}
    kind.chokes_on = {"poison"}
    with open_runtime(
        tmp_path / "root", kind, clock=runtime._guard.clock, config={"rules": [deny]}
    ) as other:
        mallory = other.session(principal="mallory", workspace=place)
        denied = mallory.call(record.id, {"text": "hi"}).failure
        assert denied is not None
        assert denied.code == "policy_denied"
        for _ in range(4):
            mallory.call(record.id, {"text": "poison"})
        ann = other.session(principal="ann", workspace=place)

        assert ann.call(record.id, {"text": "a"}).status is Status.COMPLETED


def test_the_opening_is_in_the_evidence_of_the_call_that_did_it(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """With the fixture's run that says so."""
    record = brought_to(runtime, session, S.ACTIVE)
    break_by(kind, "timeout")
    last = [session.call(record.id, {"text": "a"}) for _ in range(3)][-1]

    rows = runtime.evidence.read(last.call_id)

    assert [row.kind for row in rows] == ["accepted", "failed", "circuit_opened"]
    trial = runtime.evidence.read(rows[-1].body["fixture_call"])
    assert trial[0].body["trial"] == "fixture:hi"
    assert [ref.seq for ref in last.evidence_refs] == [row.seq for row in rows]


def test_drift_of_a_tool_that_claims_determinism_is_recorded(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """Same input, other output; the first call is named."""
    record = brought_to(runtime, session, S.ACTIVE, deterministic=True)
    first = session.call(record.id, {"text": "a"})
    assert session.call(record.id, {"text": "a"}).status is Status.COMPLETED
    kind.broken = {"drift": "?"}

    second = session.call(record.id, {"text": "a"})

    rows = runtime.evidence.read(second.call_id)
    assert [row.kind for row in rows] == ["accepted", "completed", "drift"]
    assert rows[-1].body["first_call"] == first.call_id


def test_a_tool_that_claims_nothing_may_answer_as_it_likes(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """Nothing is compared."""
    record = brought_to(runtime, session, S.ACTIVE)
    session.call(record.id, {"text": "a"})
    kind.broken = {"drift": "?"}

    result = session.call(record.id, {"text": "a"})

    assert [row.kind for row in runtime.evidence.read(result.call_id)] == ["accepted", "completed"]


@pytest.mark.parametrize(
    ("fallback", "offered"),
    [
        ("ai_fallback", FallbackKind.AI),
        ("manual_handoff", FallbackKind.MANUAL),
        ("regeneration", FallbackKind.REGENERATION),
        ("none", None),
    ],
)
def test_a_fallback_is_offered_and_not_taken(
    runtime: Runtime, session: Session, kind: Echoes, fallback: str, offered: Any
) -> None:
    """Who does what next, with the arguments of the call; the failure stays one."""
    said = {"kind": fallback, "who": "the desk", "instructions": "say it"}
    record = brought_to(runtime, session, S.ACTIVE, fallback=said)
    break_by(kind, "timeout")

    result = session.call(record.id, {"text": "a"})

    assert result.status is Status.FAILED
    assert (result.fallback and result.fallback.kind) == offered
    if result.fallback is not None:
        assert (result.fallback.who, dict(result.fallback.arguments)) == ("the desk", {"text": "a"})
        assert result.fallback.next_action


def test_a_callers_mistake_is_no_trigger(runtime: Runtime, session: Session) -> None:
    """There is nothing to fall back from."""
    record = brought_to(runtime, session, S.ACTIVE)

    assert session.call(record.id, {"text": 1}).fallback is None


def test_an_open_circuit_offers_the_fallback_as_well(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """Where it cannot serve, whatever keeps it."""
    record = brought_to(runtime, session, S.ACTIVE)
    break_by(kind, "timeout")
    codes(session, record.id, 3)

    refused = session.call(record.id, {"text": "a"})

    assert refused.fallback is not None
    assert refused.fallback.kind is FallbackKind.MANUAL


def test_a_replayed_answer_has_notice_and_fallback_as_the_first_had(
    runtime: Runtime, session: Session, kind: Echoes
) -> None:
    """A key changes nothing of what the caller is told."""
    record = brought_to(runtime, session, S.DEPRECATED)
    first = session.call(record.id, {"text": "a"}, key="k1")
    kind.broken = {"all": "tool_failed"}
    failed = session.call(record.id, {"text": "a"}, key="k2")

    for made, key in ((first, "k1"), (failed, "k2")):
        again = session.call(record.id, {"text": "a"}, key=key)
        assert again.replayed_from == made.call_id
        assert again.notices == made.notices != ()
        assert (again.fallback is None) is (made.fallback is None)
    assert failed.fallback is not None
