"""Abuse cases of processes, output and schemas, where the door adds something of its own."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import eventually, open_calls, trail
from holon_core.catalogue.catalogue import Entry
from holon_core.records.outcome import ExecutorOutcome, completed

PROGRAM = "host.app/program"


class Program:
    """An executor under the tool contract, as lanes have it: one object on stdout."""

    def __init__(self, script: str) -> None:
        self.script = script

    def preview(self, call: holon.SealedCall) -> dict[str, Any]:
        return {"script": self.script}

    def execute(self, call: holon.SealedCall) -> ExecutorOutcome:
        from holon_core.guard.execute import failed
        from holon_core.tool_contract import read_output

        read = read_output(call.run_process(("/bin/sh", "-c", self.script)))
        if isinstance(read, dict):
            return completed(read)
        return failed(read, started=read.code != "spawn_failed")


def with_program(rt: holon.Runtime, script: str, **options: Any) -> holon.Session:
    """Put a program behind the door; return a session that may call it."""

    def program() -> dict[str, Any]:
        raise AssertionError

    tool = rt.register(program, effects={"none"}, **options)
    rt._guard.catalogue.put(Entry(tool, Program(script), self_limiting=True))
    return rt.session(principal="ann")


def end_of(rt: holon.Runtime, result: holon.ToolResult) -> dict[str, Any]:
    """Return what the record of a call's end keeps of its process."""
    return rt.evidence.read(result.call_id)[-1].body["from_tool"][0]["data"]  # type: ignore[no-any-return]


def test_ab_proc_001_a_call_ends_with_its_program_not_with_a_grandchild(open_runtime):
    """Evidence says that a descendant was ended."""
    rt = open_runtime()
    session = with_program(rt, 'sleep 60 & echo "{\\"ok\\":true}"')

    result = session.call(PROGRAM)

    assert result.output == {"ok": True}
    assert end_of(rt, result)["descendants_killed"] >= 1


def test_ab_proc_002_the_time_limit_of_the_tool_is_the_limit_of_its_program(open_runtime):
    """The failure is typed, and evidence has the limit and what was printed till then."""
    rt = open_runtime()
    session = with_program(rt, "echo so far; sleep 300 & sleep 300", timeout_s=0.3)

    result = session.call(PROGRAM)

    assert (result.status, result.failure.code) == ("failed", "timeout")
    data = end_of(rt, result)
    assert data["limits"]["timeout_ms"] == 300
    assert data["stdout"]["head"] == "so far\n"


def test_ab_proc_004_the_output_limit_of_the_tool_ends_its_program(open_runtime):
    """What was printed up to then is no result."""
    rt = open_runtime()
    session = with_program(rt, "yes", max_output_bytes=10_000)

    result = session.call(PROGRAM)

    assert (result.status, result.failure.code) == ("failed", "output_too_large")
    assert result.output is None


def test_ab_proc_008_and_015_a_bad_end_outweighs_a_valid_object(open_runtime):
    """Neither a signal nor an exit code is a success, whatever was printed."""
    rt = open_runtime()
    killed = with_program(rt, "echo {}; kill -SEGV $$").call(PROGRAM)
    exited = with_program(rt, "echo {}; exit 3").call(PROGRAM)

    assert (killed.failure.code, exited.failure.code) == ("killed_by_signal", "tool_exit")
    assert killed.output is exited.output is None
    assert end_of(rt, killed)["signal"] == "SIGSEGV"


def test_ab_proc_009_a_program_of_a_call_sees_no_secret_of_the_host(open_runtime, monkeypatch):
    """Only allowed variables arrive, and the id of the call."""
    monkeypatch.setenv("MY_OTHER_TOOLS_KEY", "sk-123456")
    rt = open_runtime()
    script = 'echo "{\\"key\\":\\"$MY_OTHER_TOOLS_KEY\\",\\"call\\":\\"$HOLON_CALL_ID\\"}"'

    result = with_program(rt, script).call(PROGRAM)

    assert result.output == {"key": "", "call": result.call_id}


def test_ab_proc_010_a_program_of_a_call_cannot_reach_the_store(open_runtime):
    """It inherits no descriptor but its streams."""
    rt = open_runtime()
    script = "ls -l /proc/self/fd | grep -c holon.db >&2; echo {}"

    result = with_program(rt, script).call(PROGRAM)

    assert end_of(rt, result)["stderr"]["head"].strip() == "0"


def test_ab_proc_014_cancelling_from_another_thread_closes_the_record(open_runtime):
    """The program is gone, and the record says cancelled."""
    rt = open_runtime()
    entered = threading.Event()

    def waits(call: holon.SealedCall) -> int:
        threading.Timer(0.1, call.cancel.cancel).start()
        entered.set()
        outcome = call.run_process(("/bin/sleep", "60"))
        raise AssertionError(str(outcome.cause))

    rt.register(waits, effects={"none"})

    result = rt.session(principal="ann").call("host.app/waits")

    assert result.status == "failed"
    assert "cancelled" in result.failure.message
    assert open_calls(rt) == []


