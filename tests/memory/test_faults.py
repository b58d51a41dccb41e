"""Every way in which the memory command can fail is a typed failure, and nothing half-written."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import holon_core as holon
from memory_lane import ADDED, FULL, HEALTH, SEARCH, code_of, printing

WITHOUT_DATA = printing(None)


def assert_evidence_of_the_run(rt, result):
    """Exit code, duration and bounded previews of the last run are kept, and the failure."""
    last = rt.evidence.read(result.call_id)[-1].body
    (run,) = [each["data"] for each in last["from_tool"] if each["source"] == "holon-process"][-1:]

    assert len(result.evidence_refs) == 2
    assert (last["kind"], last["failure"]["code"]) == ("failed", result.failure.code)
    assert run["duration_ms"] >= 0
    assert "exit_code" in run
    for stream in ("stdout", "stderr"):
        shown = run[stream]["head"] + run[stream]["tail"]
        assert len(shown) <= 8192
        assert run[stream]["truncated"] == (run[stream]["total_bytes"] > len(shown.encode()))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (f"{printing(ADDED)}\nsys.exit(3)", "tool_exit"),
        (f"{printing(ADDED)}\nos.kill(os.getpid(), 11)", "killed_by_signal"),
        ("pass", "output_empty"),
        ("sys.stdout.buffer.write(bytes([0xff, 0xfe]))", "output_not_utf8"),
        ("print(' \\n')", "output_empty"),
        ("print('\\ufeff{}')", "output_not_json"),
        ("print('hello')", "output_not_json"),
        ("print('note: starting\\n{}')", "output_not_json"),
        ("print('{\"a\": NaN}')", "output_not_json"),
        ("print('{\"a\": 1e400}')", "output_not_json"),
        ('print(\'{"a": 1, "a": 2}\')', "output_not_json"),
        ("print('[' * 100_000 + ']' * 100_000)", "output_not_json"),
        ("print('{\"a\": ' + '9' * 100_000 + '}')", "output_not_json"),
        ('print(\'{"a": "\\\\ud800"}\')', "output_not_json"),
        ("print('{}{}')", "output_not_json"),
        ("print('[]')", "output_not_object"),
        ("print('{}')", "output_schema"),
        (printing(ADDED, schemaVersion="elegy.cli/v2"), "output_schema"),
        (printing(ADDED, status="fine"), "output_schema"),
        (printing({**ADDED, "action": "kept"}), "output_schema"),
        (printing({**ADDED, "memory": {**FULL, "id": 7}}), "output_schema"),
        (printing({"action": "added"}), "output_schema"),
        (WITHOUT_DATA, "output_schema"),
        ("sys.stdout.write('x' * 20_000_000)", "output_too_large"),
        (
            printing({**ADDED, "action": "rejected", "gateResult": "in a higher scope"}),
            "tool_failed",
        ),
    ],
    ids=[
        "AB-PROC-015",
        "AB-PROC-008",
        "AB-OUTPUT-001",
        "AB-OUTPUT-003",
        "AB-OUTPUT-002",
        "AB-OUTPUT-004",
        "AB-OUTPUT-005",
        "AB-OUTPUT-008",
        "AB-OUTPUT-009",
        "AB-OUTPUT-010",
        "AB-OUTPUT-011",
        "AB-OUTPUT-012",
        "AB-OUTPUT-013",
        "AB-OUTPUT-014",
        "AB-OUTPUT-007",
        "AB-OUTPUT-006",
        "not-the-envelope",
        "other-version",
        "no-status",
        "unknown-action",
        "AB-OUTPUT-016",
        "half-an-answer",
        "no-data",
        "AB-PROC-004",
        "gate-rejects",
    ],
)
def test_a_command_that_misbehaves_is_a_typed_failure(opened, fake, write, *, tmp_path, body, code):
    """A row of the table, evidence of what the process did, and nothing of it in the store."""
    rt = opened(memory={"command": fake(f"{HEALTH}\n{body}")})

    result = write(rt, content="a note")

    assert result.status is holon.Status.FAILED
    assert code_of(result) == code
    assert_evidence_of_the_run(rt, result)
    assert list((tmp_path / "root").rglob("memory.db*")) == []


def test_a_flood_of_standard_error_does_no_harm(opened, fake, write):
    """AB-PROC-005: it is drained and bounded, and the answer counts."""
    body = f"{HEALTH}\nsys.stderr.write('x' * 5_000_000)\n{printing(ADDED)}"
    rt = opened(memory={"command": fake(body)})

    assert write(rt, content="a note").status is holon.Status.COMPLETED


def test_a_command_that_hangs_is_ended_by_the_time_limit(opened, fake, write, project, tmp_path):
    """A workspace lowers the limit; the process is gone, and the evidence says so."""
    limits = "[tool.holon.limits]\ntimeout_s = 1\n"
    (project / "pyproject.toml").write_text(limits, encoding="utf-8")
    place = tmp_path / "pid"
    hanging = f"open({str(place)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    rt = opened(memory={"command": fake(f"{HEALTH}\n{hanging}")})

    result = write(rt, content="a note")

    assert code_of(result) == "timeout"
    assert_evidence_of_the_run(rt, result)
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)


@pytest.mark.parametrize(
    "command", ["no-such-memory-command", ["no-such-memory-command", "x"], 7, [], ["", "x"]]
)
def test_a_missing_command_blocks_and_gives_the_approval_back(opened, write, command):
    """AB-PROC-012: nothing ran, so the approval serves once the command is there."""
    rt = opened(memory={"command": command} if command != 7 else {"command": 7})

    result = write(rt, content="a note")

    assert result.status is holon.Status.BLOCKED
    assert code_of(result) == "dependency_missing"
    assert "holon.toml" in result.failure.message
    trail = [each.body for each in rt.evidence.read(result.call_id)]
    assert [each["kind"] for each in trail] == ["held", "approved", "accepted", "blocked"]
    assert trail[-1]["failure"]["code"] == "dependency_missing"
    assert trail[-1].get("from_tool", []) == []
    assert [each.state.value for each in rt.approvals.list(state=None)] == ["approved"]


def test_a_failure_of_the_store_says_what_the_command_said(rt, write, tmp_path):
    """A corrupted file is left as it is, and named by what SQLite says of it."""
    write(rt, content="first")
    (file,) = (tmp_path / "root" / "plugins").rglob("memory.db")
    for each in file.parent.iterdir():
        each.unlink()
    file.write_bytes(b"no database at all, and longer than a header is" * 100)
    before = file.read_bytes()

    result = write(rt, content="second")

    assert code_of(result) == "tool_failed"
    assert_evidence_of_the_run(rt, result)
    assert result.failure.details["memory"]["code"] == "CLI-RUNTIME-FAILURE"
    assert file.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="no such pipes there")
def test_a_pipe_in_place_of_the_store_is_a_failure_and_not_waited_for(rt, write, tmp_path):
    """Whoever opened it for writing would wait for a reader for ever."""
    write(rt, content="first")
    (file,) = (tmp_path / "root" / "plugins").rglob("memory.db")
    for each in file.parent.iterdir():
        each.unlink()
    os.mkfifo(file)

    result = write(rt, content="second")

    assert code_of(result) == "tool_failed"
    assert_evidence_of_the_run(rt, result)


def test_a_locked_store_is_waited_for_and_then_a_failure(rt, write, project, tmp_path):
    """The command waits 5 s for a writer; nothing is written behind its back."""
    write(rt, content="first")
    (file,) = (tmp_path / "root" / "plugins").rglob("memory.db")
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        result = write(rt, content="second")
    finally:
        holder.execute("ROLLBACK")
        holder.close()

    assert code_of(result) == "tool_failed"
    assert "locked" in result.failure.message
    assert_evidence_of_the_run(rt, result)
    session = rt.session(principal="ann", workspace=project)
    assert session.call(SEARCH, {"query": "second"}).output["results"] == []


def test_a_full_disk_leaves_the_store_as_it_was(opened, fake, write, project, tmp_path):
    """SQLite's page limit stands for the disk; what was there is found afterwards."""
    roomy = opened()
    write(roomy, content="first")
    roomy.close()
    tight = (
        "os.environ['ELEGY_MEMORY_MAX_PAGES'] = '30'\n"
        "from elegy_memory.cli import main\nsys.exit(main(words))"
    )
    rt = opened(memory={"command": fake(tight)})

    results = [write(rt, content=f"{number} " + "x" * 7900) for number in range(6)]
    failed = [each for each in results if each.failure is not None]
    session = rt.session(principal="ann", workspace=project)

    assert failed
    assert {code_of(each) for each in failed} == {"tool_failed"}
    assert all("full" in each.failure.message for each in failed)
    for each in failed:
        assert_evidence_of_the_run(rt, each)
    assert len(session.call(SEARCH, {"query": "first"}).output["results"]) == 1
    kept = sum(each.failure is None for each in results)
    found = session.call(SEARCH, {"query": "x" * 900}).output["results"]
    assert found == []
    (file,) = (tmp_path / "root" / "plugins").rglob("memory.db")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (1 + kept,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path], None]]:
    """Put a folder, with what is in it, on a file system of 160 KB."""
    with ExitStack() as stack:

        def put(folder: Path) -> None:
            held = {each.name: each.read_bytes() for each in folder.iterdir()}
            mount = ["mount", "-t", "tmpfs", "-o", "size=160k,mode=0700", "none", str(folder)]
            try:
                done = subprocess.run(mount, check=False, capture_output=True)
            except OSError:
                pytest.skip("mounting is not allowed here")
            if done.returncode:
                pytest.skip("mounting is not allowed here")
            stack.callback(subprocess.run, ["umount", "-l", str(folder)], check=True)
            for name, data in held.items():
                (folder / name).write_bytes(data)

        yield put


