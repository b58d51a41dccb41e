"""Runs that are left: by a runtime that closes, a task that is cancelled, a lease that is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
import holon_workflows.plugin as lane
from flows import call, definition
from holon_core.guard import running

RULES = '[[rules]]\nname = "all"\nlane = "host"\ndecision = "allow"\n'


class Slow:
    """Tools that wait until a test lets them go on, or until they are cancelled."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.runs: list[str] = []

    def _wait(self, what: str) -> str:
        self.runs.append(what)
        if len(self.runs) == 1:
            self.begun.set()
            self.go_on.wait(20)
        return what

    def tools(self) -> list[Any]:
        """One that reads, one with side effects; both end when they are cancelled."""

        @holon.tool(effects={"none"})
        async def look(n: int) -> str:
            """Look, slowly."""
            self.runs.append("look")
            if len(self.runs) == 1:
                self.begun.set()
                await asyncio.sleep(20)
            return "look"

        @holon.tool(effects={"network_write"})
        async def write(n: int) -> str:
            """Write, slowly."""
            self.runs.append("write")
            if len(self.runs) == 1:
                self.begun.set()
                while not self.go_on.is_set():
                    await asyncio.sleep(0.01)
            return "write"

        return [look, write]


@pytest.fixture
def slow() -> Iterator[Slow]:
    """The tools; what still waits at the end is let go."""
    made = Slow()
    yield made
    made.go_on.set()


@pytest.fixture
def opened(
    tmp_path: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], holon.Runtime]]:
    """Open runtimes on one store, whose rules let calls through."""
    # Closing would let a call go on for so long before it ends it.
    monkeypatch.setattr(running, "WAIT_S", 0.1)
    root = tmp_path / "root"
    root.mkdir()
    (root / "holon.toml").write_text(RULES, encoding="utf-8")
    made: list[holon.Runtime] = []

    def opened() -> holon.Runtime:
        rt = holon.Runtime.open(root, discover=False, plugins=[lane], tools=slow.tools())
        made.append(rt)
        return rt

    yield opened
    for rt in made:
        rt.close()


def started(rt: holon.Runtime, *tools: str) -> str:
    """Start a run of steps that follow one another; return its id."""
    flows = rt.service("workflows")
    steps = [call(f"s{n}", tool) for n, tool in enumerate(tools)]
    flows.create(definition(*steps), by="olga")
    run: str = flows.start("demo", session=rt.session(principal="ann")).id
    return run


def driving(rt: holon.Runtime, run: str) -> threading.Thread:
    """Drive a run in a thread, whatever becomes of it."""

    def drive() -> None:
        try:
            rt.service("workflows").ready_run(run)
        except holon.HolonError as error:
            raised.append(error)

    raised: list[holon.HolonError] = []
    thread = threading.Thread(target=drive)
    thread.raised = raised  # type: ignore[attr-defined]
    thread.start()
    return thread


def test_a_read_only_step_runs_again_after_its_runtime_was_closed(
    opened: Callable[[], holon.Runtime], slow: Slow
) -> None:
    """Closing ends what runs; the run goes on where it is opened next."""
    rt = opened()
    run = started(rt, "look", "look")
    thread = driving(rt, run)
    assert slow.begun.wait(10)
    rt.close()
    thread.join(10)

    with opened() as again:
        view = again.service("workflows").ready_run(run)

    assert (view.state, slow.runs) == ("completed", ["look", "look", "look"])


def test_a_step_with_side_effects_is_asked_about_after_its_runtime_was_closed(
    opened: Callable[[], holon.Runtime], slow: Slow
) -> None:
    """What was ended may have taken effect, and is never repeated by itself."""
    rt = opened()
    run = started(rt, "write")
    thread = driving(rt, run)
    assert slow.begun.wait(10)
    rt.close()
    thread.join(10)

    with opened() as again:
        flows = again.service("workflows")
        view = flows.ready_run(run)
        assert view.waits_for[0]["code"] == "workflow_step_indeterminate"
        said = {"action": "complete", "by": "olga", "reason": "it is there"}
        view = flows.resolve(run, "s0", output={"result": "write"}, **said)
        told = [each for each in flows.events(run) if each["step"] is None]
        assert (told[-1]["kind"], told[-1]["by"], view.state) == ("run_ready", "olga", "ready")
        assert flows.ready_run(run).state == "completed"

    assert slow.runs == ["write"]


def test_a_cancelled_task_leaves_its_run_soon(
    opened: Callable[[], holon.Runtime], slow: Slow
) -> None:
    """What may run again is ended, nothing more begins, and the next driver goes on."""
    rt = opened()
    flows = rt.service("workflows")
    run = started(rt, "look", "look")

    async def follow() -> float:
        task = asyncio.create_task(flows.afollow(run))
        await asyncio.to_thread(slow.begun.wait, 10)
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while flows.engine._drivers:
            await asyncio.sleep(0.01)
        return time.monotonic() - begun

    assert asyncio.run(follow()) < 10
    assert flows.read(run).step("s1").state == "pending"
    assert flows.ready_run(run).state == "completed"
    assert slow.runs == ["look", "look", "look"]


