"""Calls from scripts, loops, threads and nested tools."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import answer_of, approve, eventually, kinds, open_calls, trail
from holon_core.guard import execute
from support import label

READ = "host.app/read"


@holon.tool(effects={"none"})
async def add(a: int, b: int) -> int:
    """Add, on whichever loop."""
    await asyncio.sleep(0)
    return a + b


@holon.tool(effects={"none"}, inline=True)
def quick(n: int) -> str:
    """Say which thread it runs in."""
    return threading.current_thread().name


@holon.tool(effects={"none"})
def where() -> str:
    """Say which thread it runs in."""
    return threading.current_thread().name


@pytest.mark.parametrize("tool", ["add", "quick", "where"])
def test_every_kind_of_tool_runs_from_a_script_a_cell_and_a_loop(open_runtime, tool):
    """A running loop changes nothing for `call`, and `acall` gives the same."""
    rt = open_runtime(add, quick, where)
    session = rt.session(principal="ann")
    arguments: dict[str, Any] = {"add": {"a": 1, "b": 2}, "quick": {"n": 1}}.get(tool, {})

    async def cell() -> tuple[holon.ToolResult, holon.ToolResult]:
        return session.call(f"host.app/{tool}", arguments), await session.acall(
            f"host.app/{tool}", arguments
        )

    results = [session.call(f"host.app/{tool}", arguments), *asyncio.run(cell())]

    assert [r.status for r in results] == ["completed"] * 3
    if tool == "add":
        assert {r.output["result"] for r in results} == {3}
    assert kinds(rt) == ["accepted", "completed"] * 3


def test_a_synchronous_tool_leaves_the_loops_thread_unless_it_is_inline(open_runtime):
    """Only a tool that says it is quick may hold up the loop."""
    rt = open_runtime(quick, where)
    session = rt.session(principal="ann")

    async def main() -> tuple[str, str]:
        one = await session.acall("host.app/quick", {"n": 1})
        other = await session.acall("host.app/where")
        return one.output["result"], other.output["result"]

    assert asyncio.run(main()) == ("MainThread", "holon-call_0")


def test_a_held_call_is_released_from_a_loop(open_runtime, write, ran):
    """With full durability, off the loop's thread."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")

    async def main() -> list[holon.ToolResult]:
        held = await session.acall("host.app/write", {"n": 1})
        approve(rt, held.held)
        return [await session.arelease(held.held), await session.arelease("c0")]

    released, unknown = asyncio.run(main())

    assert released.status == "completed"
    assert unknown.failure.code == "not_held"
    assert ran == [{"n": 1}]


def test_acall_never_blocks_the_loop_while_another_process_holds_the_store(
    open_runtime, read, write, tmp_path
):
    """A heartbeat beside it goes on; the calls complete once the store is free."""
    rt = open_runtime(read, write)
    session = rt.session(principal="ann")
    other = sqlite3.connect(tmp_path / "root" / "holon.db", isolation_level=None)
    gaps: list[float] = []

    async def heartbeat() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.005)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    async def main() -> list[holon.ToolResult]:
        heart = asyncio.ensure_future(heartbeat())
        other.execute("begin immediate")
        calls = [asyncio.ensure_future(session.acall(READ, {"n": n})) for n in range(5)]
        calls.append(asyncio.ensure_future(session.acall("host.app/write", {"n": 1})))
        await asyncio.sleep(0.6)
        assert not any(call.done() for call in calls)
        other.execute("rollback")
        results = await asyncio.gather(*calls)
        heart.cancel()
        return list(results)

    results = asyncio.run(main())
    other.close()

    assert [r.status for r in results] == ["completed"] * 5 + ["blocked"]
    assert len(gaps) > 20
    assert max(gaps) < 0.5


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_cancelling_an_acall_ends_its_program_and_closes_the_record(open_runtime, kind, tmp_path):
    """The cancellation reaches the caller; nothing stays open or running."""
    pid_file = tmp_path / "pid"
    script = f"echo $$ > {pid_file}; exec sleep 60"

    @holon.tool(effects={"none"})
    def sync(call: holon.SealedCall) -> int:
        call.run_process(("/bin/sh", "-c", script))
        return 1

    @holon.tool(id="async", effects={"none"})
    async def waits(call: holon.SealedCall) -> int:
        await asyncio.to_thread(call.run_process, ("/bin/sh", "-c", script))
        return 1

    rt = open_runtime(sync, waits)
    session = rt.session(principal="ann")

    async def main() -> None:
        task = asyncio.ensure_future(session.acall(f"host.app/{kind}"))
        while not (pid_file.exists() and pid_file.read_text().strip()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    records = rt.evidence.list(workspace=None)
    assert [r.kind for r in records] == ["accepted", "failed"]
    assert records[-1].body["failure"]["code"] == "cancelled"
    assert open_calls(rt) == []
    pid = int(pid_file.read_text())
    assert eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_cancelling_again_and_again_still_closes_the_record(open_runtime, tmp_path, read, ran):
    """While the call is being prepared behind a lock, three cancellations arrive."""
    rt = open_runtime(read)
    session = rt.session(principal="ann")
    other = sqlite3.connect(tmp_path / "root" / "holon.db", isolation_level=None)

    async def main() -> None:
        other.execute("begin immediate")
        task = asyncio.ensure_future(session.acall(READ))
        await asyncio.sleep(0.1)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.05)
        other.execute("rollback")
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    other.close()

    assert kinds(rt) == ["accepted", "failed"]
    assert open_calls(rt) == []
    assert ran == []


