"""Attacks on execution: lanes, previews and tools that do more than their turn allows."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import holon_core as holon
from door import approve, eventually, kinds, open_calls, trail
from holon_core.catalogue.catalogue import Entry
from holon_core.guard import execute

WRITE = "host.app/write"
READ = "host.app/read"
SECRET = "correct-horse-battery"


class Executor:
    """An executor made of two functions."""

    def __init__(self, run: Callable[[Any], Any], preview: Callable[[Any], Any] = dict) -> None:
        self.execute = run
        self.preview = preview


def behind(rt: holon.Runtime, tool: str, run: Any, preview: Any = lambda call: {}) -> None:
    """Put an executor behind a tool that is registered."""
    rt._guard.catalogue.put(Entry(rt.tools.read(tool), Executor(run, preview)))


def end_of(rt: holon.Runtime) -> dict[str, Any]:
    """Return what the last record says."""
    return dict(rt.evidence.list(workspace=None)[-1].body)


def process_of(rt: holon.Runtime) -> dict[str, Any]:
    """Return what the last record keeps of the one process of its call."""
    [kept] = end_of(rt)["from_tool"]
    assert kept["source"] == "holon-process"
    return dict(kept["data"])


# 1: what a gate of a lane is shown


def test_a_gate_that_changes_its_arguments_changes_nothing_that_runs(open_runtime, write, ran):
    """After the approval as before: what was fingerprinted is what runs, and what is recorded."""

    def meddling(call: holon.GateCall) -> Any:
        call.arguments["amount"] = 1_000_000
        call.arguments["to"]["who"] = "mallory"
        return ()

    rt = open_runtime(write)
    rt._guard.gates["host"] = (meddling, meddling)
    session = rt.session(principal="ann")
    asked = {"amount": 1, "to": {"who": "bob"}}

    held = session.call(WRITE, asked).held
    approve(rt, held)

    assert session.release(held).status == "completed"
    assert ran == [asked]
    assert [r.payload for r in rt.evidence.read(held) if r.kind == "accepted"] == [asked]


def test_each_gate_sees_the_call_and_nothing_of_the_guard(open_runtime, read, ran):
    """Tool, caller, arguments of its own, posture, workspace: none can be set, and no more."""
    seen: list[Any] = []

    def greedy(call: Any) -> Any:
        seen.append(dict(call.arguments))
        call.arguments.clear()
        for name in ("arguments", "tool", "caller"):
            with pytest.raises(AttributeError):
                setattr(call, name, None)
        assert not {"cancel", "canonical", "approval_id"} & set(dir(call))
        seen.append((call.tool.id, call.caller.principal, call.posture, call.workspace))
        return ()

    rt = open_runtime(read)
    rt._guard.gates["host"] = (greedy, greedy)

    assert rt.session(principal="ann").call(READ, {"n": 7}).output == {"result": 7}
    assert seen == [{"n": 7}, (READ, "ann", "host_function", None)] * 2


def test_a_policy_that_keeps_its_request_cannot_change_what_runs(open_runtime, write, ran):
    """Whatever it still holds is no part of what the executor is entered with."""
    kept: list[Any] = []

    class Keeping:
        name = "keeping"

        @holon.hookimpl
        def holon_policies(self, host: Any) -> Any:
            yield self

        def evaluate(self, request: holon.PolicyRequest) -> holon.Verdict:
            kept.append(request)
            for old in kept:
                old.arguments["n"] = 99  # type: ignore[index]
            return holon.Verdict(decision=holon.Decision.ALLOW, rule="keeping")

    rt = open_runtime(write, plugins=[Keeping()])
    session = rt.session(principal="ann")
    held = session.call(WRITE, {"n": 1}).held
    approve(rt, held)

    assert session.release(held).status == "completed"
    assert ran == [{"n": 1}]


@pytest.mark.parametrize("answer", ["exit", "endless"])
def test_a_gate_that_ends_generators_or_never_ends_blocks_the_call(open_runtime, read, answer):
    """GeneratorExit is an answer like any other fault; only so many lacks are asked for."""

    def gate(call: holon.GateCall) -> Any:
        if answer == "exit":
            raise GeneratorExit
        while True:
            yield holon.failure("circuit_open")

    def leaving(call: holon.GateCall) -> Any:
        raise GeneratorExit

    rt = open_runtime(read)
    rt._guard.gates["host"] = (leaving if answer == "exit" else gate,)

    result = rt.session(principal="ann").call(READ)

    assert result.failure.code == ("lane_protocol" if answer == "exit" else "circuit_open")
    assert trail(rt, result.call_id) == ["refused"]


# 2: what a preview may do


@pytest.mark.parametrize("what", ["run_process", "artifact", "secret", "draft", "progress"])
def test_a_preview_can_start_read_and_keep_nothing(open_runtime, tmp_path, monkeypatch, what):
    """Before the approval and in a dry run alike; what it tried is refused where it tried it."""
    monkeypatch.setenv("PREVIEWED_SECRET", SECRET)
    made, caught, heard = tmp_path / "made", [], []
    acts: dict[str, Callable[[Any], Any]] = {
        "run_process": lambda call: call.run_process(("/usr/bin/touch", str(made))),
        "artifact": lambda call: call.artifact(b"x"),
        "secret": lambda call: call.secret("key"),
        "draft": lambda call: call.draft("preview", {"x": 1}),
        "progress": lambda call: call.progress("previewing"),
    }

    def preview(call: holon.SealedCall) -> dict[str, Any]:
        with pytest.raises(holon.Misuse, match="is being previewed") as error:
            acts[what](call)
        caught.append(error.value)
        return {"arguments": call.arguments, "tool": call.tool.id}

    @holon.tool(id="pay", effects={"network_write"}, secrets={"key": "env:PREVIEWED_SECRET"})
    def pay(key: str) -> int:
        return 1

    rt = open_runtime(pay, progress=heard.append)
    behind(rt, "host.app/pay", lambda call: holon.completed({"result": 1}), preview)
    session = rt.session(principal="ann")

    held = session.call("host.app/pay")
    rehearsed = session.dry_run("host.app/pay")

    assert len(caught) == 2
    assert rehearsed.output == {"arguments": {}, "tool": "host.app/pay"}
    assert not made.exists()
    assert heard == []
    approve(rt, held.held)
    assert session.release(held.held).status == "completed"
    assert "from_tool" not in end_of(rt)


def test_a_preview_that_cancels_its_token_cancels_no_call(open_runtime, write, ran):
    """The token of a preview is its own."""
    rt = open_runtime(write, config={"rules": [{"id": WRITE, "decision": "ask"}]})
    entry = rt._guard.catalogue.get(WRITE)
    behind(rt, WRITE, entry.executor.execute, lambda call: call.cancel.cancel() or {})
    session = rt.session(principal="ann")

    held = session.call(WRITE, {"n": 1})
    approve(rt, held.held)

    assert session.release(held.held).status == "completed"


# 4: what a call may do after its end


def uses(call: holon.SealedCall) -> dict[str, Callable[[], Any]]:
    """Everything that a sealed call does for its tool."""
    return {
        "run_process": lambda: call.run_process(("/bin/true",)),
        "artifact": lambda: call.artifact(b"x"),
        "secret": lambda: call.secret("key"),
        "draft": lambda: call.draft("late", {"x": 1}),
        "progress": lambda: call.progress("late"),
    }


@pytest.mark.parametrize("how", ["returned", "abandoned", "cancelled"])
def test_a_sealed_call_does_nothing_after_its_end(open_runtime, monkeypatch, how):
    """For a thread that the tool left behind, one given up on, and one whose caller went."""
    monkeypatch.setenv("LEFT_SECRET", SECRET)
    monkeypatch.setattr(execute, "PATIENCE_S", 0.1)
    calls: list[holon.SealedCall] = []
    heard: list[Any] = []
    go_on = threading.Event()

    @holon.tool(
        id="leaves",
        effects={"none"},
        secrets={"key": "env:LEFT_SECRET"},
        timeout_s=0.1 if how == "abandoned" else None,
    )
    def leaves(call: holon.SealedCall, key: str) -> int:
        for use in uses(call).values():
            use()
        calls.append(call)
        if how != "returned":
            go_on.wait(30)
        return 1

    rt = open_runtime(leaves, progress=heard.append)
    session = rt.session(principal="ann")

    async def cancelled() -> None:
        task = asyncio.ensure_future(session.acall("host.app/leaves"))
        while not calls:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    if how == "cancelled":
        asyncio.run(cancelled())
    else:
        session.call("host.app/leaves")
    before = rt.evidence.list(workspace=None)

    for use in uses(calls[0]).values():
        with pytest.raises(holon.Misuse, match="has ended"):
            use()

    assert calls[0].tool.id == "host.app/leaves"
    assert [r.kind for r in before] == ["accepted", "completed" if how == "returned" else "failed"]
    assert rt.evidence.list(workspace=None) == before
    assert len(before[-1].body["from_tool"]) == 2
    assert len(heard) == 1
    go_on.set()


def test_a_program_that_outlives_its_tool_is_ended_and_recorded(open_runtime):
    """One that a left thread started before the end is part of the call, not of what follows."""
    outcomes: list[holon.ProcessOutcome] = []

    @holon.tool(id="leaves", effects={"none"})
    def leaves(call: holon.SealedCall) -> int:
        started = threading.Event()

        def left() -> None:
            outcomes.append(
                call.run_process(
                    ("/bin/sh", "-c", "echo here; exec sleep 60"), on_stdout=lambda _: started.set()
                )
            )

        threading.Thread(target=left).start()
        assert started.wait(20)
        return 1

    rt = open_runtime(leaves)

    assert rt.session(principal="ann").call("host.app/leaves").status == "completed"
    data = process_of(rt)
    assert (data["cause"], data["stdout"]["head"]) == ("cancelled", "here\n")
    assert eventually(lambda: [o.cause for o in outcomes] == ["cancelled"])


# 6: texts of tools


def test_no_text_of_a_tool_carries_its_secret_or_control_characters(open_runtime, monkeypatch):
    """Sources of drafts, stages of progress, codes of failures: redacted, escaped, bounded."""
    monkeypatch.setenv("TOLD_SECRET", SECRET)
    heard: list[Any] = []

    @holon.tool(id="tells", effects={"none"}, secrets={"key": "env:TOLD_SECRET"})
    def tells(key: str) -> int:
        return 1

    def run(call: holon.SealedCall) -> holon.ExecutorOutcome:
        key = call.secret("key")
        call.draft(f"\x1b[31m{key}\ud800" + "s" * 200, {"said": key})
        call.progress(f"{key}\x1b[31m" + "s" * 1000, message=f"{key}\x1b[31m\ud800" + "m" * 1000)
        return holon.ExecutorOutcome(
            status=holon.ExecutorStatus.FAILED,
            failure=holon.ExecutorFailure(
                kind=holon.StructuredFailureKind.INTERNAL,
                code=f"c\x1b{key}",
                message=f"m\x1b{key}\ud800",
                details={"d": key},
            ),
        )

    rt = open_runtime(tells, progress=heard.append)
    behind(rt, "host.app/tells", run)

    result = rt.session(principal="ann").call("host.app/tells")

    body = end_of(rt)
    text = repr(result) + repr(body) + repr(heard)
    text.encode()
    assert SECRET not in text
    assert "\x1b" not in result.failure.message + heard[0].stage + heard[0].message
    assert "\x1b" not in result.failure.code + body["from_tool"][0]["source"]
    assert body["from_tool"][0]["source"].startswith("\\x1b[31m[redacted:key]\\ud800")
    assert len(body["from_tool"][0]["source"]) < 120
    assert (len(heard[0].stage), len(heard[0].message)) < (250, 550)


def test_progress_counts_in_numbers(open_runtime):
    """A text in the place of a number could carry anything."""

    @holon.tool(id="counts", effects={"none"})
    def counts(call: holon.SealedCall) -> int:
        call.progress("copy", 0.5, 1.0)
        with pytest.raises(holon.Misuse, match="numbers"):
            call.progress("copy", SECRET)  # type: ignore[arg-type]
        with pytest.raises(holon.Misuse, match="numbers"):
            call.progress("copy", 1, SECRET)  # type: ignore[arg-type]
        return 1

    heard: list[Any] = []
    rt = open_runtime(counts, progress=heard.append)

    assert rt.session(principal="ann").call("host.app/counts").status == "completed"
    assert [(r.done, r.total) for r in heard] == [(0.5, 1.0)]


def test_a_draft_is_kept_as_it_was_when_it_was_given(open_runtime):
    """What the tool does with its object afterwards, and an object that fails, touch no record."""

    class Failing(Mapping):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            raise SystemExit(3)

        def __len__(self) -> int:
            return 1

        def __getitem__(self, name: Any) -> Any:
            return name

    @holon.tool(id="drafts", effects={"none"})
    def drafts(call: holon.SealedCall) -> int:
        data = {"n": [1]}
        call.draft("tool", data)
        data["n"].append(2)
        with pytest.raises(SystemExit):
            call.draft("tool", Failing())
        return 1

    rt = open_runtime(drafts)

    assert rt.session(principal="ann").call("host.app/drafts").status == "completed"
    assert end_of(rt)["from_tool"] == [{"data": {"n": [1]}, "source": "tool"}]


# 8: interrupts before execution


class Policy:
    """A plugin with one policy that a test gives."""

    name = "stop"

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    @holon.hookimpl
    def holon_policies(self, host: Any) -> Any:
        yield self

    def evaluate(self, request: holon.PolicyRequest) -> holon.Verdict:
        self.act()
        return holon.Verdict(decision=holon.Decision.ALLOW, rule="stop")


def interrupt(*_: Any) -> Any:
    """End the program, as Ctrl-C does."""
    raise KeyboardInterrupt


def test_an_interrupt_that_a_policy_raises_is_a_denial(open_runtime, read, ran):
    """A person's own never arrives in the thread of policies; the host goes on."""
    rt = open_runtime(read, plugins=[Policy(interrupt)])
    session = rt.session(principal="ann")

    results = [session.call(READ), asyncio.run(session.acall(READ)), session.dry_run(READ)]

    for result in results:
        assert result.failure.code == "policy_denied"
        assert "KeyboardInterrupt" in result.failure.message
    assert kinds(rt) == ["refused"] * 3
    assert ran == []


