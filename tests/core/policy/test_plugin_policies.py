"""Policies of plugins that misbehave: no clear verdict in time is a deny (AB-LANE-006)."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holon_core.guard.panel import MAX_STUCK, NamedPolicy
from holon_core.guard.policy import PolicyEngine
from holon_core.records.policy import PolicyRequest, Verdict
from holon_core.records.words import Decision
from support import label

Make = Callable[..., PolicyRequest]
ALLOW, DENY = Decision.ALLOW, Decision.DENY
YES = Verdict(decision=ALLOW, rule="yes")


class OddVerdict(Verdict):
    """A subclass may answer other things at other times."""


def named(evaluate: Callable[[PolicyRequest], Any], name: str = "p") -> NamedPolicy:
    return NamedPolicy(name=name, distribution="acme", evaluate=evaluate)


def yes(request: PolicyRequest) -> Verdict:
    return YES


@contextmanager
def hanging() -> Iterator[Callable[[PolicyRequest], Verdict]]:
    """Give a policy that hangs until the test is over."""
    free = threading.Event()

    def hang(request: PolicyRequest) -> Verdict:
        free.wait(60)
        return YES

    try:
        yield hang
    finally:
        free.set()


def raising(error: BaseException) -> Callable[[PolicyRequest], Verdict]:
    def evaluate(request: PolicyRequest) -> Verdict:
        raise error

    return evaluate


def around(**said: Any) -> Verdict:
    """Make a verdict that its class would not make."""
    made = Verdict(decision=ALLOW, rule="x")
    for name, value in said.items():
        object.__setattr__(made, name, value)
    return made


GARBAGE: dict[str, Any] = {
    "none": None,
    "text": "yes",
    "true": True,
    "word": ALLOW,
    "subclass": OddVerdict(decision=ALLOW, rule="x"),
    "decision as text": around(decision="allow"),
    "reason is no text": Verdict(decision=ALLOW, rule="x", reason=3),  # type: ignore[arg-type]
    "the class": Verdict,
}


@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE.keys())
def test_ab_lane_006_anything_but_a_verdict_is_a_deny(make_request: Make, said: Any) -> None:
    """Only an explicit allow of exactly the right type allows."""
    engine = PolicyEngine(plugin_policies=[named(lambda _: said)])

    outcome = engine.decide(make_request())

    assert (outcome.decision, outcome.rule) == (DENY, "plugin:acme/p")
    assert outcome.code == "policy_denied"
    assert engine.close() == ()


@pytest.mark.parametrize(
    "error", [ValueError("s3cret"), SystemExit(0), GeneratorExit(), RecursionError()], ids=label
)
def test_ab_lane_006_a_policy_that_raises_is_a_deny(
    make_request: Make, error: BaseException
) -> None:
    """Whatever it raises, the others are still asked, and its text stays out of the reason."""
    engine = PolicyEngine(plugin_policies=[named(raising(error), "a"), named(yes, "b")])

    outcome = engine.decide(make_request())

    assert (outcome.decision, outcome.rule) == (DENY, "plugin:acme/a")
    assert outcome.reason == f"it raised {type(error).__name__}"
    assert outcome.trail[-1].decision is ALLOW
    assert engine.close() == ()


def test_ab_lane_006_a_policy_that_hangs_is_a_deny_within_the_bound(make_request: Make) -> None:
    """The bound is one second for all policies; the one that hung is named."""
    with hanging() as hang:
        engine = PolicyEngine(plugin_policies=[named(yes, "a"), named(hang, "b"), named(yes, "c")])
        began = time.monotonic()

        outcome = engine.decide(make_request())

        assert 0.9 < time.monotonic() - began < 10
    assert [verdict.decision for verdict in outcome.trail] == [ALLOW, ALLOW, DENY, DENY]
    assert outcome.reason == "no verdict of plugin:acme/b within 1 s"


def test_a_call_after_a_hang_is_asked_on_a_fresh_thread(make_request: Make) -> None:
    """One call that hung costs later calls nothing."""
    with hanging() as hang:
        engine = PolicyEngine(
            plugin_policies=[
                named(lambda request: hang(request) if request.arguments else YES),
            ],
            budget_s=0.2,
        )

        assert engine.decide(make_request(arguments={"hang": True})).decision is DENY
        assert engine.decide(make_request()).decision is ALLOW
        assert [name for name in engine.close() if "acme/p" in name] != []


def test_threads_that_hang_are_bounded(make_request: Make) -> None:
    """Past the bound every call is denied at once, by name; freed threads make room again."""
    with hanging() as hang:
        engine = PolicyEngine(
            plugin_policies=[named(lambda request: hang(request) if request.arguments else YES)],
            budget_s=0.05,
        )
        for _ in range(MAX_STUCK):
            engine.decide(make_request(arguments={"hang": True}))

        outcome = engine.decide(make_request())

        assert (outcome.decision, outcome.reason) == (DENY, "too many calls hang in plugin:acme/p")
    deadline = time.monotonic() + 30
    while engine.decide(make_request()).decision is DENY:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert engine.close() == ()


def test_a_late_answer_reaches_no_later_call(make_request: Make) -> None:
    """What a policy says too late is not taken for the verdict on another call."""
    late = threading.Event()

    def evaluate(request: PolicyRequest) -> Verdict:
        if not request.arguments:
            return Verdict(decision=DENY, rule="no")
        late.wait(60)
        return YES

    engine = PolicyEngine(plugin_policies=[named(evaluate)], budget_s=0.1)
    assert engine.decide(make_request(arguments={"slow": 1})).decision is DENY

    late.set()

    assert [engine.decide(make_request()).decision for _ in range(5)] == [DENY] * 5
    assert engine.close() == ()


def test_a_call_that_gets_no_turn_is_denied(make_request: Make) -> None:
    """While another call's policies hang, waiting for the one guard thread is bounded too."""
    entered = threading.Event()
    with hanging() as hang:

        def evaluate(request: PolicyRequest) -> Verdict:
            entered.set()
            return hang(request)

        engine = PolicyEngine(plugin_policies=[named(evaluate)], budget_s=0.5)
        calls = [
            threading.Thread(target=lambda: said.append(engine.decide(make_request()).reason))
            for _ in range(4)
        ]
        said: list[str] = []
        for call in calls:
            call.start()
        assert entered.wait(10)
        for call in calls:
            call.join(20)

    assert len(said) == 4
    assert "no turn within 0.5 s" in said
    assert "no verdict of plugin:acme/p within 0.5 s" in said


