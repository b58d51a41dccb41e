"""The abuse cases of evidence, at the level of a governed call."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import approve, eventually, kinds, open_calls, started, trail

SECRET = "s3cr3t/Value+1="
FORMS = [
    SECRET,
    urllib.parse.quote(SECRET, safe=""),
    base64.b64encode(SECRET.encode()).decode(),
    base64.urlsafe_b64encode(SECRET.encode()).decode(),
    json.dumps(SECRET)[1:-1],
]


def everything(rt: holon.Runtime, result: holon.ToolResult) -> str:
    """Return all text that a reader can get of one call."""
    records = rt.evidence.read(result.call_id)
    return "\n".join(
        [repr(result), repr(records), *(repr(r.body) + repr(r.payload) for r in records)]
        + [r._repr_html_() for r in records]
    )


@pytest.fixture
def printing(monkeypatch) -> Any:
    """A tool that prints its secret in many shapes from a program, and says it in its output."""
    monkeypatch.setenv("PRINTED_SECRET", SECRET)

    @holon.tool(id="printing", effects={"none"}, secrets={"key": "env:PRINTED_SECRET"})
    def printing(call: holon.SealedCall, key: str, mode: str) -> dict[str, Any]:
        shapes = [*FORMS, SECRET[:7] + "\n" + SECRET[7:]]
        outcome = call.run_process(
            ("/bin/sh", "-c", "cat >&2; echo {}"), stdin="\n".join(shapes).encode()
        )
        assert outcome.exit_code == 0
        call.draft("tool", {"shapes": shapes})
        call.progress("working", message=key)
        if mode == "raise":
            raise ValueError(f"no luck with {key}")
        return {"shapes": shapes}

    return printing


@pytest.mark.parametrize("mode", ["return", "raise"])
def test_ab_evidence_001_a_secret_that_a_tool_prints_is_nowhere(open_runtime, printing, mode):
    """No listed form of it is in the result, the error, the records or what shows them."""
    heard = []
    rt = open_runtime(printing, progress=heard.append)

    result = rt.session(principal="ann").call("host.app/printing", {"mode": mode})

    assert result.status == ("completed" if mode == "return" else "failed")
    text = everything(rt, result) + repr(heard)
    assert "[redacted:key]" in text
    for form in [*FORMS, SECRET[:7], SECRET[7:]]:
        assert form not in text


def test_ab_evidence_001_a_secret_in_an_approval_is_nowhere(open_runtime, printing, write):
    """Once it is known, it is replaced in what people write and send as well."""
    rt = open_runtime(printing, write)
    session = rt.session(principal="ann")
    session.call("host.app/printing", {"mode": "return"})

    held = session.call("host.app/write", {"text": f"key {SECRET}"})
    rt.approvals.deny(held.held, by="boss", reason=f"do not send {SECRET}")

    records = rt.evidence.list(workspace=None, limit=100)
    assert SECRET not in "".join(repr(r) for r in records)


def test_ab_evidence_002_a_secret_over_a_chunk_border_is_not_readable(open_runtime, monkeypatch):
    """Nor the halves of one that lies across the cut of the preview."""
    monkeypatch.setenv("BORDER_SECRET", SECRET)

    @holon.tool(effects={"none"}, secrets={"key": "env:BORDER_SECRET"})
    def border(call: holon.SealedCall, key: str, before: int) -> int:
        script = "import os,sys,time;o=sys.stderr.buffer\n"
        script += f"o.write(b'x'*{before}+{SECRET[:7].encode()!r});o.flush();time.sleep(.02)\n"
        script += f"o.write({SECRET[7:].encode()!r}+b'y'*9000);print('{{}}')"
        import sys

        call.run_process((sys.executable, "-c", script))
        return 1

    rt = open_runtime(border)
    session = rt.session(principal="ann")
    for before in (0, 1020, 1024, 2040, 2044, 4090, 8185):
        result = session.call("host.app/border", {"before": before})
        text = everything(rt, result)
        assert result.status == "completed"
        assert SECRET[:7] not in text
        assert SECRET[7:] not in text


def test_ab_evidence_003_an_argument_cannot_forge_a_record(open_runtime, write, tmp_path):
    """Control characters are escaped wherever records are lines."""
    rt = open_runtime(write)
    session = rt.session(principal="ann")
    forged = "\n2030-01-01 APPROVED by admin\x1b[2K\u2028\x85\x7f"
    result = session.call("host.app/write", {"text": forged, forged: 1})
    session.call("host.app/none" + forged)

    rt.evidence.export(tmp_path / "bundle.jsonl", workspace=None)

    lines = (tmp_path / "bundle.jsonl").read_text().splitlines()
    # The end of the export itself is recorded after what it wrote.
    assert len(lines) == len(kinds(rt)[:-1]) + 2
    for line in lines:
        assert isinstance(json.loads(line), dict)
    previews = [r.preview for r in rt.evidence.list(workspace=None)]
    assert all(ord(c) >= 32 and c not in "\x7f\x85\u2028" for text in previews for c in text)
    assert result.held


@pytest.mark.parametrize("harm", ["change", "delete", "swap"])
def test_ab_evidence_004_an_altered_record_of_a_call_is_found(open_runtime, read, tmp_path, harm):
    """Verification names the first bad position, and reading goes on."""
    with open_runtime(read) as rt:
        for n in range(4):
            rt.session(principal="ann").call("host.app/read", {"n": n})
    statements = {
        "change": ["update evidence set body=replace(body, 'accepted', 'refused!') where seq=3"],
        "delete": ["delete from evidence where seq=3"],
        "swap": [
            "update evidence set seq=-3 where seq=3",
            "update evidence set seq=3 where seq=4",
            "update evidence set seq=4 where seq=-3",
        ],
    }
    connection = sqlite3.connect(tmp_path / "root" / "holon.db")
    with connection:
        for statement in statements[harm]:
            connection.execute(statement)
    connection.close()

    with open_runtime(read) as again:
        found = again.evidence.verify(None)
        states = [r.verified for r in again.evidence.records_with_state(workspace=None)]

    assert (found.consistent, found.bad_seq) == (False, 3)
    assert states[:2] == [True, True]
    assert set(states[2:]) == {False}


def fill(root: Path, pages_left: int = 0) -> Any:
    """Make a store full: it may not grow by more than some pages."""

    def limit(rt: holon.Runtime) -> None:
        writer = rt._guard.store._writer  # type: ignore[attr-defined]
        pages = writer.execute("pragma page_count").fetchone()[0]
        writer.execute(f"pragma max_page_count={pages + pages_left}")

    return limit


def test_ab_evidence_005_where_the_start_cannot_be_recorded_nothing_starts(open_runtime, tmp_path):
    """A full disk blocks the call before the tool."""
    ran = []

    @holon.tool(effects={"none"})
    def big(text: str) -> int:
        ran.append(1)
        return 1

    rt = open_runtime(big)
    fill(tmp_path)(rt)
    session = rt.session(principal="ann")

    results = [session.call("host.app/big", {"text": "x" * 50_000}) for _ in range(3)]

    assert {(r.status, r.failure.code) for r in results} == {("blocked", "evidence_unavailable")}
    assert results[0].failure.details["started"] is False
    assert ran == []
    assert open_calls(rt) == []


def test_ab_evidence_005_where_the_end_cannot_be_recorded_the_caller_hears_it(
    open_runtime, tmp_path, write, ran
):
    """The start stays, the answer is no silent success, the key is not free again."""

    @holon.tool(id="fills", effects={"machine_write"})
    def fills() -> str:
        fill(tmp_path)(rt)
        ran.append(1)
        return "x" * 200_000

    rt = open_runtime(fills)
    session = rt.session(principal="ann")
    pending = session.request_approval("host.app/fills").failure.details["pending"]
    approve(rt, pending)

    result = session.call("host.app/fills", key="k")

    assert (result.status, result.failure.code) == ("failed", "evidence_not_closed")
    assert result.failure.details["started"] is True
    assert ran == [1]
    assert trail(rt, result.call_id) == ["accepted"]
    assert rt.approvals.read(pending).state == "consumed"
    assert session.call("host.app/fills", key="k").failure.code in (
        "conflict",
        "evidence_unavailable",
    )
    rt._guard.store._writer.execute("pragma max_page_count=100000")  # type: ignore[attr-defined]
    rt.close()
    with open_runtime(fills) as again:
        assert trail(again, result.call_id) == ["accepted", "interrupted"]


DIES = """
import sys, time
import holon_core as holon

