"""What seldom happens at the edges of the steps: interrupts, late closes, odd answers."""

from __future__ import annotations

import _thread
import asyncio
import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest

import holon_core as holon
from holon_core.catalogue.catalogue import Entry
from holon_core.errors import RuntimeNotOpen
from holon_core.guard import execute
from holon_core.guard.attempt import Attempt
from holon_core.guard.grants import checked_pattern
from holon_core.guard.redaction import Redactor
from holon_core.guard.running import Running
from holon_core.guard.sealed import mint
from holon_core.guard.secrecy import know_registered, where_secret
from holon_core.guard.trial import trial
from holon_core.records.outcome import ExecutorStatus, completed

READ, WRITE = "host.app/read", "host.app/write"


class Executor:
    """Runs a function in place of a tool."""

    def __init__(self, run: Any) -> None:
        self.execute = run

    def preview(self, _: Any) -> dict[str, Any]:
        """Show nothing."""
        return {}


def behind(rt: holon.Runtime, tool: str, run: Any) -> Entry:
    """Put a function behind a registered tool; return its entry."""
    entry = Entry(rt.tools.read(tool), Executor(run))
    rt._guard.catalogue.put(entry)
    return entry


def kinds(rt: holon.Runtime) -> list[str]:
    """What happened, by the records outside of workspaces."""
    return [record.kind for record in rt.evidence.list(workspace=None)]


@pytest.mark.parametrize("ask", ["list", "held"])
def test_a_state_is_a_word_and_not_a_text_like_one(open_runtime, ask):
    """A misspelt text would find nothing and look like nothing is there."""
    rt = open_runtime()

    with pytest.raises(holon.Misuse, match="state is a word"):
        getattr(rt.approvals, ask)(state="held")


def test_a_pattern_that_is_no_json_is_misuse(open_runtime, write):
    """It could be neither stored nor compared."""
    tool = open_runtime(write).tools.read(WRITE)

    with pytest.raises(holon.Misuse, match="pattern is no JSON"):
        checked_pattern({"n": float("nan")}, tool)


def test_a_tool_runs_one_program_after_another(open_runtime):
    """Each leaves what it did as evidence."""

    @holon.tool(id="twice", effects={"none"})
    def twice(call: holon.SealedCall) -> int:
        return sum(call.run_process(("/bin/true",)).exit_code or 0 for _ in range(2))

    rt = open_runtime(twice)

    assert rt.session(principal="ann").call("host.app/twice").status == "completed"
    [kept] = [r.body["from_tool"] for r in rt.evidence.list(workspace=None) if r.kind != "accepted"]
    assert [each["source"] for each in kept] == ["holon-process"] * 2


def test_an_interrupt_while_an_answer_is_read_goes_through(open_runtime, read):
    """The call is over all the same, and its record says so."""

    class Interrupting:
        def __bool__(self) -> bool:
            raise KeyboardInterrupt

    rt = open_runtime(read)
    odd: Any = Interrupting()
    behind(
        rt,
        READ,
        lambda call: holon.ExecutorOutcome(
            status=ExecutorStatus.COMPLETED, output_json={}, evidence=odd
        ),
    )

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="ann").call(READ)

    assert kinds(rt) == ["accepted", "failed"]


def test_an_interrupt_of_a_call_that_cannot_be_recorded_goes_through(open_runtime, read, tmp_path):
    """The store is gone at the end: the record of the start stays all that there is."""

    def run(_: Any) -> Any:
        with closing(sqlite3.connect(tmp_path / "root" / "holon.db")) as other:
            other.execute("alter table evidence rename to elsewhere")
        raise KeyboardInterrupt

    rt = open_runtime(read)
    behind(rt, READ, run)

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="ann").call(READ)

    with closing(sqlite3.connect(tmp_path / "root" / "holon.db")) as other:
        other.execute("alter table elsewhere rename to evidence")
    assert kinds(rt) == ["accepted"]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_an_executor_is_not_entered_once_its_call_has_ended(open_runtime, read, ran, how):
    """A thread that comes late, after the caller gave up, starts nothing."""
    rt = open_runtime(read)
    session = rt.session(principal="ann")
    attempt = Attempt(READ, {}, session.caller)
    attempt.entry = rt._guard.catalogue.get(READ)
    attempt.limits = attempt.entry.tool.limits
    attempt.close()
    call = mint(attempt, rt._guard.services)

    if how == "sync":
        outcome: Any = execute.enter(call)
    else:
        outcome = asyncio.run(execute.run_async_tool(call, None))

    assert outcome.failure.code == "cancelled"
    assert ran == []


