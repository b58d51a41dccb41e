"""The contract of tools that are programs: the abuse cases of the area output, and evidence."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holon_core._process_capture import Capture
from holon_core.process import ProcessCause, ProcessLimits, ProcessOutcome, ProcessSpec, run
from holon_core.records.failure import StructuredFailure
from holon_core.tool_contract import (
    contract_env,
    process_evidence,
    process_failure,
    read_output,
)

Make = Callable[..., ProcessSpec]
LIMITS = ProcessLimits(
    timeout_s=30.0,
    max_stdout_bytes=1 << 20,
    max_stderr_bytes=1 << 16,
    grace_s=0.5,
    at_stdout_limit="fail",
)
SECRET = b"s3cret-t0ken-0123456789"


def printed(data: bytes, *, max_bytes: int = 1 << 20) -> ProcessOutcome:
    """The outcome of a program that printed these bytes and exited with 0."""
    capture = Capture(head_max=max_bytes)
    capture.add(data)
    return ProcessOutcome(
        cause=ProcessCause.EXITED, limits=LIMITS, exit_code=0, stdout=capture.result()
    )


def redact(data: bytes) -> bytes:
    """Replace the secret of these tests."""
    return data.replace(SECRET, b"[redacted]")


@pytest.mark.parametrize(
    ("file", "code", "part"),
    [
        pytest.param("empty", "output_empty", "", id="AB-OUTPUT-001"),
        pytest.param("space", "output_empty", "", id="AB-OUTPUT-002"),
        pytest.param("latin1", "output_not_utf8", "byte 12", id="AB-OUTPUT-003"),
        pytest.param("bom", "output_not_json", "byte order mark", id="AB-OUTPUT-004"),
        pytest.param("text", "output_not_json", "byte 0", id="AB-OUTPUT-005"),
        pytest.param("array", "output_not_object", "an array", id="AB-OUTPUT-006"),
        pytest.param("two", "output_not_json", "exactly one", id="AB-OUTPUT-007"),
        pytest.param("logline", "output_not_json", "belong on stderr", id="AB-OUTPUT-008"),
        pytest.param("nan", "output_not_json", "", id="AB-OUTPUT-009"),
        pytest.param("inf", "output_not_json", "", id="AB-OUTPUT-010"),
        pytest.param("dup", "output_not_json", "amount", id="AB-OUTPUT-011"),
        pytest.param("surrogate", "output_not_json", "surrogate", id="AB-OUTPUT-014"),
    ],
)
def test_ab_output_001_to_014_what_is_not_one_object_is_refused(
    shared: Path, program: Make, file: str, code: str, part: str
) -> None:
    """The exact bytes of a real program are refused with their kind and a helpful message."""
    source = shared / "abuse-cases" / "inputs" / "output" / f"{file}.bin"

    outcome = run(program("/bin/cat", str(source)))

    refused = read_output(outcome)
    assert isinstance(refused, StructuredFailure)
    assert refused.code == code
    assert part in refused.message
    assert json.loads(json.dumps(refused.details)) == refused.details


def test_ab_output_003_bytes_that_are_no_text_are_shown_escaped(
    shared: Path, program: Make
) -> None:
    """Evidence shows the byte, and neither a guess nor a replacement character."""
    source = shared / "abuse-cases" / "inputs" / "output" / "latin1.bin"

    evidence = process_evidence(run(program("/bin/cat", str(source))), bytes)

    assert evidence["stdout"]["head"] == '{"name":"caf\\xe9"}'


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="AB-OUTPUT-012"),
        pytest.param(b'{"n":' + b"9" * 100_000 + b"}", id="AB-OUTPUT-013"),
    ],
)
def test_ab_output_012_and_013_what_is_too_deep_or_too_long_is_refused_soon(data: bytes) -> None:
    """No error of the interpreter escapes, and nothing is computed at length."""
    began = time.process_time()

    refused = read_output(printed(data))

    assert isinstance(refused, StructuredFailure)
    assert refused.code == "output_not_json"
    assert time.process_time() - began < 1


@pytest.mark.parametrize("before", ["", "  ", "\n"])
@pytest.mark.parametrize("after", ["", "\n", "\r\n", " \t"])
def test_ab_output_015_white_space_around_an_object_is_fine(before: str, after: str) -> None:
    """Programs end their output with a newline."""
    text = before + '{"ok":true,"count":3}' + after

    assert read_output(printed(text.encode())) == {"ok": True, "count": 3}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("[]", "an array"),
        ('"x"', "a string"),
        ("1", "a number"),
        ("1.5", "a number"),
        ("true", "a boolean"),
        ("null", "null"),
    ],
)
def test_a_value_that_is_no_object_is_named(data: str, kind: str) -> None:
    """The message says what came instead."""
    refused = read_output(printed(data.encode()))

    assert isinstance(refused, StructuredFailure)
    assert (refused.code, kind in refused.message) == ("output_not_object", True)


def test_output_that_was_cut_is_never_read_as_a_result(python: Make) -> None:
    """Not even where the part that was kept is an object."""
    spec = python("print('{}' + ' ' * 5000)", max_stdout_bytes=100, at_stdout_limit="cut")
    outcome = run(spec)

    assert process_failure(outcome) is None
    refused = read_output(outcome)
    assert isinstance(refused, StructuredFailure)
    assert refused.code == "output_too_large"


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        ("timeout", "timeout"),
        ("cancelled", "cancelled"),
        ("output_limit", "output_too_large"),
        ("signalled", "killed_by_signal"),
        ("spawn_failed", "spawn_failed"),
        ("exit_status_lost", "exit_status_lost"),
    ],
)
def test_every_cause_but_an_exit_is_a_failure_of_its_own(cause: str, code: str) -> None:
    """Whatever was printed and whatever the exit code was."""
    good = printed(b"{}").stdout
    outcome = ProcessOutcome(cause=ProcessCause(cause), limits=LIMITS, exit_code=0, stdout=good)

    refused = read_output(outcome)

    assert isinstance(refused, StructuredFailure)
    assert refused.code == code


def test_the_contract_passes_arguments_call_and_key() -> None:
    """The key only where there is one."""
    env = {"HOLON_INPUT_JSON": '{"é":1}', "HOLON_CALL_ID": "c1"}
    data = '{"é":1}'.encode()

    assert contract_env(data, call_id="c1") == env
    keyed = contract_env(data, call_id="c1", idempotency_key="k")
    assert keyed == {**env, "HOLON_IDEMPOTENCY_KEY": "k"}


def test_a_tool_works_end_to_end(python: Make) -> None:
    """Arguments in, one object out."""
    script = """
        import json, os
        given = json.loads(os.environ["HOLON_INPUT_JSON"])
        print(json.dumps({"sum": sum(given["numbers"]), "call": os.environ["HOLON_CALL_ID"]}))
    """
    env = contract_env(b'{"numbers":[1,2,3]}', call_id="c1")
    assert isinstance(env, dict)

    assert read_output(run(python(script, env=env))) == {"sum": 6, "call": "c1"}


def evidence_of(data: bytes, *, keep: int, preview: int = 64, margin: int = 32) -> dict[str, Any]:
    """The preview of a stderr of these bytes, kept up to ``keep`` bytes at each end."""
    capture = Capture(head_max=keep, tail_max=keep)
    for start in range(0, len(data), 7):
        capture.add(data[start : start + 7])
    outcome = ProcessOutcome(cause=ProcessCause.EXITED, limits=LIMITS, stderr=capture.result())
    evidence = process_evidence(outcome, redact, preview_bytes=preview, margin_bytes=margin)
    json.dumps(evidence, allow_nan=False)
    shown = evidence["stderr"]
    assert isinstance(shown, dict)
    return shown


@given(before=st.integers(0, 150), between=st.integers(0, 150), after=st.integers(0, 150))
@example(before=90, between=100, after=90)
@pytest.mark.parametrize("preview", [64, 200])
def test_no_preview_shows_any_part_of_a_secret(
    preview: int, before: int, between: int, after: int
) -> None:
    """Wherever the cuts of capture and preview fall, half a secret is not shown either."""
    data = b"-" * before + SECRET + b"-" * between + SECRET + b"-" * after

    shown = evidence_of(data, keep=100, preview=preview)

    pieces = {SECRET[at : at + 8].decode() for at in range(len(SECRET) - 7)}
    assert not any(piece in shown["head"] + "|" + shown["tail"] for piece in pieces)


@given(st.text(max_size=400))
def test_a_preview_never_splits_a_character(text: str) -> None:
    """Head and tail are cut between characters, so that no stray byte is shown."""
    data = text.encode()
    shown = evidence_of(data, keep=10_000)

    for part in (shown["head"], shown["tail"]):
        assert "\\x" not in part.replace("\\\\", "") or any(not c.isprintable() for c in text)
    assert shown["total_bytes"] == len(data)
    if len(data) <= 64:
        assert shown["truncated"] is False


@given(st.binary(max_size=2_000), st.integers(0, 300), st.integers(0, 300))
def test_a_capture_keeps_the_first_and_the_last_bytes(data: bytes, head: int, tail: int) -> None:
    """In pieces of any size; what is neither is counted and still part of the digest."""
    capture = Capture(head_max=head, tail_max=tail)
    handed_on = b"".join(capture.add(data[at : at + 37]) for at in range(0, len(data), 37))
    kept = capture.result()

    rest = data[head:]
    assert kept.head == handed_on == data[:head]
    assert kept.tail == (rest[-tail:] if tail else b"")
    assert kept.dropped_bytes == len(data) - len(kept.head) - len(kept.tail)
    assert kept.truncated is (kept.dropped_bytes > 0)


def test_a_short_stream_is_shown_whole() -> None:
    """Nothing is hidden where nothing was cut."""
    shown = evidence_of(b"hello\n", keep=100)

    assert (shown["head"], shown["tail"], shown["truncated"]) == ("hello\n", "", False)
    assert shown["dropped_bytes"] == 0


def test_a_long_stream_shows_its_two_ends() -> None:
    """The middle is left out, and the preview says so."""
    shown = evidence_of(b"A" * 64 + b"-" * 300 + b"Z" * 64, keep=1_000)

    assert (shown["head"], shown["tail"]) == ("A" * 64, "Z" * 64)
    assert shown["truncated"] is True


def test_invisible_characters_are_shown_as_what_they_are() -> None:
    """A terminal's commands and bidirectional marks do not act on whoever reads the evidence."""
    shown = evidence_of("a\x1b[2J\u202eb\r\x00\tc".encode(), keep=100)

    assert shown["head"] == "a\\x1b[2J\\u202eb\\r\\x00\tc"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_evidence_of_a_real_run_is_bounded_json(python: Make) -> None:
    """However much was printed."""
    outcome = run(python("import os; os.write(2, b'\\xff' * 1_000_000); print('x' * 1_000_000)"))

    text = json.dumps(process_evidence(outcome, redact), allow_nan=False)

    assert len(text) < 40_000
    assert outcome.cause is ProcessCause.EXITED