def test_a_tool_that_ignores_its_cancelling_is_not_waited_for_long(open_runtime, monkeypatch):
    """The caller gets its cancellation, and close() names the thread that goes on."""
    monkeypatch.setattr(execute, "PATIENCE_S", 0.1)
    go_on = threading.Event()

    @holon.tool(effects={"none"})
    def deaf() -> int:
        go_on.wait(30)
        return 1

    rt = open_runtime(deaf)
    session = rt.session(principal="ann")

    async def main() -> None:
        task = asyncio.ensure_future(session.acall("host.app/deaf"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert kinds(rt) == ["accepted", "failed"]
    monkeypatch.setattr("holon_core.guard.threads.JOIN_S", 0.1)
    assert rt.close() == ("holon-call_0",)
    go_on.set()


def test_a_dying_loop_leaves_no_call_open(open_runtime):
    """Where nothing can be awaited any more the record is closed all the same."""

    @holon.tool(effects={"none"})
    async def waits() -> int:
        await asyncio.sleep(60)
        return 1

    rt = open_runtime(waits)
    call = rt.session(principal="ann").acall("host.app/waits")
    loop = asyncio.new_event_loop()
    task = loop.create_task(call)
    loop.run_until_complete(asyncio.sleep(0.05))
    inner = [t for t in asyncio.all_tasks(loop) if t is not task]

    for each in (task, *inner):
        each.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()

    assert kinds(rt) == ["accepted", "failed"]


def test_a_coroutine_closed_in_the_middle_closes_its_record(open_runtime):
    """As the interpreter does when it collects one."""

    @holon.tool(effects={"none"})
    async def waits() -> int:
        await asyncio.sleep(60)
        return 1

    rt = open_runtime(waits)
    call = rt.session(principal="ann").acall("host.app/waits")

    async def step_once() -> None:
        call.send(None)
        call.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run(step_once())

    assert kinds(rt) == ["accepted", "failed"]
    assert open_calls(rt) == []


@pytest.mark.parametrize("kind", ["sync", "limited", "async"])
@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), ValueError("x")], ids=label)
def test_whatever_a_tool_raises_is_an_outcome(open_runtime, kind, error):
    """From a thread, under a limit or on a loop; the runtime works on afterwards."""

    @holon.tool(effects={"none"})
    def sync() -> int:
        raise error

    @holon.tool(effects={"none"}, timeout_s=20)
    def limited() -> int:
        raise error

    @holon.tool(id="async", effects={"none"})
    async def waits() -> int:
        raise error

    rt = open_runtime(sync, limited, waits, add)
    session = rt.session(principal="ann")

    results = [session.call(f"host.app/{kind}"), asyncio.run(session.acall(f"host.app/{kind}"))]

    for result in results:
        assert (result.status, result.failure.code) == ("failed", "tool_raised")
        assert type(error).__name__ in result.failure.message
    assert session.call("host.app/add", {"a": 1, "b": 1}).status == "completed"


@pytest.mark.parametrize("kind", ["sync", "limited", "async"])
def test_an_interrupt_in_a_tool_reaches_the_caller_and_closes_the_record(open_runtime, kind):
    """A person's Ctrl-C is nobody's failure, and it kills no loop of the runtime."""

    @holon.tool(effects={"none"})
    def sync() -> int:
        raise KeyboardInterrupt

    @holon.tool(effects={"none"}, timeout_s=20)
    def limited() -> int:
        raise KeyboardInterrupt

    @holon.tool(id="async", effects={"none"})
    async def waits() -> int:
        raise KeyboardInterrupt

    rt = open_runtime(sync, limited, waits, add)
    session = rt.session(principal="ann")

    with pytest.raises(KeyboardInterrupt):
        session.call(f"host.app/{kind}")

    record = rt.evidence.list(workspace=None)[-1]
    assert (record.kind, record.body["failure"]["code"]) == ("failed", "cancelled")
    assert session.call("host.app/add", {"a": 1, "b": 1}).status == "completed"