def test_a_tool_asks_for_an_approval_of_another_of_its_source(open_runtime, write, ran):
    """All that comes of it is a pending approval."""

    @holon.tool(id="asks", effects={"none"})
    def asks(call: holon.SealedCall) -> dict[str, Any]:
        made = call.request_approval(WRITE, {"n": 1})
        return {"code": made.failure.code if made.failure else ""}

    rt = open_runtime(write, asks)

    result = rt.session(principal="ann").call("host.app/asks")

    assert result.output == {"code": "approval_required"}
    assert [(a.tool, a.state) for a in rt.approvals.list()] == [(WRITE, "pending")]
    assert ran == []


def test_a_tool_asks_for_no_approval_of_another_source(open_runtime, read):
    """It would speak for what it is no part of."""

    @holon.tool(id="asks", effects={"none"})
    def asks(call: holon.SealedCall) -> str:
        with pytest.raises(holon.Misuse, match=r"only for tools of host\.app"):
            call.request_approval("acme.tools/wipe", {})
        return "refused"

    rt = open_runtime(asks)

    assert rt.session(principal="ann").call("host.app/asks").output == {"result": "refused"}


def test_a_tool_can_tell_whether_a_text_holds_a_secret(open_runtime, monkeypatch):
    """Of this runtime; the value itself it does not learn."""
    monkeypatch.setenv("TOKEN", "sesame-1234")

    @holon.tool(id="tells", effects={"none"}, secrets={"token": "env:TOKEN"})
    def tells(call: holon.SealedCall, token: str) -> list[bool]:
        return [call.holds_secret("open sesame-1234"), call.holds_secret("open")]

    rt = open_runtime(tells)

    assert rt.session(principal="ann").call("host.app/tells").output == {"result": [True, False]}


def test_a_tool_can_have_every_registered_secret_known(open_runtime, monkeypatch):
    """Those of other tools, never called, and those of holon.toml; a preview fetches none."""
    monkeypatch.setenv("TOKEN", "sesame-1234")
    monkeypatch.setenv("BOUND", "bound-5678")
    texts = ["open sesame-1234", "bound-5678", "open"]
    previewed = []

    def run(call):
        early = [call.holds_secret(each) for each in texts]
        assert call.know_secrets() is None
        return completed({"early": early, "found": [call.holds_secret(each) for each in texts]})

    def preview(call):
        with pytest.raises(holon.Misuse, match="works while the tool runs"):
            call.know_secrets()
        previewed.append([call.holds_secret(each) for each in texts])
        return {}

    rt = open_runtime(config={"secrets": {"bound": "env:BOUND", "none": "env:NO_SUCH"}})
    rt.register(lambda key: None, name="other", effects="none", secrets={"key": "env:TOKEN"})
    rt.register(lambda: None, name="looks", effects="none")
    behind(rt, "host.app/looks", run).preview = preview
    session = rt.session(principal="ann")
    session.dry_run("host.app/looks")

    result = session.call("host.app/looks")

    assert result.output == {"early": [False] * 3, "found": [True, True, False]}
    assert previewed == [[False] * 3]


def test_a_secret_that_nobody_can_tell_is_said_to_be_one(open_runtime, tmp_path):
    """A provider that fails, and more secrets than are known at a time."""
    (tmp_path / "no-text").write_bytes(b"\xff\xfe\xff\xfe")
    broken = {"secrets": {"odd": f"file:{tmp_path / 'no-text'}"}}

    failing = know_registered(open_runtime(config=broken)._guard)
    many = know_registered(open_runtime()._guard, [f"env:NONE_{n}" for n in range(1025)])

    assert failing is not None
    assert many is not None
    assert failing.code == many.code == "secret_unresolved"
    assert failing.details["exception"] == "UnicodeDecodeError"
    assert "more than 1024 secrets" in many.message


def test_a_secret_in_a_name_is_told_by_its_object():
    """The path does not repeat it."""
    redactor = Redactor()
    redactor.register("token", "sesame-1234")

    assert list(where_secret(redactor, {"a": {"sesame-1234": 1}})) == ["/a"]