def test_a_cancelled_task_lets_a_side_effect_come_to_its_end(
    opened: Callable[[], holon.Runtime], slow: Slow
) -> None:
    """It completes once, and what follows it is the next driver's."""
    rt = opened()
    flows = rt.service("workflows")
    run = started(rt, "write", "look")

    async def follow() -> None:
        task = asyncio.create_task(flows.afollow(run))
        await asyncio.to_thread(slow.begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        slow.go_on.set()
        while flows.engine._drivers:
            await asyncio.sleep(0.01)

    asyncio.run(follow())
    states = [flows.read(run).step(each).state for each in ("s0", "s1")]

    assert states == ["completed", "pending"]
    assert flows.ready_run(run).state == "completed"
    assert slow.runs == ["write", "look"]


def test_a_run_that_was_taken_over_takes_no_write_of_its_former_driver(
    opened: Callable[[], holon.Runtime], slow: Slow
) -> None:
    """A process that hangs loses the run to an operator's word; what it writes late is void."""
    hung, other = opened(), opened()
    run = started(hung, "write", "look")
    thread = driving(hung, run)
    assert slow.begun.wait(10)
    theirs = other.service("workflows")
    with pytest.raises(holon.Refused) as refused:
        theirs.resume(run)
    assert refused.value.failure.code == "workflow_state"

    # Its call is never made twice while the process that made it lives.
    taken = theirs.resume(run, take_over=True, by="olga")
    assert (taken.state, taken.waits_for[0]["code"]) == ("blocked", "conflict")
    before = theirs.events(run)
    slow.go_on.set()
    thread.join(10)

    assert [each.failure.code for each in thread.raised] == ["workflow_state"]  # type: ignore[attr-defined]
    assert theirs.events(run) == before
    assert theirs.resume(run).state == "completed"
    assert slow.runs == ["write", "look"]


def test_a_write_under_a_lost_lease_changes_nothing(opened: Callable[[], holon.Runtime]) -> None:
    """The number of a lease rises as it changes hands, and writes name theirs."""
    from attrs import evolve

    from holon_workflows.engine.ledger import LeaseLost

    rt = opened()
    run = started(rt, "look")
    ledger = rt.service("workflows").ledger
    lease = ledger.take(run, "other", lives=lambda _: True)
    newer = ledger.take(run, rt.service("workflows").engine.bench.runtime_id, lives=lambda _: False)
    record = ledger.run(run)
    assert record is not None

    assert newer.fence > lease.fence
    for stale in (lease, evolve(newer, fence=lease.fence)):
        with pytest.raises(LeaseLost):
            ledger.write(stale, [evolve(record, outputs="stolen")], [])
    assert ledger.run(run) == record


def test_calls_of_a_cancelled_run_are_withdrawn(
    rt: holon.Runtime, flows: Any, ann: holon.Session, shop: Any
) -> None:
    """Nobody releases what a run that is over still had held; the same call is held anew."""
    flows.create(definition(call("a", "send")), by="olga")
    run = flows.run("demo", session=ann)
    held = run.waits_for[0]["call"]
    rt.approvals.approve(held, by="boss", reason="ok")

    flows.cancel(run.id, by="ann", reason="enough")

    with pytest.raises(holon.Refused) as refused:
        rt.approvals.approve(held, by="boss", reason="again")
    assert refused.value.failure.code == "already_decided"
    assert ann.release(held).failure.code == "not_held"
    assert rt.approvals.held_call(held).state == "withdrawn"
    assert "withdrawn" in [each.kind for each in rt.evidence.read(held)]
    again = flows.run("demo", session=ann)
    assert again.waits_for[0]["for"] == "approval"
    assert shop.sent == []


@pytest.mark.parametrize(
    ("method", "do"),
    [
        ("workflow-definition/create", lambda f, s: f.create(definition(call("b")), by="olga")),
        ("workflow-run/start", lambda f, s: f.start("demo", session=s)),
        ("workflow-run/ready-run", lambda f, s: f.follow("w1")),
        ("workflow-run/resume", lambda f, s: f.resume("w1")),
        ("workflow-run/cancel", lambda f, s: f.cancel("w1", by="ann", reason="no")),
        (
            "workflow-run/schedule",
            lambda f, s: f.schedules.add("demo", {}, caller=s.caller, when={"every_s": 60}),
        ),
        ("human-gate/answer", lambda f, s: f.answer("w1/g/1", by="boss")),
        (
            "bridge-session/create",
            lambda f, s: f.bridges.create("bridge-session", {"id": "s"}, by="olga"),
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_policy_is_asked_about_what_python_does(
    tmp_path: Path, shop: Any, method: str, do: Callable[[Any, Any], Any]
) -> None:
    """A rule that denies an operation holds for its method as well."""
    root = tmp_path / "ruled"
    root.mkdir()
    rule = f'[[rules]]\nname = "no"\nlane = "operation"\nid = "{method}"\ndecision = "deny"\n'
    with holon.Runtime.open(root, discover=False, plugins=[lane], tools=shop.tools()) as rt:
        flows = rt.service("workflows")
        flows.create(definition(call("a")), by="olga")
        flows.start("demo", session=rt.session(principal="ann"), run_id="w1")
    (root / "holon.toml").write_text(rule, encoding="utf-8")

    with holon.Runtime.open(root, discover=False, plugins=[lane], tools=shop.tools()) as rt:
        flows, before = rt.service("workflows"), rt.service("workflows").read("w1")
        with pytest.raises(holon.Refused) as refused:
            do(flows, rt.session(principal="ann"))
        assert refused.value.failure.code == "policy_denied"
        assert flows.read("w1") == before
        assert len(flows.list()) == 1