def test_many_threads_get_their_own_verdicts(make_request: Make) -> None:
    """Verdicts of concurrent calls are never exchanged."""

    def evaluate(request: PolicyRequest) -> Verdict:
        decision = ALLOW if request.arguments["n"] % 2 else DENY
        return Verdict(decision=decision, rule="n", reason=str(request.arguments["n"]))

    engine = PolicyEngine(plugin_policies=[named(evaluate)], budget_s=20)
    wrong: list[int] = []

    def calls(start: int) -> None:
        for n in range(start, start + 100):
            outcome = engine.decide(make_request(arguments={"n": n}))
            verdict = outcome.trail[-1]
            if (outcome.decision is ALLOW) != bool(n % 2) or verdict.reason != str(n):
                wrong.append(n)

    threads = [threading.Thread(target=calls, args=(1000 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert engine.close() == ()


def test_an_interrupt_that_a_policy_raises_denies_and_stays_inside(make_request: Make) -> None:
    """A person's arrives in the main thread, never in this one; the next call is served rightly."""
    engine = PolicyEngine(
        plugin_policies=[
            named(
                lambda request: raising(KeyboardInterrupt())(request) if request.arguments else YES
            )
        ]
    )

    denied = engine.decide(make_request(arguments={"x": 1}))

    assert (denied.decision, denied.reason) == (DENY, "it raised KeyboardInterrupt")
    assert engine.decide(make_request()).decision is ALLOW
    assert engine.close() == ()


def test_a_policy_cannot_change_the_arguments_that_run(make_request: Make) -> None:
    """Each policy looks at a copy of its own, lists and all."""

    def meddle(request: PolicyRequest) -> Verdict:
        request.arguments["items"].append("x")
        request.arguments["more"] = 1  # type: ignore[index]
        return YES

    seen: list[Any] = []

    def look(request: PolicyRequest) -> Verdict:
        seen.append(request.arguments)
        return YES

    engine = PolicyEngine(plugin_policies=[named(meddle, "a"), named(look, "b")])
    request = make_request(arguments={"items": ["a", {"k": None}]})

    engine.decide(request)

    assert request.arguments == {"items": ["a", {"k": None}]}
    assert seen == [{"items": ["a", {"k": None}]}]
    assert engine.close() == ()


def test_a_long_reason_is_cut(make_request: Make) -> None:
    """A plugin's text is bounded before it reaches any record."""
    verdict = Verdict(decision=DENY, rule="x", reason="r" * 100_000)
    engine = PolicyEngine(plugin_policies=[named(lambda _: verdict)])

    assert len(engine.decide(make_request()).reason) == 500
    assert engine.close() == ()


def test_after_close_every_call_is_denied(make_request: Make) -> None:
    """A closed engine starts no thread again, and closing twice is harmless."""
    engine = PolicyEngine(plugin_policies=[named(yes)])
    engine.decide(make_request())
    assert engine.close() == ()

    outcome = engine.decide(make_request())

    assert (outcome.decision, outcome.reason) == (DENY, "the policies are closed")
    assert engine.close() == ()


def test_a_thread_that_cannot_start_is_a_deny(make_request: Make) -> None:
    """Where the system gives no thread nothing is allowed."""
    engine = PolicyEngine(plugin_policies=[named(yes)])
    before = threading.stack_size(1 << 46)
    try:
        outcome = engine.decide(make_request())
    finally:
        threading.stack_size(before)

    assert outcome.decision is DENY
    assert outcome.reason.startswith("no guard thread: ")
    assert engine.decide(make_request()).decision is ALLOW
    assert engine.close() == ()


def test_no_thread_is_started_before_the_first_call_or_without_policies(
    make_request: Make,
) -> None:
    """An engine that asks nobody has no thread."""
    before = threading.active_count()

    engines = [PolicyEngine(), PolicyEngine(plugin_policies=[named(yes)])]
    engines[0].decide(make_request())

    assert threading.active_count() == before
    assert engines[1].close() == ()
