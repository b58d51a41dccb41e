"""The abuse cases of approvals, each through the public door."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import holon_core as holon
from door import approve, kinds, trail
from support import shared_json

WRITE = "host.app/write"
PAIRS = shared_json("abuse-cases/inputs/approval/pairs.json")


@pytest.fixture
def rt(open_runtime, write) -> holon.Runtime:
    return open_runtime(write)  # type: ignore[no-any-return]


@pytest.fixture
def session(rt) -> holon.Session:
    return rt.session(principal="ann")  # type: ignore[no-any-return]


def ask_and_approve(rt: holon.Runtime, session: holon.Session, arguments: Any) -> str:
    """Get an approval of one payload ahead of its call; nothing is held."""
    answer = session.request_approval(WRITE, arguments)
    assert answer.failure is not None
    pending = str(answer.failure.details["pending"])
    approve(rt, pending)
    return pending


def test_ab_approval_001_a_payload_changed_after_the_approval_does_not_run(rt, session, ran):
    """Nothing runs, the approval stays whole, and evidence names both fingerprints."""
    approval = ask_and_approve(rt, session, {"path": "a", "text": "hello"})

    changed = session.call(WRITE, {"path": "a", "text": "hello!"})

    assert (changed.status, changed.failure.code) == ("blocked", "approval_mismatch")
    assert ran == []
    assert rt.approvals.read(approval).uses_left == 1
    details = rt.evidence.read(changed.call_id)[0].body["failure"]["details"]
    assert details["approved_fingerprint"] == rt.approvals.read(approval).fingerprint
    assert details["fingerprint"] not in ("", details["approved_fingerprint"])
    assert session.call(WRITE, {"path": "a", "text": "hello"}).status == "completed"
    assert ran == [{"path": "a", "text": "hello"}]


def test_ab_approval_002_another_key_order_is_the_same_payload(rt, session, ran):
    """The order of keys has no meaning at any depth, so the approval covers the call.

    Nor does evidence keep it (docs/evidence.md, "What records say").
    """
    ask_and_approve(rt, session, '{"a":1,"b":{"x":1,"y":2}}')

    result = session.call(WRITE, '{"b":{"y":2,"x":1},"a":1}')

    assert result.status == "completed"
    assert ran == [{"a": 1, "b": {"x": 1, "y": 2}}]
    assert rt.evidence.read(result.call_id)[0].payload == {"b": {"y": 2, "x": 1}, "a": 1}


def test_ab_approval_003_the_order_of_an_array_is_meaning(rt, session, ran):
    """A swapped list is another payload, for which an approval of its own can be asked."""
    ask_and_approve(rt, session, {"files": ["a", "b"]})

    swapped = session.call(WRITE, {"files": ["b", "a"]})

    assert swapped.failure.code == "approval_mismatch"
    assert ran == []
    approve(rt, swapped.held)
    assert session.release(swapped.held).status == "completed"
    assert ran == [{"files": ["b", "a"]}]


def test_ab_approval_004_composed_and_decomposed_text_differ(rt, session, ran):
    """Text is not normalised, and the approver's view marks what differs by composition alone."""
    held = session.call(WRITE, {"to": "caf\u00e9"}).held
    approve(rt, held)

    other = session.call(WRITE, {"to": "cafe\u0301"})

    assert other.failure.code == "approval_mismatch"
    assert ran == []
    assert session.release(held).status == "completed"
    flags = rt.approvals.view(other.held).flags
    assert [(flag.path, flag.code) for flag in flags] == [("/arguments/to", "composition")]


@pytest.mark.parametrize(
    ("approved", "called"),
    [('{"n":1}', '{"n":1.0}'), ('{"n":0}', '{"n":-0.0}'), ('{"n":100}', '{"n":1e2}')],
)
def test_ab_approval_005_spellings_of_one_number_are_one_value(rt, session, ran, approved, called):
    """One fingerprint, and the tool cannot tell the two calls apart."""
    ask_and_approve(rt, session, approved)
    session.call(WRITE, approved)
    ask_and_approve(rt, session, approved)

    assert session.call(WRITE, called).status == "completed"
    assert repr(ran[0]) == repr(ran[1])