@pytest.mark.parametrize("mode", ["call", "acall", "request", "dry_run", "release"])
def test_an_interrupt_before_execution_leaves_a_refused_record(
    open_runtime, write, ran, monkeypatch, mode
):
    """Wherever it comes from: it goes on to the caller, and the attempt is on record."""
    # A signal's handler may raise either of them, at any line of the main thread.
    fault = SystemExit if mode in ("request", "acall") else KeyboardInterrupt
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    held = session.call(WRITE, {"n": 1}).held
    approve(rt, held)

    def stopped(*_: Any, **__: Any) -> Any:
        raise fault

    monkeypatch.setattr(rt._guard.policy, "recall", stopped)
    monkeypatch.setattr(rt._guard.policy, "decide", stopped)
    acts: dict[str, Callable[[], Any]] = {
        "call": lambda: session.call(WRITE, {"n": 2}),
        "acall": lambda: asyncio.run(session.acall(WRITE, {"n": 2})),
        "request": lambda: session.request_approval(WRITE, {"n": 2}),
        "dry_run": lambda: session.dry_run(WRITE, {"n": 2}),
        "release": lambda: session.release(held),
    }

    with pytest.raises(fault):
        acts[mode]()

    body = end_of(rt)
    assert kinds(rt) == ["held", "approved", "refused"]
    assert (body["failure"]["code"], body["failure"]["details"]) == (
        "cancelled",
        {"started": False},
    )
    assert fault.__name__ in body["failure"]["message"]
    assert (open_calls(rt), ran) == ([], [])
    monkeypatch.undo()
    assert session.release(held).status == "completed"


