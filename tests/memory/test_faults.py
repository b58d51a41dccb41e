"""Every way in which the memory command can fail is a typed failure, and nothing half-written."""

from __future__ import annotations

import os
import sqlite3
import sys

import pytest

import holon_core as holon
from memory_lane import ADDED, FULL, HEALTH, SEARCH, WRITE, code_of, printing

WITHOUT_DATA = printing(None)


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
def test_a_command_that_misbehaves_is_a_typed_failure(opened, fake, write, body, code):
    """The call fails with a row of the table, with evidence of what the process did."""
    rt = opened(memory={"command": fake(f"{HEALTH}\n{body}")})

    result = write(rt, content="a note")

    assert result.status is holon.Status.FAILED
    assert code_of(result) == code
    assert len(result.evidence_refs) == 2


def test_a_flood_of_standard_error_does_no_harm(opened, fake, write):
    """AB-PROC-005: it is drained and bounded, and the answer counts."""
    body = f"{HEALTH}\nsys.stderr.write('x' * 5_000_000)\n{printing(ADDED)}"
    rt = opened(memory={"command": fake(body)})

    assert write(rt, content="a note").status is holon.Status.COMPLETED


def test_a_command_that_hangs_is_ended_by_the_time_limit(opened, fake, write):
    """A rule of the operator's lowers the limit; the whole group is gone."""
    rt = opened(memory={"command": fake(f"{HEALTH}\ntime.sleep(600)")}, **{"limits.timeout_s": 30})
    (rt_tool,) = [tool for tool in rt.tools.list() if tool.id == WRITE]
    assert rt_tool.limits.timeout_s == 30

    # The same through the lane's own runner, with less time.
    from pathlib import Path

    from holon_builtin_memory.answers import read
    from holon_builtin_memory.refusals import Refused
    from holon_core.process import ProcessSpec, run

    spec = ProcessSpec(
        argv=(*fake("time.sleep(600)"), "add"),
        cwd=Path(sys.executable).parent,
        timeout_s=0.3,
        max_stdout_bytes=1000,
        max_stderr_bytes=1000,
    )
    with pytest.raises(Refused) as refused:
        read(run(spec), "add")

    assert refused.value.problem.code == "timeout"


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
    assert result.failure.details["memory"]["code"] == "CLI-RUNTIME-FAILURE"
    assert file.read_bytes() == before


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
    assert len(session.call(SEARCH, {"query": "first"}).output["results"]) == 1
    kept = sum(each.failure is None for each in results)
    found = session.call(SEARCH, {"query": "x" * 900}).output["results"]
    assert found == []
    (file,) = (tmp_path / "root" / "plugins").rglob("memory.db")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (1 + kept,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


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

    assert code_of(write(rt, content="second")) == "killed_by_signal"
    session = rt.session(principal="ann", workspace=project)
    assert session.call(SEARCH, {"query": "second"}).output["results"] == []
    assert len(session.call(SEARCH, {"query": "first"}).output["results"]) == 1