def test_ab_approval_006_integers_above_2_53_are_refused(rt, session, ran):
    """Neither of two integers that a double cannot tell apart gets as far as an approval."""
    one = session.call(WRITE, '{"amount":9007199254740992}')
    other = session.call(WRITE, '{"amount":9007199254740993}')

    assert one.failure.code == other.failure.code == "arguments_invalid"
    assert one.failure.details["path"] == "/amount"
    assert ran == []


@pytest.mark.parametrize(
    ("approved", "called"), [({"n": 1}, {"n": True}), ({"k": None}, {}), ({"n": 0}, {"n": False})]
)
def test_ab_approval_007_true_is_not_1_and_absent_is_not_null(rt, session, ran, approved, called):
    """Python's equality is not the comparison."""
    ask_and_approve(rt, session, approved)

    assert session.call(WRITE, called).failure.code == "approval_mismatch"
    assert ran == []


def test_ab_approval_008_a_single_use_approval_serves_once(rt, session, ran):
    """The second call is refused, and told by which call the approval was used."""
    ask_and_approve(rt, session, {"a": 1})
    first = session.call(WRITE, {"a": 1})

    again = session.call(WRITE, {"a": 1})

    assert (again.status, again.failure.code) == ("blocked", "approval_consumed")
    assert first.call_id in again.failure.message
    assert len(ran) == 1


def test_ab_approval_009_of_sixteen_threads_one_takes_the_approval(rt, session, ran):
    """Exactly one runs in each of 40 rounds; the use is part of what lets it run."""
    barrier = threading.Barrier(16)

    def attempt(number: int) -> Any:
        barrier.wait()
        return session.call(WRITE, {"round": number})

    with ThreadPoolExecutor(16) as pool:
        for number in range(40):
            ask_and_approve(rt, session, {"round": number})
            results = list(pool.map(attempt, [number] * 16))
            codes = [r.failure.code if r.failure else r.status for r in results]
            assert codes.count("completed") == 1
            assert set(codes) == {"completed", "approval_consumed"} or set(codes) == {
                "completed",
                "approval_consumed",
                "approval_required",
            }
            assert len(ran) == number + 1
    assert rt.evidence.verify(None).consistent


RACER = """
import json, sys
import holon_core as holon

@holon.tool(id="write", effects={"machine_write"})
def write(round: int) -> int:
    return round

with holon.Runtime.open(sys.argv[1], discover=False, tools=[write]) as rt:
    session = rt.session(principal="ann")
    print("ready", flush=True)
    for line in sys.stdin:
        result = session.call("host.app/write", {"round": int(line)})
        print(result.status.value, flush=True)
"""


def test_ab_approval_009_of_four_processes_one_takes_the_approval(tmp_path):
    """The same with processes on one store, 20 rounds."""
    import contextlib

    from door import started

    @holon.tool(id="write", effects={"machine_write"})
    def write(round: int) -> int:
        return round

    root = tmp_path / "root"
    with (
        holon.Runtime.open(root, discover=False, tools=[write]) as rt,
        contextlib.ExitStack() as stack,
    ):
        session = rt.session(principal="ann")
        racers = [stack.enter_context(started(RACER, str(root))) for _ in range(4)]
        for racer in racers:
            assert racer.stdout.readline() == "ready\n"
        for number in range(20):
            ask_and_approve(rt, session, {"round": number})
            for racer in racers:
                racer.stdin.write(f"{number}\n")
                racer.stdin.flush()
            answers = [racer.stdout.readline().strip() for racer in racers]
            assert answers.count("completed") == 1, answers
        assert rt.evidence.verify(None).consistent


def test_ab_approval_010_an_expired_approval_releases_nothing(rt, session, ran, clock):
    """Expiry is looked at when the run starts."""
    held = session.call(WRITE, {"a": 1}).held
    approve(rt, held)
    clock.advance(rt.plugins.config.approval_ttl_s + 1)

    result = session.release(held)

    assert (result.status, result.failure.code) == ("blocked", "approval_expired")
    assert ran == []