def test_an_async_tool_that_cancels_itself_failed(open_runtime):
    """Its caller was not cancelled."""

    @holon.tool(effects={"none"})
    async def gives_up() -> int:
        raise asyncio.CancelledError

    session = open_runtime(gives_up).session(principal="ann")

    assert session.call("host.app/gives_up").failure.code == "tool_raised"
    assert asyncio.run(session.acall("host.app/gives_up")).failure.code == "tool_raised"


@pytest.mark.parametrize("answer", ["value", "raises"])
def test_an_async_executor_that_is_none_is_a_fault_of_the_lane(open_runtime, answer):
    """What is no coroutine cannot be awaited; nothing of it reaches the caller as an exception."""
    from holon_core.catalogue.catalogue import Entry

    class Broken:
        preview = staticmethod(lambda call: {})

        def execute(self, call: holon.SealedCall) -> Any:
            if answer == "raises":
                raise ValueError("broken")
            return 5

    rt = open_runtime(add)
    tool = rt.tools.read("host.app/add")
    rt._guard.catalogue.put(Entry(tool, Broken(), is_async=True))
    session = rt.session(principal="ann")

    result = session.call("host.app/add", {"a": 1, "b": 1})

    assert (result.status, result.failure.code) == ("failed", "tool_raised")
    assert asyncio.run(session.acall("host.app/add", {"a": 1, "b": 1})).status == "failed"


def test_a_tool_that_needs_the_blocked_loop_fails_with_advice(open_runtime, monkeypatch):
    """Beside a notebook's loop: waiting for that loop, or using what belongs to it."""
    monkeypatch.setattr(execute, "LOOP_LIMIT_S", 0.3)
    lock: list[asyncio.Lock] = []
    home: list[asyncio.AbstractEventLoop] = []

    @holon.tool(effects={"none"})
    async def borrows() -> int:
        async with lock[0]:
            return 1

    @holon.tool(effects={"none"})
    async def asks_back() -> int:
        future = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), home[0])
        await asyncio.wrap_future(future)
        return 1

    rt = open_runtime(borrows, asks_back)
    session = rt.session(principal="ann")

    async def cell() -> list[holon.ToolResult]:
        home.append(asyncio.get_running_loop())
        lock.append(asyncio.Lock())
        await lock[0].acquire()
        waiter = asyncio.ensure_future(lock[0].acquire())
        await asyncio.sleep(0)
        results = [session.call("host.app/borrows"), session.call("host.app/asks_back")]
        waiter.cancel()
        lock[0].release()
        return [*results, await session.acall("host.app/borrows")]

    borrowed, asked, awaited = asyncio.run(cell())

    for result in (borrowed, asked):
        assert (result.status, result.failure.code) == ("failed", "event_loop_blocked")
        assert "acall" in result.failure.next_action
    assert awaited.status == "completed"


def test_call_on_the_loop_thread_raises_at_once(open_runtime):
    """It would wait for itself; an asynchronous tool awaits `acall` instead."""
    session: list[holon.Session] = []

    @holon.tool(effects={"none"})
    async def outer(mode: str) -> str:
        if mode == "call":
            session[0].call("host.app/add", {"a": 1, "b": 1})
        if mode == "release":
            session[0].release("c0")
        done = await session[0].acall("host.app/add", {"a": 1, "b": 1})
        return done.status.value

    rt = open_runtime(add, outer)
    session.append(rt.session(principal="ann"))

    for mode in ("call", "release"):
        result = session[0].call("host.app/outer", {"mode": mode})
        assert result.failure.code == "tool_raised"
        assert "Misuse" in result.failure.message
    assert session[0].call("host.app/outer", {"mode": "acall"}).output == {"result": "completed"}


@pytest.mark.parametrize("kind", ["sync", "async", "mixed"])
def test_calls_nest_twenty_deep(open_runtime, kind):
    """Each with a trail of its own, none left open."""
    session: list[holon.Session] = []

    @holon.tool(effects={"none"})
    def down(depth: int) -> int:
        if depth == 0:
            return 0
        result = session[0].call(
            "host.app/" + ("adown" if kind == "mixed" else "down"), {"depth": depth - 1}
        )
        return int(result.raise_for_failure().output["result"]) + 1

    @holon.tool(effects={"none"})
    async def adown(depth: int) -> int:
        if depth == 0:
            return 0
        result = await session[0].acall(
            "host.app/" + ("down" if kind == "mixed" else "adown"), {"depth": depth - 1}
        )
        return int(result.raise_for_failure().output["result"]) + 1

    rt = open_runtime(down, adown)
    session.append(rt.session(principal="ann"))

    first = "host.app/adown" if kind == "async" else "host.app/down"
    assert session[0].call(first, {"depth": 20}).output == {"result": 20}
    assert sorted(kinds(rt)) == ["accepted"] * 21 + ["completed"] * 21
    assert open_calls(rt) == []