@pytest.mark.parametrize("place", ["gate", "secret", "preview"])
def test_an_interrupt_of_a_lane_before_execution_is_recorded(open_runtime, monkeypatch, place):
    """In a gate, in what tells whether a secret is there, and in a preview."""
    monkeypatch.setenv("ASKED_SECRET", SECRET)

    @holon.tool(id="uses", effects={"machine_write"}, secrets={"key": "env:ASKED_SECRET"})
    def uses_it(key: str) -> int:
        raise AssertionError

    rt = open_runtime(uses_it)
    if place == "gate":
        rt._guard.gates["host"] = (interrupt,)
    elif place == "secret":
        monkeypatch.setattr("holon_core.guard.secrets.EnvironmentSecrets.available", interrupt)
    else:
        behind(rt, "host.app/uses", interrupt, interrupt)

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="ann").call("host.app/uses")

    assert kinds(rt) == ["refused"]
    assert rt.approvals.held() == ()


def test_an_interrupt_in_the_transaction_leaves_exactly_one_record(open_runtime, read, ran):
    """Rolled back, nothing was accepted; what is missing then is written."""
    rt = open_runtime(read)
    store, faults = rt._guard.store, [KeyboardInterrupt]

    class Interrupting:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def transact(self, work: Any, **options: Any) -> Any:
            def broken(tables: Any) -> Any:
                answer = work(tables)
                while faults:
                    raise faults.pop()
                return answer

            return store.transact(broken, **options)

        def append(self, draft: Any, *, wait: bool = True, full: bool = False, **place: Any) -> Any:
            return self.transact(lambda t: t.append(draft, **place), wait=wait, full=full)

    rt._guard.store = Interrupting()

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="ann").call(READ)

    assert kinds(rt) == ["refused"]
    assert (open_calls(rt), ran) == ([], [])