@holon.tool(effects={"none"})
def slow() -> int:
    print("inside", flush=True)
    time.sleep(60)
    return 1

rt = holon.Runtime.open(sys.argv[1], discover=False, tools=[slow])
rt.session(principal="ann").call("host.app/slow", key="k")
"""


def test_ab_evidence_006_a_call_cut_by_a_crash_is_closed_as_interrupted(tmp_path):
    """At the next open, once, neither as failed nor as completed, and nothing is retried."""
    root = tmp_path / "root"
    ran = []

    @holon.tool(effects={"none"})
    def slow() -> int:
        ran.append(1)
        return 1

    with started(DIES, str(root)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    for _ in range(2):
        with holon.Runtime.open(root, discover=False, tools=[slow]) as rt:
            records = rt.evidence.list(workspace=None)
            assert [r.kind for r in records[:2]] == ["accepted", "interrupted"]
            assert kinds(rt).count("interrupted") == 1
            assert records[1].body["accepted_seq"] == 1
            again = rt.session(principal="ann").call("host.app/slow", key="k")
            assert again.failure.code == "interrupted"
    assert ran == []


def test_ab_evidence_006_the_calls_of_a_living_runtime_are_left_alone(tmp_path):
    """Another process that opens the root marks nothing of a runtime that still runs."""
    root = tmp_path / "root"
    with started(DIES, str(root)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        with holon.Runtime.open(root, discover=False) as rt:
            assert kinds(rt) == ["accepted"]
            assert len(open_calls(rt)) == 1


def test_ab_evidence_007_the_previews_of_a_failed_program_say_that_they_are_cut(open_runtime):
    """Head and tail on character borders, the size and the digest of all that was read."""
    import hashlib
    import sys

    data = ("zwölf€😀" * 200_000).encode()

    @holon.tool(effects={"none"}, max_output_bytes=8 * 1024 * 1024)
    def prints(call: holon.SealedCall) -> int:
        from holon_core.tool_contract import read_output

        code = f"import sys;sys.stdout.buffer.write({'zwölf€😀'!r}.encode()*200000);sys.exit(3)"
        problem = read_output(call.run_process((sys.executable, "-c", code)))
        assert not isinstance(problem, dict)
        raise RuntimeError(problem.code)

    rt = open_runtime(prints)

    result = rt.session(principal="ann").call("host.app/prints")

    kept = rt.evidence.read(result.call_id)[-1].body["from_tool"][0]["data"]["stdout"]
    assert kept["truncated"] is True
    assert kept["total_bytes"] == len(data)
    assert kept["sha256"] == hashlib.sha256(data).hexdigest()
    assert data.decode().startswith(kept["head"])
    assert data.decode().endswith(kept["tail"])


WRITER = """
import sys
import holon_core as holon