def test_fifty_threads_call_side_by_side(open_runtime, read):
    """Sync and async tools, one chain that verifies."""
    rt = open_runtime(read, add)
    session = rt.session(principal="ann")

    def one(n: int) -> int:
        if n % 2:
            return int(session.call(READ, {"n": n}).output["result"])
        return int(session.call("host.app/add", {"a": n, "b": 0}).output["result"])

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(one, range(200))) == list(range(200))
    assert rt.evidence.verify(None).consistent
    assert open_calls(rt) == []


def test_a_hundred_acalls_of_slow_tools_at_once_all_end(open_runtime):
    """More than there are threads in the pool."""

    @holon.tool(effects={"none"})
    def slow(n: int) -> int:
        time.sleep(0.01)
        return n

    session = open_runtime(slow).session(principal="ann")

    async def main() -> list[Any]:
        calls = [session.acall("host.app/slow", {"n": n}) for n in range(100)]
        return [r.output["result"] for r in await asyncio.gather(*calls)]

    assert asyncio.run(main()) == list(range(100))


CALLER = """
import sys
import holon_core as holon

@holon.tool(effects={"machine_write"})
def append(n: int) -> int:
    with open(sys.argv[2], "a") as file:
        file.write(f"{n}\\n")
    return n

with holon.Runtime.open(sys.argv[1], discover=False, tools=[append], config={"rules": [
    {"id": "host.app/append", "decision": "allow"}]}) as rt:
    session = rt.session(principal="ann")
    done = [session.call("host.app/append", {"n": n}, key=f"k{n}") for n in range(15)]
print(sum(r.status == "completed" and r.replayed_from is None for r in done))
"""


def test_eight_processes_with_the_same_keys_run_each_call_once(tmp_path):
    """Whoever comes second gets the recorded result, or hears that the first still runs."""
    effects = tmp_path / "effects"

    with ThreadPoolExecutor(8) as pool:
        ran = list(
            pool.map(lambda _: answer_of(CALLER, str(tmp_path / "root"), str(effects)), range(8))
        )

    assert sum(ran) == 15
    assert sorted(map(int, effects.read_text().split())) == list(range(15))


def test_the_time_limit_of_a_function_is_reported_and_its_thread_named(open_runtime):
    """Python cannot end it; the answer comes in time and close() says what goes on."""
    go_on = threading.Event()

    @holon.tool(effects={"none"}, timeout_s=0.1)
    def hangs() -> int:
        go_on.wait(30)
        return 1

    rt = open_runtime(hangs)

    result = rt.session(principal="ann").call("host.app/hangs")

    assert (result.status, result.failure.code) == ("failed", "timeout")
    assert result.failure.details["limit_s"] == 0.1
    assert trail(rt, result.call_id) == ["accepted", "failed"]
    assert rt.close() == ("holon-limited",)
    go_on.set()


@pytest.mark.parametrize("deaf", [False, True])
def test_the_time_limit_of_an_async_function_cancels_it(open_runtime, deaf, monkeypatch):
    """One that ignores the cancelling is reported as possibly running."""
    monkeypatch.setattr(execute, "PATIENCE_S", 0.1)
    ended: list[str] = []
    until = time.monotonic() + 1

    @holon.tool(effects={"none"}, timeout_s=0.05)
    async def slow() -> int:
        while True:
            try:
                await asyncio.sleep(0.4 if deaf else 30)
            except asyncio.CancelledError:
                ended.append("asked")
                if not deaf or time.monotonic() > until:
                    raise
            else:
                return 1

    rt = open_runtime(slow)

    result = rt.session(principal="ann").call("host.app/slow")

    assert (result.status, result.failure.code) == ("failed", "timeout")
    assert ("still be running" in result.failure.message) == deaf
    assert ended


def test_an_async_tool_fetches_its_secrets_off_the_loop(open_runtime, monkeypatch):
    """Under acall and call; one that cannot be had blocks and nothing starts."""
    monkeypatch.setenv("ASYNC_SECRET", "value-of-it")

    @holon.tool(effects={"none"}, secrets={"key": "env:ASYNC_SECRET"})
    async def uses(key: str) -> int:
        return len(key)

    rt = open_runtime(uses)
    session = rt.session(principal="ann")

    assert asyncio.run(session.acall("host.app/uses")).output == {"result": 11}
    assert session.call("host.app/uses").output == {"result": 11}
    monkeypatch.delenv("ASYNC_SECRET")
    assert session.call("host.app/uses").failure.code == "secret_unresolved"