def test_an_interrupt_after_the_record_adds_no_other(open_runtime, write, monkeypatch):
    """A call that was held stays held, and says so once."""
    rt = open_runtime(write)
    monkeypatch.setattr(rt._guard.pump, "active", True)
    monkeypatch.setattr(rt._guard.pump, "notify", interrupt)

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="ann").call(WRITE, {"n": 1})

    assert kinds(rt) == ["held"]


# 11: what a process leaves behind at the time limit


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_time_limit_of_a_tool_keeps_the_record_of_its_program(open_runtime, kind):
    """Its duration, its limits, and what it printed till then; the cause is the limit."""
    argv = ("/bin/sh", "-c", "echo so far; exec sleep 300")

    @holon.tool(id="sync", effects={"none"}, timeout_s=0.4)
    def runs(call: holon.SealedCall) -> int:
        call.run_process(argv)
        # The program has the same limit; the tool is still there when its own is over.
        for _ in range(500):
            if call.cancel.cancelled:
                break
            time.sleep(0.01)
        return 1

    @holon.tool(id="async", effects={"none"}, timeout_s=0.4)
    async def awaits(call: holon.SealedCall) -> int:
        await asyncio.to_thread(call.run_process, argv)
        await asyncio.sleep(0.5)
        return 1

    rt = open_runtime(runs, awaits)
    session = rt.session(principal="ann")

    results = [session.call(f"host.app/{kind}"), asyncio.run(session.acall(f"host.app/{kind}"))]

    for result in results:
        assert (result.status, result.failure.code) == ("failed", "timeout")
        assert result.failure.message.startswith("ended by the time limit of 0.4 s")
        [kept] = rt.evidence.read(result.call_id)[-1].body["from_tool"]
        data = kept["data"]
        assert (kept["source"], data["cause"]) == ("holon-process", "timeout")
        assert data["limits"]["timeout_ms"] == 400
        assert data["duration_ms"] >= 100
        assert data["stdout"]["head"] == "so far\n"
    assert rt.close() == ()