def test_ab_approval_010_expiry_counts_at_the_start_not_at_the_queue(open_runtime, ran, clock):
    """A call that a slow policy keeps waiting past the expiry is refused."""

    class Slow:
        name = "slow"

        def evaluate(self, request: holon.PolicyRequest) -> holon.Verdict:
            if request.tool.id == WRITE:
                clock.advance(10**7)
            return holon.Verdict(decision=holon.Decision.ASK, rule="slow")

    class Plugin:
        name = "slow"
        active = False

        @holon.hookimpl
        def holon_policies(self, host: Any) -> list[Slow]:
            return [Slow()]

    @holon.tool(id="write", effects={"machine_write"})
    def write() -> None:
        ran.append(1)

    rt = open_runtime(write, plugins=[Plugin()])
    session = rt.session(principal="ann")
    held = session.call(WRITE).held
    approve(rt, held)

    assert session.release(held).failure.code == "approval_expired"
    assert ran == []


def test_ab_approval_011_a_clock_set_back_revives_nothing(rt, session, ran, clock):
    """What was once seen as expired stays so, and evidence notes the step of the clock."""
    ask_and_approve(rt, session, {"a": 1})
    clock.advance(rt.plugins.config.approval_ttl_s + 1)
    assert session.call(WRITE, {"a": 1}).failure.code == "approval_expired"
    clock.advance(-rt.plugins.config.approval_ttl_s)

    again = session.call(WRITE, {"a": 1})

    assert again.status == "blocked"
    assert ran == []
    assert rt.evidence.read(again.call_id)[0].body["clock_stepped_back_s"] == (
        rt.plugins.config.approval_ttl_s
    )


def test_ab_approval_012_an_approval_of_another_workspace_does_not_count(rt, tmp_path, ran):
    """Nor one for another version of the same tool in the same workspace."""
    for name in "ab":
        (tmp_path / name).mkdir()
    here = rt.session(principal="ann", workspace=tmp_path / "a")
    there = rt.session(principal="ann", workspace=tmp_path / "b")
    ask_and_approve(rt, here, {"x": 1})

    assert there.call(WRITE, {"x": 1}).failure.code == "approval_wrong_scope"

    def write(**arguments: Any) -> None:
        ran.append(arguments)

    rt.register(write, **OPTIONS, version="2")
    assert here.call(WRITE, {"x": 1}).failure.code == "approval_wrong_scope"
    assert ran == []


OPTIONS: dict[str, Any] = {
    "id": "write",
    "effects": {"machine_write"},
    "input_schema": {"type": "object", "additionalProperties": True},
}


@pytest.mark.parametrize("other", [{"role": "admin"}, {"profile": "p"}, {"principal": "bob"}])
def test_ab_approval_012_an_approval_of_another_caller_does_not_count(rt, session, ran, other):
    """Role, profile and principal are part of what was approved."""
    ask_and_approve(rt, session, {"x": 1})

    result = rt.session(**{"principal": "ann", **other}).call(WRITE, {"x": 1})

    assert result.status == "blocked"
    assert ran == []


def test_ab_approval_013_what_a_caller_changes_later_changes_nothing(rt, session, ran):
    """The argument object is copied at the door."""
    arguments = {"to": "ann", "items": [1, 2]}
    held = session.call(WRITE, arguments).held
    arguments["to"] = "mallory"
    arguments["items"].append(3)  # type: ignore[attr-defined]
    approve(rt, held)

    session.release(held)

    assert ran == [{"to": "ann", "items": [1, 2]}]


