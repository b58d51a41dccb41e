"""The JSON-lines sink: one record is one line, always."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.records.evidence import EvidenceRecord
from holon_core.sinks.jsonl import JsonLinesSink


def record(seq: int = 1, text: str = "hello", **fields: Any) -> EvidenceRecord:
    return EvidenceRecord(
        **{
            "chain": "w",
            "seq": seq,
            "call_id": "c",
            "kind": "completed",
            "created_at_unix_seconds": 7,
            "body": {"text": text},
            "hash": "ab",
            **fields,
        }
    )


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_each_record_is_one_line(tmp_path: Path) -> None:
    """In order, batch after batch, and nothing else in the file."""
    sink = JsonLinesSink(tmp_path / "evidence.jsonl")

    sink.write([record(1), record(2)])
    sink.write([record(3, "wärts")])
    sink.close()

    assert [line["seq"] for line in lines(sink.path)] == [1, 2, 3]
    assert lines(sink.path)[2] == {
        "chain": "w",
        "seq": 3,
        "call_id": "c",
        "kind": "completed",
        "created_at_unix_seconds": 7,
        "hash": "ab",
        "body": {"text": "wärts"},
    }
    assert "wärts" in sink.path.read_text(encoding="utf-8")


@given(text=st.text(st.characters()), key=st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_makes_a_second_line(
    tmp_path_factory: pytest.TempPathFactory, text: str, key: str
) -> None:
    """AB-EVIDENCE-003: whatever arguments and names hold, and whichever reader splits lines."""
    sink = JsonLinesSink(tmp_path_factory.mktemp("sink") / "evidence.jsonl")

    sink.write([record(1, text, body={key: text}), record(2)])

    written = sink.path.read_bytes().decode()
    assert len(written.splitlines()) == 2
    assert not [c for c in written if c != "\n" and not c.isprintable() and c not in text + key]
    assert lines(sink.path)[0]["body"] == {key: text}


def test_a_forged_line_stays_inside_its_record(tmp_path: Path) -> None:
    """AB-EVIDENCE-003: the case's own text."""
    forged = "\n2030-01-01 APPROVED by admin\x1b[2K\x85\u2028\u2029\x7f\u202e"
    sink = JsonLinesSink(tmp_path / "evidence.jsonl")

    sink.write([record(1, forged)])

    written = sink.path.read_text(encoding="utf-8")
    assert written.count("\n") == len(written.splitlines()) == 1
    assert not set(written[:-1]) & set("\n\x1b\x85\u2028\u2029\x7f\u202e")
    assert lines(sink.path)[0]["body"]["text"] == forged


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    """Evidence holds what people did."""
    sink = JsonLinesSink(tmp_path / "evidence.jsonl", fsync=True)

    sink.write([record()])

    assert stat.S_IMODE(sink.path.stat().st_mode) == 0o600


def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path) -> None:
    """Rotation needs no signal."""
    sink = JsonLinesSink(tmp_path / "evidence.jsonl")
    sink.write([record(1)])
    sink.path.rename(tmp_path / "old.jsonl")

    sink.write([record(2)])

    assert [line["seq"] for line in lines(sink.path)] == [2]
    assert [line["seq"] for line in lines(tmp_path / "old.jsonl")] == [1]


def test_a_line_that_a_crash_left_unfinished_spoils_no_other(tmp_path: Path) -> None:
    """The next record begins on a line of its own."""
    sink = JsonLinesSink(tmp_path / "evidence.jsonl")
    sink.path.write_text('{"seq":1,"bo')

    sink.write([record(1)])

    torn, whole = sink.path.read_text().splitlines()
    assert torn == '{"seq":1,"bo'
    assert json.loads(whole)["seq"] == 1


def test_payloads_are_written_only_where_they_are_asked_for(tmp_path: Path) -> None:
    """A payload that is erased from the store would stay in the file."""
    plain = JsonLinesSink(tmp_path / "plain.jsonl")
    full = JsonLinesSink(tmp_path / "full.jsonl", include_payloads=True)

    for sink in (plain, full):
        sink.write([record(1, payload={"a": 1}), record(2)])

    assert [line.get("payload") for line in lines(plain.path)] == [None, None]
    assert [line.get("payload") for line in lines(full.path)] == [{"a": 1}, None]


@contextmanager
def pipe(path: Path) -> Iterator[None]:
    os.mkfifo(path)
    yield


def test_what_is_no_file_is_refused_and_nothing_waits(tmp_path: Path) -> None:
    """A pipe that nobody reads would hold up all sinks."""
    sink = JsonLinesSink(tmp_path / "pipe")
    os.mkfifo(sink.path)

    with pytest.raises(OSError, match="regular file"):
        sink.write([record()])


def test_an_absent_folder_is_the_sinks_failure(tmp_path: Path) -> None:
    """It is not made: it may be a disk that is not mounted."""
    with pytest.raises(FileNotFoundError):
        JsonLinesSink(tmp_path / "absent" / "evidence.jsonl").write([record()])


def test_what_the_system_writes_in_parts_is_whole(tmp_path: Path) -> None:
    """A batch of several megabytes."""
    sink = JsonLinesSink(tmp_path / "evidence.jsonl")

    sink.write([record(i, "x" * 100_000) for i in range(40)])

    assert [line["seq"] for line in lines(sink.path)] == list(range(40))