def test_cancelling_a_call_keeps_the_record_of_its_program(open_runtime):
    """Of one that an asynchronous tool awaits in a thread, too."""
    started = threading.Event()

    @holon.tool(id="async", effects={"none"})
    async def awaits(call: holon.SealedCall) -> int:
        await asyncio.to_thread(
            call.run_process,
            ("/bin/sh", "-c", "echo so far; exec sleep 300"),
            on_stdout=lambda _: started.set(),
        )
        return 1

    rt = open_runtime(awaits)
    session = rt.session(principal="ann")

    async def main() -> None:
        task = asyncio.ensure_future(session.acall("host.app/async"))
        while not started.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert end_of(rt)["failure"]["code"] == "cancelled"
    assert (process_of(rt)["cause"], process_of(rt)["stdout"]["head"]) == ("cancelled", "so far\n")


# 12: causes


@pytest.mark.parametrize("end", ["suspends", "swallows", "raises", "exits", "interrupts"])
def test_the_time_limit_is_the_cause_whatever_cleaning_up_does(open_runtime, end):
    """It was late before it did anything else."""

    @holon.tool(id="slow", effects={"none"}, timeout_s=0.1)
    async def slow() -> int:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if end == "swallows":
                return 1
            if end == "suspends":
                await asyncio.sleep(0.05)
            if end == "raises":
                raise ValueError("late") from None
            if end == "exits":
                raise SystemExit(3) from None
            if end == "interrupts":
                raise KeyboardInterrupt from None
            raise
        return 1

    rt = open_runtime(slow)
    session = rt.session(principal="ann")

    for result in (session.call("host.app/slow"), asyncio.run(session.acall("host.app/slow"))):
        assert (result.failure.code, result.failure.details["limit_s"]) == ("timeout", 0.1)


