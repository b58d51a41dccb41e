"""Steps: their time, calls that others release, what is recorded, how many run at once."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import pairwise
from typing import Any

import pytest

import holon_core as holon
from flows import call, definition, node


def test_a_call_that_somebody_else_released_is_taken_as_it_ended(
    flows: Any, ann: Any, rt: holon.Runtime, shop: Any
) -> None:
    """The run goes on with the recorded result, and nothing is sent twice."""
    flows.create(definition(call("a", "send"), call("b")), by="olga")
    run = flows.run("demo", session=ann)
    held = run.waits_for[0]["call"]
    rt.approvals.approve(held, by="boss", reason="ok")
    assert ann.release(held).output == {"result": "sent 1"}

    run = flows.ready_run(run.id)

    assert (run.state, run.step("a").output) == ("completed", {"result": "sent 1"})
    assert shop.sent == [1]


def test_an_approval_that_expired_is_asked_for_anew(
    flows: Any, ann: Any, rt: holon.Runtime, shop: Any, clock: Any
) -> None:
    """The step goes on waiting, for another approval of the same payload."""
    flows.create(definition(call("a", "send")), by="olga")
    run = flows.run("demo", session=ann)
    held = run.waits_for[0]["call"]
    clock.at = rt.approvals.read(held).expires_at_unix_seconds + 1

    again = flows.ready_run(run.id).waits_for[0]["call"]
    rt.approvals.approve(again, by="boss", reason="ok")

    assert again != held
    assert flows.ready_run(run.id).state == "completed"
    assert shop.sent == [1]


def test_a_step_that_waits_longer_than_its_time_fails(flows: Any, ann: Any, clock: Any) -> None:
    """Its gate is closed, and its failure may lead to a fallback."""
    gate = node("g", "human-gate", {"question": "Go?"}, timeout_s=60, on_failure={"go_to": "f"})
    flows.create(definition(gate, call("f"), edges=[]), by="olga")
    run = flows.run("demo", session=ann, timeout_s=0)
    clock.at += 60

    run = flows.ready_run(run.id)

    assert (run.step("g").state, run.step("g").failure["code"]) == ("failed", "timeout")
    assert run.step("f").state == "completed"
    assert flows.gates.read(f"{run.id}/g/1")["state"] == "closed"


def test_a_held_call_of_a_step_out_of_time_is_withdrawn(
    flows: Any, ann: Any, rt: holon.Runtime, clock: Any, shop: Any
) -> None:
    """Nobody approves and releases it after."""
    flows.create(definition(call("a", "send", timeout_s=60)), by="olga")
    run = flows.run("demo", session=ann, timeout_s=0)
    held = run.waits_for[0]["call"]
    clock.at += 60

    assert flows.ready_run(run.id).failure["code"] == "timeout"
    assert rt.approvals.held_call(held).state == "withdrawn"
    assert shop.sent == []


def test_a_step_that_runs_longer_than_its_time_is_ended(
    flows: Any, ann: Any, rt: holon.Runtime
) -> None:
    """What runs for it is cancelled."""
    ended = threading.Event()

    @holon.tool(effects={"none"}, name="slow")
    async def slow(n: int) -> int:
        """Take very long."""
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return n

    rt.register(slow)
    flows.create(definition(call("a", "slow", timeout_s=0.5)), by="olga")
    begun = time.monotonic()

    run = flows.run("demo", session=ann)

    assert (run.state, run.failure["code"]) == ("failed", "timeout")
    assert ended.wait(10)
    assert time.monotonic() - begun < 15


def test_a_map_runs_no_more_at_once_than_it_says(flows: Any, ann: Any, rt: holon.Runtime) -> None:
    """Several items at a time, and never more than `max_parallel`."""
    lock, running, most = threading.Lock(), [0], [0]

    @holon.tool(effects={"none"}, name="count")
    def count(n: int) -> int:
        """Say how many run."""
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.05)
        with lock:
            running[0] -= 1
        return n

    rt.register(count)
    body = {"nodes": [call("c", "count", n={"from": "inputs.item"})]}
    config = {"over": "[`1`,`2`,`3`,`4`,`5`,`6`]", "body": body, "max_parallel": 2}
    flows.create(definition(node("m", "map", config)), by="olga")

    assert flows.run("demo", session=ann).state == "completed"
    assert most == [2]


def test_a_declared_idempotent_step_is_tried_again_with_another_key(
    flows: Any, ann: Any, rt: holon.Runtime, clock: Any
) -> None:
    """A retry is another attempt; its delay grows, and stays below its ceiling."""
    tried = []

    @holon.tool(effects={"network_write"}, name="put", idempotent=True)
    def put(n: int) -> int:
        """Put a number; fails three times."""
        tried.append(clock.at)
        if len(tried) < 4:
            raise RuntimeError("not now")
        return n

    rt.register(put)
    retry = {"max_attempts": 4, "delay_s": 10, "backoff": 3, "max_delay_s": 40}
    flows.create(definition(call("a", "put", retry=retry)), by="olga")
    run = flows.run("demo", session=ann, timeout_s=0)
    for _ in range(8):
        for waits in run.waits_for:
            if waits["for"] == "approval":
                rt.approvals.approve(waits["call"], by="boss", reason="ok")
            elif waits["for"] == "retry":
                clock.at = waits["due_at"]
        run = flows.ready_run(run.id)

    assert run.state == "completed"
    assert [round(b - a) for a, b in pairwise(tried)] == [10, 30, 40]


def test_arun_stays_until_the_end(flows: Any, ann: Any) -> None:
    """The event loop goes on meanwhile."""
    flows.create(definition(call("a"), outputs={"n": "steps.a.output.result"}), by="olga")

    async def both() -> tuple[Any, int]:
        task = asyncio.create_task(flows.arun("demo", session=ann))
        turns = 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0.001)
        return await task, turns

    run, turns = asyncio.run(both())

    assert (run.state, run.outputs) == ("completed", {"n": 2})
    assert turns > 1


def test_evidence_of_a_run_and_a_step_is_a_view_of_the_chain(
    flows: Any, ann: Any, rt: holon.Runtime
) -> None:
    """The same records, at the same places; a step's hold those of its call."""
    flows.create(definition(call("a"), call("b")), by="olga")
    run = flows.run("demo", session=ann)

    def ask(method: str, **params: str) -> list[Any]:
        found: list[Any] = rt.dispatch(method, params, caller=ann.caller)["records"]
        return found

    whole, step = (
        ask("workflow-evidence/list", run=run.id),
        ask("workflow-evidence/read", run=run.id, step="b"),
    )
    chain = {each.seq: each for each in rt.evidence.read(run.id)}

    assert [each["seq"] for each in whole] == sorted(chain)
    assert all(chain[each["seq"]].kind == each["kind"] for each in whole)
    kinds = [each["kind"] for each in step]
    assert [each["seq"] for each in step] == sorted(each["seq"] for each in step)
    assert kinds.count("workflow") == 2
    assert {"accepted", "completed"} <= set(kinds)


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_events_are_followed_by_where_one_left_off(
    flows: Any, ann: Any, rt: holon.Runtime, limit: int
) -> None:
    """`next_after` leads through all of them, in order, each once."""
    flows.create(definition(call("a"), call("b")), by="olga")
    run = flows.run("demo", session=ann)
    seen: list[int] = []
    after = 0
    while True:
        params = {"run": run.id, "after": after, "limit": limit}
        page = rt.dispatch("workflow-event/list", params, caller=ann.caller)
        if not page["events"]:
            break
        seen += [each["seq"] for each in page["events"]]
        after = page["next_after"]

    assert seen == [each["seq"] for each in flows.events(run.id)]
    assert [each["seq"] for each in flows.watch(run.id)] == seen
