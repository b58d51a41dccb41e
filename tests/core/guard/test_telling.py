"""What somebody who looks into a fault is told: where it was raised, what was meant, what next."""

from __future__ import annotations

import asyncio
import gc
import logging
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core import logs
from holon_core.store.protocol import StoreClosed

SECRET = "hunter2-hunter2"


@holon.tool(effects={"none"})
def broken() -> int:
    return int("seven")


@holon.tool(effects={"none"})
async def abroken() -> int:
    return int("seven")


@holon.tool(effects={"none"}, secrets={"token": "env:TELLING_TOKEN"})
def leaking(token: str) -> int:
    raise ValueError(token)


def frames_of(rt: holon.Runtime, call_id: str) -> list[str]:
    drafts = rt.evidence.read(call_id)[-1].body["from_tool"]
    return next(each["data"]["frames"] for each in drafts if each["source"] == "holon-traceback")


@pytest.mark.parametrize("tool", [broken, abroken], ids=["sync", "async"])
def test_the_place_where_a_tool_raised_is_in_evidence_and_in_the_log(
    open_runtime: Any, tool: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """File, line and function are kept; the frames of Holon itself are not."""
    rt = open_runtime(tool)

    with caplog.at_level(logging.ERROR, logger="holon.core"):
        result = rt.session(principal="ann").call(f"host.app/{tool.__name__}")

    assert result.failure.code == "tool_raised"
    frames = frames_of(rt, result.call_id)
    assert len(frames) == 1
    assert f'in {tool.__name__}: return int("seven")' in frames[0]
    (record,) = caplog.records
    assert f"host.app/{tool.__name__} (call {result.call_id}) raised ValueError" in record.message
    assert frames[0] in record.message


def test_a_secret_in_an_exception_is_in_no_log(
    open_runtime: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is logged of a tool is redacted as evidence is."""
    monkeypatch.setenv("TELLING_TOKEN", SECRET)
    rt = open_runtime(leaking)

    rt.session(principal="ann").call("host.app/leaking")

    assert "raised ValueError: [redacted:token]" in caplog.text
    assert SECRET not in caplog.text


def test_nothing_is_printed_where_no_host_listens(capfd: pytest.CaptureFixture[str]) -> None:
    """Holon configures no logging, and is silent without one."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        logs.raised("somebody", "ValueError", ["a.py:1 in f: x"])
    finally:
        root.handlers = handlers

    assert capfd.readouterr() == ("", "")


def test_frames_are_bounded_and_visible() -> None:
    """A deep recursion keeps its innermost frames, and no line steers a terminal."""

    def deep(left: int) -> None:
        if left == 0:
            raise ValueError
        deep(left - 1)

    with pytest.raises(ValueError, match=r"^$") as raised:
        deep(100)
    code = compile("raise ValueError", "evil\x1b[31m.py", "exec")
    with pytest.raises(ValueError, match=r"^$") as evil:
        exec(code)

    assert len(logs.frames(raised.value)) == logs.MAX_FRAMES
    assert "evil\\x1b[31m.py:1" in logs.frames(evil.value)[-1]


class Unreadable:
    """A loader that a traceback asks for the source."""

    def get_source(self, name: str) -> str:
        raise OSError(name)


def test_a_source_that_cannot_be_read_is_no_further_fault() -> None:
    """Where the lines of a frame cannot be had, the others are not told either."""
    names = {"__name__": "made", "__loader__": Unreadable()}
    code = compile("def f():\n    raise SystemExit", "<made here>", "exec")
    exec(code, names)

    with pytest.raises(SystemExit) as raised:
        names["f"]()  # type: ignore[operator]

    assert isinstance(logs.frames(raised.value), list)


def test_a_policy_that_raises_is_told_with_its_place(
    open_runtime: Any, read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has file and line, and of what was raised the type alone."""

    class Policy:
        name = "p"

        def evaluate(self, request: Any) -> holon.Verdict:
            raise KeyError(SECRET)

    class Plugin:
        name = "acme"

        @holon.hookimpl
        def holon_policies(self, host: Any) -> Any:
            return [Policy()]

    rt = open_runtime(read, plugins=[Plugin()])

    assert rt.session(principal="ann").call("host.app/read").status == "blocked"
    assert "plugin:acme/p raised KeyError\n" in caplog.text
    assert "in evaluate: raise KeyError(SECRET)" in caplog.text
    assert SECRET not in caplog.text


def test_a_sink_that_raises_is_told_once_and_in_the_states_of_sinks(
    open_runtime: Any, read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Who looks finds the sink, what it raised and how far behind it is."""

    class Sink:
        name, required = "away", False

        def write(self, records: Any) -> None:
            raise ConnectionError(SECRET)

        def close(self) -> None:
            pass

    class Plugin:
        name = "acme"

        @holon.hookimpl
        def holon_evidence_sinks(self, host: Any) -> Any:
            return [Sink()]

    rt = open_runtime(read, plugins=[Plugin()])
    rt.session(principal="ann").call("host.app/read")
    assert not rt._guard.pump.flush(0.5)

    (state,) = rt.evidence.sinks()
    assert (state.name, state.error, state.required) == ("away", "ConnectionError", False)
    assert state.behind_records > 0
    assert caplog.text.count("the evidence sink away raised ConnectionError\n") == 1
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("host.app/raed", "host.app/read"),
        ("read", "host.app/read"),
        ("host.cli/read", "host.app/read"),
    ],
)
def test_an_unknown_tool_is_named_with_what_was_meant(
    open_runtime: Any, read: Any, asked: str, meant: str
) -> None:
    """A mistyped id and one of another application are told with the nearest there is."""
    rt = open_runtime(read)

    failure = rt.session(principal="ann").call(asked).failure
    with pytest.raises(holon.Refused) as refused:
        rt.tools.read(asked)

    assert failure.code == "unknown_tool"
    assert failure.message == f"no tool {asked}; did you mean {meant}?"
    assert refused.value.failure.message == failure.message


def test_an_unknown_id_is_shown_within_bounds(open_runtime: Any) -> None:
    """Of a long id the beginning is shown, and nothing in it acts unseen."""
    rt = open_runtime()

    message = rt.session(principal="ann").call("x\u202e" + "y" * 300).failure.message

    assert message.startswith("no tool x\\u202eyy")
    assert message.endswith("y…")
    assert len(message) < 150


def test_a_dry_run_of_what_asks_says_to_call_it(open_runtime: Any, write: Any) -> None:
    """Nothing is held by a dry run, so there is nothing to approve yet."""
    session = open_runtime(write).session(principal="ann")

    (reason,) = session.dry_run("host.app/write", {}).blocking_reasons
    steps = session.explain("host.app/write", {}).steps
    held = session.call("host.app/write", {})

    assert (reason.code, reason.next_action) == (
        "approval_required",
        "make the call, which is then held for a person to approve",
    )
    assert any("make the call" in step.detail for step in steps)
    assert "approve the held call" in held.failure.next_action


def test_a_secret_that_is_not_set_is_told_with_its_slot(
    open_runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several slots the one that lacks its value is named."""
    monkeypatch.delenv("TELLING_TOKEN", raising=False)

    failure = open_runtime(leaking).session(principal="ann").call("host.app/leaking").failure

    assert failure.code == "secret_unresolved"
    assert failure.message == "the secret token: set the environment variable TELLING_TOKEN"
    assert failure.details["slot"] == "token"


@pytest.mark.parametrize(
    "ask",
    [
        lambda rt: rt.evidence.list(workspace=None),
        lambda rt: rt.evidence.verify(None),
        lambda rt: rt.approvals.list(),
        lambda rt: rt.workspaces.list(),
        lambda rt: rt.tools.list(),
        lambda rt: rt.plugins.retire("policy a/b", by="olga", reason="gone"),
    ],
    ids=["evidence", "verify", "approvals", "workspaces", "tools", "plugins"],
)
def test_every_facet_of_a_closed_runtime_says_that_it_is_closed(
    open_runtime: Any, ask: Any
) -> None:
    """The same exception as from the runtime and its sessions, whichever part is asked."""
    rt = open_runtime()
    rt.close()

    with pytest.raises(holon.RuntimeNotOpen, match="closed"):
        ask(rt)


def test_a_facet_that_outlives_its_runtime_says_so(tmp_path: Path) -> None:
    """A function that returns a facet alone loses the runtime; the text says what to keep."""

    def opened() -> Any:
        return holon.Runtime.open(tmp_path / "root", discover=False).evidence

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        evidence = opened()
        gc.collect()

    with pytest.raises(holon.RuntimeNotOpen, match="a facet alone does not"):
        evidence.heads()


def test_what_says_that_the_store_is_closed_is_both_kinds_and_can_be_pickled() -> None:
    """The guarded call takes it for the store's fault, a caller for a closed runtime."""
    error = StoreClosed()

    assert isinstance(error, holon.StoreError)
    assert isinstance(error, holon.RuntimeNotOpen)
    assert pickle.loads(pickle.dumps(error)) == error
    assert "open another" in str(error)


def test_a_wait_beside_a_running_loop_is_ended_by_its_true_cause(
    open_runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that is only slow is not accused of needing the loop."""
    from holon_core.guard import execute

    monkeypatch.setattr(execute, "LOOP_LIMIT_S", 0.2)

    @holon.tool(effects={"none"})
    async def slow() -> int:
        await asyncio.sleep(30)
        return 1

    rt = open_runtime(slow)

    async def main() -> holon.ToolResult:
        return rt.session(principal="ann").call("host.app/slow")

    failure = asyncio.run(main()).failure

    assert failure.code == "event_loop_blocked"
    assert "no answer in 0.2 s" in failure.message
    assert "may need" in failure.message
    assert "timeout_s" in failure.next_action