@pytest.mark.parametrize("way", ["the caller", "the runtime"])
def test_who_ends_a_late_tool_that_cleans_up_is_not_the_cause(open_runtime, monkeypatch, way):
    """The time limit came first."""
    monkeypatch.setattr("holon_core.guard.threads.JOIN_S", 0.2)
    cleaning = threading.Event()

    @holon.tool(id="slow", effects={"none"}, timeout_s=0.1)
    async def slow() -> int:
        try:
            await asyncio.sleep(60)
        finally:
            cleaning.set()
            await asyncio.sleep(1)
        return 1

    rt = open_runtime(slow)
    session = rt.session(principal="ann")

    async def by_the_caller() -> None:
        task = asyncio.ensure_future(session.acall("host.app/slow"))
        while not cleaning.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    if way == "the caller":
        asyncio.run(by_the_caller())
        assert end_of(rt)["failure"]["code"] == "timeout"
        return
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(session.call("host.app/slow")))
    thread.start()
    assert cleaning.wait(20)
    rt._guard.threads.close()
    thread.join(20)
    assert [answer.failure.code for answer in answers] == ["timeout"]


def test_an_executor_that_answers_nothing_in_time_is_not_late(open_runtime, read):
    """None is garbage, as it is without a limit."""

    def silent() -> int:
        raise AssertionError

    rt = open_runtime()
    for name, limit in (("limited", 20), ("unlimited", None)):
        tool = rt.register(silent, id=name, effects={"none"}, timeout_s=limit)
        behind(rt, tool.id, lambda call: None)
    session = rt.session(principal="ann")

    for name in ("limited", "unlimited"):
        result = session.call(f"host.app/{name}")
        assert (result.failure.code, result.failure.message) == (
            "lane_protocol",
            "it answered NoneType",
        )
    assert rt.close() == ()


class Odd(Exception):
    """An exception that cannot even be told."""

    def __str__(self) -> str:
        raise SystemExit(4)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise SystemExit(5)


