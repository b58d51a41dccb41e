"""Abuse cases of outputs, processes and approvals, through the door, on active script tools."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import BOSS
from holon_core.runtime import Runtime
from holon_core.session import Session
from scripts import activate, script
from support import ABSENT, shared_folder, shared_json_lines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")

RUN = """
import json, os, sys
given = json.loads(os.environ["HOLON_INPUT_JSON"])
exec(given.get("code", "print('{}')"))
"""
SHORT = {"timeout_s": 1.0, "max_output_bytes": 65_536, "name": "short"}
OUTPUTS = [
    case
    for case in shared_json_lines("abuse-cases/cases.jsonl")
    if case["area"] == "output" and ("input" in case or "input_gen" in case)
]
Run = Callable[[str], holon.ToolResult]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One workspace: its tools are made once."""
    return tmp_path_factory.mktemp("abuse")


@pytest.fixture(scope="module")
def session(shared_runtime: Runtime, place: Path) -> Session:
    """Ann, in the workspace."""
    return shared_runtime.session(principal="ann", workspace=place)


@pytest.fixture(scope="module")
def tools(shared_runtime: Runtime, session: Session) -> dict[str, str]:
    """A tool that runs code, and one with short limits."""
    long = activate(shared_runtime, session, script(RUN))
    short = activate(shared_runtime, session, script(RUN, **SHORT))
    return {"long": long.id, "short": short.id}


@pytest.fixture
def run(session: Session, tools: dict[str, str]) -> Run:
    """Run code in a tool, whose circuit a good run has closed."""

    def run(code: str, which: str = "long") -> holon.ToolResult:
        assert session.call(tools[which], {}).output == {}
        return session.call(tools[which], {"code": code})

    return run


def code_of(result: holon.ToolResult) -> str | None:
    """Return why a call failed, or ``None``."""
    return None if result.failure is None else result.failure.code


@pytest.mark.parametrize("case", OUTPUTS or [None], ids=lambda c: c["id"] if c else "absent")
def test_an_output_is_one_object_or_refused(run: Run, case: dict[str, Any] | None) -> None:
    """AB-OUTPUT-001 to 015: what a script prints is taken strictly."""
    folder = shared_folder()
    if case is None or folder is None:
        pytest.skip(ABSENT)
    if "input" in case:
        body = repr((folder / "abuse-cases" / case["input"]).read_bytes())
    else:
        body = case["input_gen"]

    result = run(f"sys.stdout.buffer.write({body})")

    assert result.status.value == case["expect"]["status"]
    assert code_of(result) == case["expect"]["error"]


def test_ab_output_016_an_object_that_breaks_the_schema(
    shared_runtime: Runtime, session: Session
) -> None:
    """The pointer and the rule are told; nothing is coerced."""
    count = {"type": "object", "properties": {"count": {"type": "integer"}}}
    text = "import os, json\nn = json.loads(os.environ['HOLON_INPUT_JSON']).get('n', 1)\n"
    record = activate(
        shared_runtime,
        session,
        script(text + "print(json.dumps({'count': n}))", name="count", output_schema=count),
    )

    result = session.call(record.id, {"n": "3"})

    assert code_of(result) == "output_schema"
    assert result.failure is not None
    assert result.failure.details["errors"][0]["path"] == "/count"
    assert result.output is None


def test_ab_proc_001_a_grandchild_does_not_hold_the_call(run: Run) -> None:
    """The script's exit ends the call."""
    began = time.monotonic()

    result = run("os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '60'); print('{}')")

    assert result.output == {}
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (
            "AB-PROC-002",
            "import time; os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '60'); time.sleep(60)",
        ),
        ("AB-PROC-003", "import time\nif os.fork() == 0:\n    os.setsid()\ntime.sleep(60)"),
        ("AB-PROC-007", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"),
    ],
    ids=lambda value: value if value.startswith("AB-") else "",
)
def test_a_time_limit_ends_the_whole_tree(session: Session, run: Any, case: str, code: str) -> None:
    """Within limit and grace, whoever resists."""
    began = time.monotonic()

    result = run(code, "short")

    assert code_of(result) == "timeout", case
    assert time.monotonic() - began < 20