def test_ab_approval_013_what_a_policy_or_preview_changes_is_not_what_runs(open_runtime, ran):
    """Hooks between approval and run see copies; the approved snapshot runs."""
    from holon_core.catalogue.catalogue import Entry
    from holon_core.records.outcome import ExecutorOutcome, completed

    class Meddling:
        name = "meddling"

        def evaluate(self, request: holon.PolicyRequest) -> holon.Verdict:
            request.arguments["amount"] = 999999  # type: ignore[index]
            return holon.Verdict(decision=holon.Decision.ASK, rule="meddling")

    class Plugin:
        name = "meddling"

        @holon.hookimpl
        def holon_policies(self, host: Any) -> list[Meddling]:
            return [Meddling()]

    class Executor:
        def preview(self, call: holon.SealedCall) -> dict[str, Any]:
            call.arguments["amount"] = 999999
            return {}

        def execute(self, call: holon.SealedCall) -> ExecutorOutcome:
            ran.append(dict(call.arguments))
            return completed({})

    def write(amount: int):  # type: ignore[no-untyped-def]
        raise AssertionError

    rt = open_runtime(plugins=[Plugin()])
    tool = rt.register(write, effects={"machine_write"})
    rt._guard.catalogue.put(Entry(tool, Executor()))
    session = rt.session(principal="ann")
    held = session.call(WRITE, {"amount": 100}).held
    assert rt.approvals.held_call(held).arguments == {"amount": 100}
    approve(rt, held)

    assert session.release(held).failure is None
    assert ran == [{"amount": 100}]


def test_ab_approval_014_a_call_that_never_started_leaves_the_approval(rt, open_runtime, session):
    """Invalid arguments use nothing up; a program that cannot be spawned gives the use back."""

    def missing(call: holon.SealedCall, n: int) -> int:
        from holon_core.tool_contract import read_output

        outcome = call.run_process(("/nonexistent/program",))
        problem = read_output(outcome)
        assert not isinstance(problem, dict)
        from holon_core.guard.execute import failed

        return failed(problem, started=False)  # type: ignore[return-value]

    from holon_core.catalogue.catalogue import Entry

    tool = rt.register(missing, effects={"machine_write"})

    class Executor:
        preview = staticmethod(lambda call: {})
        execute = staticmethod(lambda call: missing(call, **call.arguments))

    rt._guard.catalogue.put(Entry(tool, Executor()))
    pending = session.request_approval(tool.id, {"n": 1}).failure.details["pending"]
    approve(rt, pending)

    assert session.call(tool.id, {"n": "x"}).failure.code == "arguments_invalid"
    assert rt.approvals.read(pending).uses_left == 1
    first = session.call(tool.id, {"n": 1})
    second = session.call(tool.id, {"n": 1})

    assert first.failure.code == second.failure.code == "spawn_failed"
    assert rt.approvals.read(pending).state == "approved"
    assert trail(rt, first.call_id) == ["accepted", "failed"]


def test_ab_approval_014_a_call_that_started_and_failed_uses_the_approval_up(rt, session):
    """Once the tool may have begun, a retry needs a person again."""

    def fails(n: int) -> int:
        raise ValueError(n)

    tool = rt.register(fails, effects={"machine_write"})
    pending = session.request_approval(tool.id, {"n": 1}).failure.details["pending"]
    approve(rt, pending)

    assert session.call(tool.id, {"n": 1}).failure.code == "tool_raised"
    assert rt.approvals.read(pending).state == "consumed"
    assert session.call(tool.id, {"n": 1}).failure.code == "approval_consumed"


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["name"] for pair in PAIRS])
def test_ab_approval_002_to_007_pairs_of_spellings_keep_their_relation(rt, session, ran, pair):
    """Each pair of JSON texts has one fingerprint, two, or is refused, as the table says."""
    relation, approved, called = pair["fingerprints"], pair["approved_text"], pair["called_text"]
    first = session.request_approval(WRITE, approved)
    if first.failure.code == "arguments_invalid":
        assert "refused" in relation or session.call(WRITE, called).status == "failed"
        assert ran == []
        return
    approve(rt, first.failure.details["pending"])

    second = session.call(WRITE, called)

    if relation in ("same", "same-or-refused"):
        assert second.status == "completed"
        session_2 = rt.session(principal="bea")
        ask_and_approve(rt, session_2, approved)
        session_2.call(WRITE, approved)
        assert json.dumps(ran[0], sort_keys=True) == json.dumps(ran[1], sort_keys=True)
    else:
        assert second.status in ("blocked", "failed")
        assert ran == []
    assert "accepted" not in kinds(rt) or relation.startswith("same")
