"""Closing a runtime: nothing is left, nobody waits for ever."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import answer_of, eventually, kinds, open_calls
from holon_core.store.oslock import OsLock


@pytest.fixture
def quick_closing(monkeypatch):
    """Closing that does not wait long for calls that go on."""
    monkeypatch.setattr("holon_core.guard.running.WAIT_S", 0.1)
    monkeypatch.setattr("holon_core.guard.running.CANCELLED_S", 0.5)


def test_close_leaves_no_thread_and_no_lock(open_runtime, read, tmp_path):
    """After sync, async and pooled calls."""

    @holon.tool(effects={"none"})
    async def waits() -> int:
        return await asyncio.to_thread(lambda: 1)

    before = set(threading.enumerate())
    rt = open_runtime(read, waits)
    session = rt.session(principal="ann")
    session.call("host.app/waits")
    session.call("host.app/read")
    asyncio.run(session.acall("host.app/read"))

    assert rt.close() == ()

    assert eventually(lambda: set(threading.enumerate()) <= before)
    assert list((tmp_path / "root" / "live").iterdir()) == []


def test_closing_twice_does_nothing(open_runtime):
    """And a closed runtime says so to whoever uses it."""
    rt = open_runtime()
    session = rt.session(principal="ann")
    rt.close()

    assert rt.close() == ()
    assert "closed" in repr(rt)
    for use in (
        lambda: rt.session(principal="ann"),
        lambda: rt.register(len),
        lambda: session.call("host.app/x"),
        lambda: session.dry_run("host.app/x"),
        lambda: session.explain("host.app/x"),
        lambda: session.release("c1"),
        lambda: asyncio.run(session.acall("host.app/x")),
    ):
        with pytest.raises(holon.RuntimeNotOpen):
            use()


def test_closing_answers_who_waits_for_an_async_tool(open_runtime, quick_closing):
    """The tool is cancelled, the waiting thread gets a result, the record is closed."""
    entered = threading.Event()
    results: list[holon.ToolResult] = []

    @holon.tool(effects={"none"})
    async def waits() -> int:
        entered.set()
        await asyncio.sleep(60)
        return 1

    rt = open_runtime(waits)
    session = rt.session(principal="ann")
    thread = threading.Thread(target=lambda: results.append(session.call("host.app/waits")))
    thread.start()
    entered.wait(10)

    assert rt.close() == ()

    thread.join(10)
    assert not thread.is_alive()
    assert results[0].status == "failed"
    with open_runtime() as again:
        assert kinds(again)[0] == "accepted"
        assert len(kinds(again)) == 2
        assert open_calls(again) == []


def test_a_loop_that_a_tool_blocks_is_named(open_runtime, monkeypatch):
    """Its thread cannot be ended."""
    monkeypatch.setattr("holon_core.guard.threads.JOIN_S", 0.1)
    monkeypatch.setattr("holon_core.guard.running.WAIT_S", 0.1)
    entered, go_on = threading.Event(), threading.Event()

    @holon.tool(effects={"none"})
    async def blocks() -> int:
        entered.set()
        go_on.wait(30)
        return 1

    rt = open_runtime(blocks)
    session = rt.session(principal="ann")
    thread = threading.Thread(target=lambda: session.call("host.app/blocks"), daemon=True)
    thread.start()
    entered.wait(10)

    assert "holon-loop" in rt.close()

    go_on.set()
    thread.join(10)
    assert not thread.is_alive()
    with open_runtime() as again:
        assert kinds(again) == ["accepted", "failed"]


def test_a_call_open_at_the_close_is_marked_interrupted_there(open_runtime, quick_closing):
    """And its thread, when it ends, hears that its end was not recorded."""
    entered, go_on = threading.Event(), threading.Event()
    results: list[holon.ToolResult] = []

    @holon.tool(effects={"none"})
    def waits() -> int:
        entered.set()
        go_on.wait(30)
        return 1

    rt = open_runtime(waits)
    session = rt.session(principal="ann")
    thread = threading.Thread(target=lambda: results.append(session.call("host.app/waits")))
    thread.start()
    entered.wait(10)
    rt.close()
    go_on.set()
    thread.join(10)

    assert (results[0].status, results[0].failure.code) == ("failed", "evidence_not_closed")
    with open_runtime() as again:
        assert kinds(again) == ["accepted", "interrupted"]


def test_a_call_that_was_closed_by_somebody_else_is_no_silent_success(open_runtime):
    """Where its open row is gone, the caller hears that the end is not on record."""

    @holon.tool(effects={"none"})
    def loses() -> int:
        from holon_core.guard import recovery

        guard = rt._guard
        recovery.close_interrupted(
            guard.store, guard.recorder, None, own=guard.runtime_id, closing=True
        )
        return 1

    rt = open_runtime(loses)

    result = rt.session(principal="ann").call("host.app/loses")

    assert (result.status, result.failure.code) == ("failed", "evidence_not_closed")
    assert kinds(rt) == ["accepted", "interrupted"]


def test_a_runtime_that_is_forgotten_warns_and_closes(tmp_path):
    """As other resources do."""
    rt = holon.Runtime.open(tmp_path / "root", discover=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del rt
        gc.collect()

    assert [w.category for w in caught] == [ResourceWarning]
    assert "close()" in str(caught[0].message)
    assert list((tmp_path / "root" / "live").iterdir()) == []


def test_it_is_a_context_manager_for_loops_too(tmp_path):
    """Closed at the end of the block, off the loop's thread."""

    async def main() -> holon.Runtime:
        async with holon.Runtime.open(tmp_path / "root", discover=False) as rt:
            assert "open" in repr(rt)
        return rt

    assert "closed" in repr(asyncio.run(main()))