def test_ab_proc_004_endless_output_is_ended(run: Any) -> None:
    """At the output limit, long before the time limit."""
    result = run("while True: sys.stdout.write('x' * 4096)", "short")

    assert code_of(result) == "output_too_large"


def test_ab_proc_005_a_flood_of_diagnostics_is_no_failure(run: Run) -> None:
    """It is kept bounded; the answer counts."""
    result = run("sys.stderr.write('x' * 2_000_000); print('{}')")

    assert result.output == {}


def test_ab_proc_008_a_signal_is_no_success(run: Run) -> None:
    """Even with a valid object on stdout; the signal is named."""
    result = run("print('{}', flush=True); os.kill(os.getpid(), 11)")

    assert code_of(result) == "killed_by_signal"
    assert result.failure is not None
    assert result.failure.details["signal"] == "SIGSEGV"


def test_ab_proc_009_the_hosts_environment_stays_the_hosts(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An allow-list and what was declared."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret-of-the-host")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")

    result = run("print(json.dumps({'names': sorted(os.environ)}))")

    names = set(result.output["names"])
    assert {"HOLON_INPUT_JSON", "HOLON_CALL_ID", "PATH"} <= names
    assert not names & {"SHOP_TOKEN", "PYTHONPATH", "HOLON_WORKSPACE_ROOT"}


def test_ab_proc_010_only_three_descriptors_are_inherited(run: Run) -> None:
    """And that of the listing itself; the program is on standard input."""
    result = run("print(json.dumps({'fds': sorted(os.listdir('/proc/self/fd'), key=int)}))")

    assert result.output["fds"][:3] == ["0", "1", "2"]
    assert len(result.output["fds"]) == 4


def test_ab_proc_011_there_is_no_input_and_no_terminal(run: Run) -> None:
    """Standard input is at its end; the session is the script's own."""
    result = run(
        "said = sys.stdin.read()\n"
        "try: open('/dev/tty'); tty = True\n"
        "except OSError: tty = False\n"
        "print(json.dumps({'said': said, 'tty': tty}))"
    )

    assert result.output == {"said": "", "tty": False}


def test_ab_proc_013_input_that_does_not_fit_is_refused_before_launch(
    run: Run, session: Session, tools: dict[str, str], shared_runtime: Runtime
) -> None:
    """One variable carries 131,071 bytes with its name."""
    fits = 131_071 - len('HOLON_INPUT_JSON={"pad":""}')
    assert run("print('{}')").output == {}

    good = session.call(tools["long"], {"pad": "x" * fits})
    result = session.call(tools["long"], {"pad": "x" * (fits + 1)})

    assert good.output == {}
    assert code_of(result) == "input_too_large"
    closing = shared_runtime.evidence.read(result.call_id)[-1].body
    assert closing["started"] is False
    assert "holon-process" not in str(closing.get("from_tool"))


def test_ab_proc_014_a_cancelled_call_leaves_nothing_running(
    shared_runtime: Runtime, session: Session, tools: dict[str, str], place: Path
) -> None:
    """The record is closed as cancelled."""
    note = place / "pid"
    code = f"open({str(note)!r}, 'w').write(str(os.getpid())); import time; time.sleep(60)"

    async def main() -> None:
        task = asyncio.ensure_future(session.acall(tools["long"], {"code": code}))
        while not (note.exists() and note.read_text()):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert not Path(f"/proc/{note.read_text()}").exists()
    workspace = session.caller.workspace
    last = shared_runtime.evidence.list(workspace=workspace, newest=True, limit=1)[0]
    assert last.body["failure"]["code"] == "cancelled"


def test_ab_proc_015_an_exit_code_is_a_failure_whatever_is_printed(run: Run) -> None:
    """The object is not the result."""
    result = run("print('{}'); sys.exit(3)")

    assert code_of(result) == "tool_exit"
    assert result.failure is not None
    assert result.failure.details["exit_code"] == 3


@pytest.fixture(scope="module")
def writer(shared_runtime: Runtime, session: Session, place: Path) -> str:
    """A tool whose effects ask for an approval; each run leaves a line."""
    text = (
        "import os, json\n"
        "given = json.loads(os.environ['HOLON_INPUT_JSON'])\n"
        "where = os.path.join(os.environ['HOLON_WORKSPACE_ROOT'], 'lines')\n"
        "open(where, 'a').write('x')\n"
        "print(json.dumps({'given': given}))\n"
    )
    given = script(text, name="writer", effects=["workspace_write"])
    return str(activate(shared_runtime, session, given).id)