INTERRUPTED = """
import os, signal, sys, threading
import holon_core as holon

@holon.tool(effects={"none"})
def waits(call: holon.SealedCall) -> int:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    call.run_process(("/bin/sh", "-c", "echo $$ > " + sys.argv[2] + "; exec sleep 60"))
    return 1

with holon.Runtime.open(sys.argv[1], discover=False, tools=[waits]) as rt:
    try:
        rt.session(principal="ann").call("host.app/waits")
        print('"no interrupt"')
    except KeyboardInterrupt:
        kinds = [r.kind for r in rt.evidence.list(workspace=None)]
        code = rt.evidence.list(workspace=None)[-1].body["failure"]["code"]
        print('"' + " ".join([*kinds, code]) + '"')
"""


def test_ab_proc_014_a_keyboard_interrupt_ends_the_program_and_closes_the_record(tmp_path):
    """It reaches whoever called, after the record says cancelled."""
    from door import answer_of

    pid_file = tmp_path / "pid"

    said = answer_of(INTERRUPTED, str(tmp_path / "root"), str(pid_file))

    assert said == "accepted failed cancelled"
    pid = int(pid_file.read_text())
    assert eventually(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("empty", "output_empty"),
        ("space", "output_empty"),
        ("latin1", "output_not_utf8"),
        ("bom", "output_not_json"),
        ("text", "output_not_json"),
        ("array", "output_not_object"),
        ("two", "output_not_json"),
        ("logline", "output_not_json"),
        ("nan", "output_not_json"),
        ("inf", "output_not_json"),
        ("dup", "output_not_json"),
        ("surrogate", "output_not_json"),
    ],
)
def test_ab_output_001_to_014_bad_bytes_of_a_program_fail_the_call(
    open_runtime, shared, name, code
):
    """The call fails with the kind of fault, and nothing of the bytes is its output."""
    rt = open_runtime()
    path = shared / "abuse-cases" / "inputs" / "output" / f"{name}.bin"

    result = with_program(rt, f"cat {path}").call(PROGRAM)

    assert (result.status, result.failure.code, result.output) == ("failed", code, None)
    assert trail(rt, result.call_id) == ["accepted", "failed"]


def test_ab_output_016_an_output_that_breaks_its_schema_is_no_result(open_runtime):
    """The pointer and the rule are told, nothing is coerced, evidence keeps the bad object."""
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    rt = open_runtime()

    result = with_program(rt, 'echo "{\\"count\\":\\"3\\"}"', output_schema=schema).call(PROGRAM)

    assert (result.status, result.failure.code) == ("failed", "output_schema")
    assert result.output is None
    assert result.failure.details["errors"][0]["path"] == "/count"
    assert rt.evidence.read(result.call_id)[-1].payload == {"count": "3"}


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (float("nan"), "output_not_json"),
        ({1: 2}, "output_not_json"),
        ({"a": object()}, "output_not_json"),
        ("\ud800", "output_not_json"),
        (2**60, "output_not_json"),
        ("x" * 300_000, "output_too_large"),
    ],
    ids=["nan", "int-key", "object", "surrogate", "big-int", "too-large"],
)
def test_ab_output_009_to_014_values_of_a_function_are_held_to_the_same_rules(
    open_runtime, output, code
):
    """A function's answer is no less strict than a program's."""

    @holon.tool(effects={"none"}, output_schema={})
    def gives():  # type: ignore[no-untyped-def]
        return None

    class Gives:
        preview = staticmethod(lambda call: {})
        execute = staticmethod(lambda call: completed(output))

    rt = open_runtime(gives)
    tool = rt.tools.read("host.app/gives")
    rt._guard.catalogue.put(Entry(tool, Gives()))

    result = rt.session(principal="ann").call("host.app/gives")

    assert (result.status, result.failure.code) == ("failed", code)


@pytest.mark.parametrize(
    "name", ["remote_ref", "file_ref", "self_ref", "laughs", "typo", "dialect"]
)
def test_ab_schema_001_to_010_a_bad_schema_keeps_a_function_out(open_runtime, shared, name):
    """Registration is rejected with findings, and nothing can be called."""
    from support import shared_json

    schema = shared_json(f"abuse-cases/inputs/schema/{name}.json")
    schemas = schema if isinstance(schema, list) else [schema]
    rt = open_runtime()

    def bad(**arguments: Any) -> int:
        return 1

    for each in schemas:
        with pytest.raises(holon.Rejected) as caught:
            rt.register(bad, effects={"none"}, input_schema=each)
        assert caught.value.findings
    assert rt.session(principal="ann").call("host.app/bad").failure.code == "unknown_tool"


def test_ab_schema_004_deep_data_is_refused_and_shallow_data_validates(open_runtime, ran):
    """Without a recursion error, at the depth limit that the message names."""
    tree = {"type": "object", "properties": {"a": {"$ref": "#"}}}

    @holon.tool(effects={"none"}, input_schema=tree)
    def grow(a: Any = None) -> int:
        ran.append(1)
        return 1

    rt = open_runtime(grow)
    session = rt.session(principal="ann")
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"a": deep}
    shallow: dict[str, Any] = {}
    for _ in range(20):
        shallow = {"a": shallow}

    refused = session.call("host.app/grow", deep)

    assert (refused.status, refused.failure.code) == ("failed", "arguments_invalid")
    assert refused.failure.details["rule"] == "depth"
    assert session.call("host.app/grow", shallow).status == "completed"
    assert ran == [1]