def test_an_opening_that_fails_leaves_nothing_behind(tmp_path):
    """No lock that looks like a living runtime, no open store."""

    class Same:
        name = "same"

        @holon.hookimpl
        def holon_evidence_sinks(self, host: Any) -> list[Any]:
            sink = type("Sink", (), {"name": "one", "required": False})
            return [sink(), sink()]

    with pytest.raises(holon.Misuse, match="one name"):
        holon.Runtime.open(tmp_path / "root", discover=False, plugins=[Same()])

    assert list((tmp_path / "root" / "live").iterdir()) == []
    with pytest.raises(holon.Misuse, match="app is"):
        holon.Runtime.open(tmp_path / "root", app="No App", discover=False)
    with pytest.raises(holon.Rejected):
        holon.Runtime.open(tmp_path / "root", discover=False, tools=[lambda: 1])
    assert list((tmp_path / "root" / "live").iterdir()) == []


def test_locks_of_dead_runtimes_are_swept_at_the_next_open(tmp_path):
    """And only those: a living runtime keeps its own."""
    root = tmp_path / "root"
    with holon.Runtime.open(root, discover=False) as living:
        OsLock(root / "live" / "rdead").release()
        with holon.Runtime.open(root, discover=False):
            names = {path.name for path in (root / "live").iterdir()}
            assert living._guard.runtime_id in names
            assert "rdead" not in names


def test_expired_keys_are_purged_at_an_open(open_runtime, read, clock):
    """So that the store does not grow by what nobody can use any more."""
    with open_runtime(read) as rt:
        rt.session(principal="ann").call("host.app/read", key="old")
    clock.advance(rt.plugins.config.key_ttl_s + 1)

    rt = open_runtime(read)

    count = rt._guard.store._reader.execute("select count(*) from idempotency").fetchone()[0]
    assert count == 0


SCRIPT = """
import sys
import holon_core as holon

@holon.tool(effects={"none"})
async def waits() -> int:
    return 1

rt = holon.Runtime.open(sys.argv[1], discover=False, tools=[waits])
print('"' + rt.session(principal="ann").call("host.app/waits").status.value + '"')
"""


def test_a_script_that_never_closes_ends_all_the_same(tmp_path):
    """Its threads do not keep the interpreter alive."""
    assert answer_of(SCRIPT, str(tmp_path / "root"), timeout_s=30) == "completed"


def test_the_default_root_comes_from_the_environment_or_the_platform(tmp_path, monkeypatch):
    """In this order."""
    from holon_core.runtime import default_root

    monkeypatch.setenv("HOLON_ROOT", str(tmp_path / "mine"))
    assert default_root() == tmp_path / "mine"
    with holon.Runtime.open(discover=False) as rt:
        assert str(tmp_path / "mine") in repr(rt)
    monkeypatch.delenv("HOLON_ROOT")
    assert default_root().name == "holon"
    assert isinstance(default_root(), Path)


def test_a_runtime_in_memory_works_like_one_on_disk(write, ran):
    """Held, approved, released, verified."""
    with holon.Runtime.in_memory(tools=[write], operator="ann") as rt:
        session = rt.session(principal="ann")
        held = session.call("host.app/write", {"a": 1}).held
        assert rt.approvals.approve(held, by="ann", reason="mine").self_approved
        result = session.release(held)
        assert (result.status, result.self_approved) == ("completed", True)
        assert rt.evidence.verify(None).consistent
        assert "memory" in repr(rt)
    assert ran == [{"a": 1}]


@pytest.mark.parametrize("warn", ["default", "ignore"])
def test_a_program_that_leaves_its_runtime_open_ends_as_if_it_had_closed_it(tmp_path, warn):
    """Its calls are over, nothing waits, and the next open finds nothing interrupted."""
    root = tmp_path / "root"
    code = (
        "import sys, holon_core as holon\n"
        "@holon.tool(effects={'none'})\n"
        "async def add(a: int) -> int:\n"
        "    return a + 1\n"
        f"rt = holon.Runtime.open({str(root)!r}, tools=[add], discover=False)\n"
        "print(rt.session(principal='ann').call('host.app/add', {'a': 1}).status)\n"
    )

    done = subprocess.run(
        [sys.executable, "-W", warn, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "completed\n")
    assert "Traceback" not in done.stderr
    assert list((root / "live").iterdir()) == []
    with holon.Runtime.open(root, discover=False) as again:
        assert [r.kind for r in again.evidence.list(workspace=None)] == ["accepted", "completed"]