def runs(place: Path) -> int:
    """Count the live runs of the writer."""
    file = place / "lines"
    return len(file.read_text()) if file.exists() else 0


@pytest.mark.parametrize(
    "payloads",
    [
        ("AB-APPROVAL-001", {"path": "a", "text": "hello"}, {"path": "a", "text": "hello!"}),
        ("AB-APPROVAL-003", {"files": ["a", "b"]}, {"files": ["b", "a"]}),
        ("AB-APPROVAL-004", {"to": "caf\u00e9"}, {"to": "cafe\u0301"}),
        ("AB-APPROVAL-007", {"n": 1}, {"n": True}),
    ],
    ids=lambda payloads: payloads[0],
)
def test_another_payload_is_not_what_was_approved(
    shared_runtime: Runtime, session: Session, writer: str, place: Path, payloads: Any
) -> None:
    """It is held, nothing runs, and the approval stays for what it is of."""
    case, approved, sent = payloads
    held = session.call(writer, approved).held
    assert held is not None
    shared_runtime.approvals.approve(held, by=BOSS, reason="ok")
    before = runs(place)

    other = session.call(writer, sent)

    assert code_of(other) == "approval_mismatch", case
    assert runs(place) == before
    assert session.release(held).output == {"given": approved}
    assert runs(place) == before + 1


@pytest.mark.parametrize(
    "payloads",
    [
        ("AB-APPROVAL-002", {"a": 1, "b": {"x": 1, "y": 2}}, {"b": {"y": 2, "x": 1}, "a": 1}),
        ("AB-APPROVAL-005", {"m": 1}, {"m": 1.0}),
    ],
    ids=lambda payloads: payloads[0],
)
def test_the_same_payload_written_otherwise_is_the_same(
    shared_runtime: Runtime, session: Session, writer: str, payloads: Any
) -> None:
    """Normalised first, then fingerprinted."""
    case, approved, sent = payloads
    held = session.call(writer, approved).held
    assert held is not None
    shared_runtime.approvals.approve(held, by=BOSS, reason="ok")

    assert session.call(writer, sent).output == {"given": approved}, case


def test_ab_approval_008_an_approval_is_used_once(
    shared_runtime: Runtime, session: Session, writer: str, place: Path
) -> None:
    """The second call is held."""
    held = session.call(writer, {"once": 1}).held
    assert held is not None
    shared_runtime.approvals.approve(held, by=BOSS, reason="ok")
    assert session.release(held).failure is None
    before = runs(place)

    assert code_of(session.call(writer, {"once": 1})) == "approval_consumed"
    assert runs(place) == before


def test_ab_approval_012_an_approval_is_of_one_workspace(
    shared_runtime: Runtime, session: Session, writer: str, tmp_path: Path
) -> None:
    """And the tool runs in no other anyway."""
    held = session.call(writer, {"where": 1}).held
    assert held is not None
    shared_runtime.approvals.approve(held, by=BOSS, reason="ok")

    other = shared_runtime.session(principal="ann", workspace=tmp_path)

    assert code_of(other.call(writer, {"where": 1})) == "wrong_workspace"
    assert session.release(held).failure is None


def test_ab_approval_013_what_was_approved_is_a_snapshot(
    shared_runtime: Runtime, session: Session, writer: str
) -> None:
    """A caller's later change of its own object changes nothing."""
    given = {"list": ["a"]}
    held = session.call(writer, given).held
    assert held is not None
    given["list"].append("b")
    shared_runtime.approvals.approve(held, by=BOSS, reason="ok")

    assert session.release(held).output == {"given": {"list": ["a"]}}


def test_ab_approval_014_a_run_that_never_started_gives_its_approval_back(
    shared_runtime: Runtime, session: Session, writer: str
) -> None:
    """Input that does not fit is refused before launch."""
    held = session.call(writer, {"pad": "x" * 131_071}).held
    assert held is not None
    shared_runtime.approvals.approve(held, by=BOSS, reason="ok")

    assert code_of(session.release(held)) == "input_too_large"
    assert shared_runtime.approvals.read(held).uses_left == 1