@holon.tool(effects={"none"})
def read(n: int) -> int:
    return n

with holon.Runtime.open(sys.argv[1], discover=False, tools=[read]) as rt:
    session = rt.session(principal=sys.argv[2])
    codes = [session.call("host.app/read", {"n": n}).status.value for n in range(60)]
print('"' + ",".join(sorted(set(codes))) + '"')
"""


def test_ab_evidence_008_calls_of_eight_processes_make_one_unbroken_chain(tmp_path):
    """Every call completes, and no caller sees a locked database."""
    from door import answer_of

    root = tmp_path / "root"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: answer_of(WRITER, str(root), f"p{n}"), range(8)))

    assert answers == ["completed"] * 8
    with holon.Runtime.open(root, discover=False) as rt:
        found = rt.evidence.verify(None)
        assert (found.consistent, found.records) == (True, 8 * 60 * 2)
        assert open_calls(rt) == []


def test_ab_evidence_009_a_clock_set_back_changes_neither_order_nor_durations(open_runtime, clock):
    """Order is by position, durations by the monotonic clock, and the step is on record."""

    @holon.tool(effects={"none"})
    def back() -> int:
        clock.at -= 3600
        clock.passed += 2
        return 1

    rt = open_runtime(back)

    result = rt.session(principal="ann").call("host.app/back")

    accepted, completed = rt.evidence.read(result.call_id)
    assert (accepted.kind, completed.kind) == ("accepted", "completed")
    assert completed.created_at_unix_seconds == accepted.created_at_unix_seconds - 3600
    assert completed.body["duration_ms"] == 2000
    assert completed.body["clock_stepped_back_s"] == 3600
    assert rt.evidence.verify(None).consistent


def test_ab_evidence_010_a_tool_cannot_write_the_hosts_evidence(open_runtime):
    """What it calls evidence, approval, status or time is data under its own name."""
    claims = {
        "kind": "completed",
        "approval": "a1",
        "approved": True,
        "status": "completed",
        "at": 1,
        "call": "c1",
        "workspace": "w",
        "events": [{"kind": "approved"}],
        "evidence": [{"seq": 1}],
    }

    @holon.tool(effects={"none"})
    def claiming(call: holon.SealedCall) -> dict[str, Any]:
        call.draft("host", claims)
        call.draft("holon", {"kind": "approved"})
        return claims

    rt = open_runtime(claiming)

    result = rt.session(principal="ann").call("host.app/claiming")

    accepted, completed = rt.evidence.read(result.call_id)
    assert result.output == claims
    assert completed.payload == claims
    assert [each["source"] for each in completed.body["from_tool"]] == ["host", "holon"]
    assert completed.body["call"] == result.call_id
    assert completed.body["at"] == accepted.body["at"]
    assert not {"approval", "approved", "status", "events", "evidence"} & set(completed.body)
    assert kinds(rt) == ["accepted", "completed"]
    assert rt.approvals.list(state=None) == ()


def test_what_a_tool_wants_kept_is_bounded(open_runtime):
    """In size and number, and it cannot break the record."""

    @holon.tool(effects={"none"})
    def chatty(call: holon.SealedCall) -> int:
        call.draft("big", {"text": "x" * 100_000})
        call.draft("odd", {"object": object(), "nan": float("nan"), "big": 2**70, "s": "\ud800"})
        call.draft("list", [1])  # type: ignore[arg-type]
        for n in range(150):
            call.draft("many", {"n": n})
        return 1

    rt = open_runtime(chatty)

    result = rt.session(principal="ann").call("host.app/chatty")

    kept = rt.evidence.read(result.call_id)[-1].body["from_tool"]
    assert result.status == "completed"
    assert len(kept) == 100
    assert kept[0]["data"]["truncated"] is True
    assert kept[1]["data"]["object"] == "<object>"
    assert kept[2]["data"] == {}
    assert eventually(lambda: rt.evidence.verify(None).consistent)


def test_a_draft_that_contains_itself_is_refused_where_it_is_given(open_runtime):
    """It cannot be kept, so the tool hears of it; nothing is left open."""

    @holon.tool(effects={"none"})
    def circular(call: holon.SealedCall) -> int:
        circle: dict[str, Any] = {}
        circle["self"] = circle
        call.draft("odd", circle)
        return 1

    rt = open_runtime(circular)

    result = rt.session(principal="ann").call("host.app/circular")

    assert (result.status, result.failure.code) == ("failed", "tool_raised")
    assert trail(rt, result.call_id) == ["accepted", "failed"]