class Text(str):
    """A text that fails when it is used."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        raise SystemExit(6)

    def __bool__(self) -> bool:
        raise SystemExit(7)


class Sly(Exception):
    """An exception whose text is no plain one."""

    def __str__(self) -> str:
        return Text("sly")


@pytest.mark.parametrize("error", [Odd, Sly])
@pytest.mark.parametrize("kind", ["sync", "limited", "async"])
def test_an_exception_that_fails_when_it_is_told_is_an_outcome(open_runtime, error, kind):
    """Neither a cancellation nor an exit of the program."""

    @holon.tool(effects={"none"})
    def sync() -> int:
        raise error

    @holon.tool(effects={"none"}, timeout_s=20)
    def limited() -> int:
        raise error

    @holon.tool(id="async", effects={"none"})
    async def waits() -> int:
        raise error

    rt = open_runtime(sync, limited, waits)
    session = rt.session(principal="ann")

    for result in (
        session.call(f"host.app/{kind}"),
        asyncio.run(session.acall(f"host.app/{kind}")),
    ):
        assert result.failure.code == "tool_raised"
        assert result.failure.message == ("Odd" if error is Odd else "Sly: sly")


@pytest.mark.parametrize("field", ["output_json", "evidence", "failure"])
def test_an_outcome_that_fails_when_it_is_read_closes_its_call(open_runtime, read, field):
    """SystemExit in an object of the tool's does not end the host, nor leave the call open."""

    class Failing:
        def __getattribute__(self, name: str) -> Any:
            raise SystemExit(8)

        def __iter__(self) -> Any:
            raise SystemExit(8)

    status = holon.ExecutorStatus.FAILED if field == "failure" else holon.ExecutorStatus.COMPLETED
    rt = open_runtime(read)
    behind(rt, READ, lambda call: holon.ExecutorOutcome(status=status, **{field: Failing()}))

    result = rt.session(principal="ann").call(READ)

    assert result.status == "failed"
    assert result.failure.code in ("lane_protocol", "output_not_json")
    assert trail(rt, result.call_id) == ["accepted", "failed"]


# 13: what a cancelled call uses up


@pytest.mark.parametrize("kind", ["acall", "arelease", "key"])
def test_a_call_cancelled_before_its_executor_gives_back_what_it_took(
    open_runtime, write, ran, monkeypatch, kind
):
    """Use of the approval and key are free again, and the record says that nothing started."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    key = "k-1" if kind == "key" else None
    held = session.call(WRITE, {"n": 1}, key=None if kind == "acall" else key).held
    approve(rt, held)
    real, accepted, go_on = rt._guard.store.transact, threading.Event(), threading.Event()

    def slow(work: Any, **options: Any) -> Any:
        if not options.get("wait", True):
            return real(work, **options)
        answer = real(work, **options)
        if isinstance(answer, holon.SealedCall):
            accepted.set()
            go_on.wait(20)
        return answer

    monkeypatch.setattr(rt._guard.store, "transact", slow)

    async def main() -> None:
        again = session.acall(WRITE, {"n": 1}) if kind == "acall" else session.arelease(held)
        task = asyncio.ensure_future(again)
        while not accepted.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    monkeypatch.undo()

    body = end_of(rt)
    approval = rt.approvals.read(held)
    assert (body["kind"], body["failure"]["code"], body["started"]) == (
        "failed",
        "cancelled",
        False,
    )
    assert body["approval_returned"] == approval.id
    assert (approval.state, approval.uses_left) == ("approved", 1)
    assert (open_calls(rt), ran) == ([], [])
    assert session.call(WRITE, {"n": 1}, key=key).status == "completed"
    assert ran == [{"n": 1}]


def test_a_call_cancelled_in_its_executor_gives_nothing_back(open_runtime, write, ran):
    """Whether it took effect is unknown."""
    entered = threading.Event()

    @holon.tool(id="slow", effects={"machine_write"})
    async def slow() -> int:
        entered.set()
        await asyncio.sleep(60)
        return 1

    rt = open_runtime(slow)
    session = rt.session(principal="ann")
    held = session.call("host.app/slow").held
    approve(rt, held)

    async def main() -> None:
        task = asyncio.ensure_future(session.arelease(held))
        while not entered.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert rt.approvals.read(held).state == "consumed"
    assert not {"started", "approval_returned"} & set(end_of(rt))


def test_a_call_that_was_given_up_in_the_queue_is_never_entered(open_runtime, write, ran):
    """A worker that comes to it later finds that it has ended."""
    rt = open_runtime(write, config={"rules": [{"id": WRITE, "decision": "allow"}]})
    session, guard = rt.session(principal="ann"), rt._guard
    busy = threading.Event()
    begun = time.monotonic()

    async def main() -> None:
        for _ in range(64):
            guard.threads.pool().submit(busy.wait, 30)
        task = asyncio.ensure_future(session.acall(WRITE, {"n": 1}))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.sleep(0.1)
        busy.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert time.monotonic() - begun < 30
    assert ran == []
    assert open_calls(rt) == []
    assert end_of(rt)["started"] is False