def test_a_disk_that_is_full_fails_the_write_and_keeps_what_was_there(
    opened, write, project, tmp_path, small_disk
):
    """A real file system without room: typed, in evidence, nothing half-written."""
    first = opened()
    write(first, content="first")
    first.close()
    (file,) = (tmp_path / "root" / "plugins").rglob("memory.db")
    small_disk(file.parent)
    rt = opened()

    results = [write(rt, content=f"{number} " + "x" * 7900) for number in range(12)]
    failed = [each for each in results if each.failure is not None]

    assert failed
    for each in failed:
        assert code_of(each) == "tool_failed"
        assert_evidence_of_the_run(rt, each)
    kept = len(results) - len(failed)
    rt.close()
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (1 + kept,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_that_is_damaged_inside_is_a_failure_and_left_alone(rt, write, project, tmp_path):
    """A sound header before pages of rubbish: search and write fail alike, and change nothing."""
    write(rt, content="first")
    (file,) = (tmp_path / "root" / "plugins").rglob("memory.db")
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = file.read_bytes()
    damaged = data[:100] + b"\xa5" * (len(data) - 100)
    file.write_bytes(damaged)

    session = rt.session(principal="ann", workspace=project)
    results = [write(rt, content="second"), session.call(SEARCH, {"query": "first"})]

    assert {code_of(each) for each in results} == {"tool_failed"}
    assert all("malformed" in each.failure.message for each in results)
    for each in results:
        assert_evidence_of_the_run(rt, each)
    assert file.read_bytes() == damaged


@pytest.mark.skipif(os.name == "nt", reason="no such limit there")
def test_a_file_that_may_not_grow_leaves_the_store_as_it_was(opened, fake, write, project):
    """The operating system's own limit, met in the middle of a write."""
    first = opened()
    write(first, content="first")
    first.close()
    limited = (
        "import resource\n"
        "if words[0] == 'add':\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from elegy_memory.cli import main\nsys.exit(main(words))"
    )
    rt = opened(memory={"command": fake(limited)})

    result = write(rt, content="second " + "x" * 7000)
    session = rt.session(principal="ann", workspace=project)

    assert code_of(result) == "tool_failed"
    assert_evidence_of_the_run(rt, result)
    assert session.call(SEARCH, {"query": "second"}).output["results"] == []
    assert len(session.call(SEARCH, {"query": "first"}).output["results"]) == 1


def test_an_export_that_cannot_be_written_leaves_no_part_of_it(opened, fake, project, tmp_path):
    """Neither at its place nor beside the store."""
    broken = (
        "if words[0] == 'export':\n"
        "    open(words[-1].split('=', 1)[1], 'w').write('{\"memories\": [')\n"
        f"{HEALTH}\n{printing({'outputPath': 'x', 'memoryCount': 1})}"
    )
    rt = opened(memory={"command": fake(broken)})
    caller = rt.session(principal="ann", workspace=project).caller

    with pytest.raises(holon.Refused) as refused:
        rt.dispatch(
            "memory/export",
            {"output": str(tmp_path / "out.jsonl")},
            caller=caller,
            authorities=holon.Authority,
        )

    assert refused.value.failure.code == "output_schema"
    assert list(tmp_path.rglob("*export-*")) + list(tmp_path.rglob("*out.jsonl*")) == []


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_a_command_that_dies_while_writing_leaves_a_sound_store(opened, fake, write, project):
    """Killed between the insert and the commit: nothing of it is there, the rest is."""
    first = opened()
    write(first, content="first")
    first.close()
    dying = (
        "import elegy_memory.rows as rows\n"
        "whole = rows.insert\n"
        "def insert(connection, row):\n"
        "    whole(connection, row)\n"
        "    os.kill(os.getpid(), 9)\n"
        "if words[0] == 'add':\n"
        "    rows.insert = insert\n"
        "from elegy_memory.cli import main\nsys.exit(main(words))"
    )
    rt = opened(memory={"command": fake(dying)})

    killed = write(rt, content="second")
    assert code_of(killed) == "killed_by_signal"
    assert_evidence_of_the_run(rt, killed)
    session = rt.session(principal="ann", workspace=project)
    assert session.call(SEARCH, {"query": "second"}).output["results"] == []
    assert len(session.call(SEARCH, {"query": "first"}).output["results"]) == 1