def test_ab_schema_005_a_hostile_value_against_a_pattern_ends_soon(open_runtime):
    """Whatever the answer, the host's thread is not held for long."""

    @holon.tool(
        effects={"none"},
        input_schema={"type": "object", "properties": {"s": {"pattern": "^(a+)+$"}}},
    )
    def match(s: str = "") -> int:
        return 1

    rt = open_runtime(match)
    before = time.process_time()

    result = rt.session(principal="ann").call("host.app/match", {"s": "a" * 40 + "!"})

    assert result.status == "failed"
    assert time.process_time() - before < 5


def test_ab_schema_007_an_integer_written_as_1_0_reaches_the_tool_as_1(open_runtime, ran):
    """True and text do not."""

    @holon.tool(effects={"none"})
    def take(n: int) -> int:
        ran.append(repr(n))
        return n

    session = open_runtime(take).session(principal="ann")

    for text in ('{"n":1.0}', '{"n":1e0}', '{"n":1}'):
        assert session.call("host.app/take", text).status == "completed"
    for text in ('{"n":true}', '{"n":"1"}', '{"n":1.5}'):
        assert session.call("host.app/take", text).failure.code == "arguments_invalid"
    assert ran == ["1", "1", "1"]


def test_ab_schema_012_an_argument_that_no_schema_names_reaches_no_tool(open_runtime):
    """The door closes an object schema that says nothing of further properties."""
    rt = open_runtime()

    def one(a: int) -> int:
        return a

    tool = rt.register(
        one,
        effects={"none"},
        input_schema={
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a"],
        },
    )

    result = rt.session(principal="ann").call(tool.id, {"a": 1, "b": 2})

    assert result.failure.code == "arguments_invalid"
    assert "schema_closed" in {f.code for f in rt.tools.findings(tool.id)}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "format": "date-time"}, "x"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc\n"),
    ],
    ids=["ab_schema_008", "ab_schema_014"],
)
def test_ab_schema_008_and_014_formats_and_anchors_are_held_at_a_call(open_runtime, schema, value):
    """What the schema promises to check is checked."""

    @holon.tool(effects={"none"}, input_schema={"type": "object", "properties": {"s": schema}})
    def take(s: str = "") -> int:
        return 1

    result = open_runtime(take).session(principal="ann").call("host.app/take", {"s": value})

    assert (result.status, result.failure.code) == ("failed", "arguments_invalid")


def test_progress_of_a_call_names_it_and_a_listener_that_fails_is_dropped(open_runtime):
    """Reporting never fails a call."""
    heard = []

    def listener(report: Any) -> None:
        heard.append((report.call_id, report.stage, report.done, report.total))
        raise ValueError

    @holon.tool(effects={"none"})
    def works(call: holon.SealedCall) -> str:
        call.progress("copy", 1, 2)
        call.progress("copy", 2, 2)
        return call.artifact(b"result")

    rt = open_runtime(works, progress=listener)

    result = rt.session(principal="ann").call("host.app/works")

    assert heard == [(result.call_id, "copy", 1, 2)]
    assert rt._guard.store.read(lambda tables: tables.blob(result.output["result"])) == b"result"


def test_an_artifact_has_a_size_limit(open_runtime, monkeypatch):
    """A file larger than that fails the call."""
    from holon_core.guard import services

    monkeypatch.setattr(services, "MAX_BLOB_BYTES", 10)

    @holon.tool(effects={"none"})
    def works(call: holon.SealedCall) -> str:
        return call.artifact(b"x" * 11)

    result = open_runtime(works).session(principal="ann").call("host.app/works")

    assert result.failure.code == "tool_raised"
    assert "at most 10 bytes" in result.failure.message


def test_a_program_works_in_the_workspace_of_its_call(open_runtime, tmp_path):
    """And may be cut at a limit, given input, and read as it prints."""
    pieces: list[bytes] = []
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note").write_text("hello")

    @holon.tool(effects={"workspace_read"})
    def peek(call: holon.SealedCall) -> dict[str, Any]:
        outcome = call.run_process(
            ("/bin/sh", "-c", "cat note -; pwd"),
            stdin=b" world\n",
            env={"LC_ALL": "C"},
            timeout_s=20,
            max_stdout_bytes=1000,
            cut_at_limit=True,
            on_stdout=pieces.append,
        )
        return {"exit": outcome.exit_code, "posture": call.posture, "key": call.idempotency_key}

    rt = open_runtime(peek)
    session = rt.session(principal="ann", workspace=folder)

    result = session.call("host.app/peek", key="k")

    assert result.output == {"exit": 0, "posture": "host_function", "key": "k"}
    assert b"".join(pieces) == f"hello world\n{os.path.realpath(folder)}\n".encode()