def test_a_failure_of_no_kind_is_the_lanes_fault(open_runtime, read):
    """What it says in a word that there is not can't be passed on."""
    rt = open_runtime(read)
    odd: Any = "nonsense"
    problem = holon.ExecutorFailure(kind=odd, code="x", message="y")
    behind(
        rt,
        READ,
        lambda call: holon.ExecutorOutcome(status=ExecutorStatus.FAILED, failure=problem),
    )

    result = rt.session(principal="ann").call(READ)

    assert (result.failure.code, result.failure.message) == (
        "tool_failed",
        "the tool gave no reason",
    )


def test_a_call_that_comes_while_closing_has_begun_is_refused(open_runtime):
    """It is counted nowhere, so that closing does not wait for it."""
    running = Running()
    running.close()
    attempt = Attempt(READ, {}, open_runtime().session(principal="ann").caller)

    with pytest.raises(RuntimeNotOpen), running.under_way(attempt):
        raise AssertionError("it was let through")

    assert running.close() == []


def test_an_interrupt_while_policies_are_asked_leaves_no_answer_behind(open_runtime, read):
    """The next call is decided by its own verdicts."""
    asked: list[str] = []

    class Policy:
        name = "slow"

        def evaluate(self, request: Any) -> Any:
            asked.append(request.caller.principal)
            if len(asked) == 1:
                _thread.interrupt_main()
                time.sleep(0.3)
            return holon.Verdict(decision=holon.Decision.ALLOW, rule="slow")

    class Plugin:
        name = "slow"

        def holon_policies(self) -> Any:
            return [Policy()]

    hook = holon.hookimpl(Plugin.holon_policies)
    Plugin.holon_policies = hook  # type: ignore[method-assign]
    rt = open_runtime(read, plugins=[Plugin()], config={})

    with pytest.raises(KeyboardInterrupt):
        rt.session(principal="ann").call(READ)

    assert rt.session(principal="bo").call(READ).status == "completed"
    assert asked == ["ann", "bo"]


class Trials:
    """A tool that a runtime tries itself."""

    def __init__(self, rt: holon.Runtime, run: Any) -> None:
        self.rt = rt
        self.entry = behind(rt, READ, run)

    def run(self, arguments: Any = None) -> holon.ToolResult:
        """Try it once."""
        caller = self.rt.session(principal="ann").caller
        return trial(
            self.rt._guard, self.entry, caller, arguments=arguments or {}, about="t", workspace=None
        )


def answered(_: Any) -> holon.ExecutorOutcome:
    """Complete."""
    return holon.ExecutorOutcome(status=ExecutorStatus.COMPLETED, output_json={"result": 1})


def test_a_trial_without_a_workspace_runs_and_says_what_it_was_for(open_runtime, read):
    """As a call does otherwise."""
    trials = Trials(open_runtime(read), answered)

    assert trials.run().output == {"result": 1}
    assert trials.rt.evidence.list(workspace=None)[0].body["trial"] == "t"


def test_a_trial_of_a_tool_that_lacks_something_is_refused(open_runtime):
    """As a call of it would be."""

    @holon.tool(id="read", effects={"none"}, secrets={"token": "env:NOWHERE_AT_ALL"})
    def lacking(token: str) -> int:
        return 1

    trials = Trials(open_runtime(lacking), answered)

    assert trials.run().failure.code == "secret_unresolved"
    assert kinds(trials.rt) == ["refused"]


def test_a_trial_that_cannot_be_recorded_does_not_run(open_runtime, read, tmp_path):
    """Nothing runs without its record, trials included."""
    entered: list[Any] = []
    trials = Trials(open_runtime(read), entered.append)
    with closing(sqlite3.connect(tmp_path / "root" / "holon.db")) as other:
        other.execute("alter table evidence rename to elsewhere")

    assert trials.run().failure.code == "evidence_unavailable"
    assert entered == []


def test_an_interrupt_of_a_trial_goes_through_and_is_recorded(open_runtime, read):
    """Its end is known as that of a call is."""

    def run(_: Any) -> Any:
        raise KeyboardInterrupt

    trials = Trials(open_runtime(read), run)

    with pytest.raises(KeyboardInterrupt):
        trials.run()

    assert kinds(trials.rt) == ["accepted", "failed"]


def test_a_trial_is_taken_anew_where_the_catalogue_has_moved(open_runtime, read):
    """Another process may have registered something meanwhile; that is no failure."""
    trials = Trials(open_runtime(read), answered)
    trials.rt._guard.store.transact(lambda tables: tables.bump_revision())

    assert trials.run().output == {"result": 1}
    assert kinds(trials.rt) == ["accepted", "completed"]
