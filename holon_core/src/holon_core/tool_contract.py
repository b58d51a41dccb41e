"""The contract of tools that are programs: arguments in the environment, one object on stdout."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from holon_core._process_tree import CALL_ID
from holon_core.errors import JsonRefused
from holon_core.process import Captured, ProcessCause, ProcessOutcome
from holon_core.records.failure import StructuredFailure, failure
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.wire.json_types import JsonValue

INPUT_JSON = "HOLON_INPUT_JSON"
IDEMPOTENCY_KEY = "HOLON_IDEMPOTENCY_KEY"
# Linux counts a variable with its name and "="; Windows takes 32,767 characters with the NUL.
VARIABLE_MAX_BYTES = 131_071 if sys.platform != "win32" else 32_766
INPUT_MAX_BYTES = VARIABLE_MAX_BYTES - len(INPUT_JSON) - len("=")
PREVIEW_BYTES = 2_048
MARGIN_BYTES = 4_096
_HINT = "; print exactly one JSON object on stdout, diagnostics belong on stderr"
_TYPES = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


def contract_env(
    arguments_json: bytes, *, call_id: str, idempotency_key: str | None = None
) -> dict[str, str] | StructuredFailure:
    """Make the variables through which a tool gets its arguments and the names of its call.

    Args:
        arguments_json: The normalised arguments as UTF-8 JSON text, up to ``INPUT_MAX_BYTES``:
            131,054, so that name, "=" and value are at most 131,071 bytes.
        call_id: The call's id, by which the runner also finds what the tool left behind.
        idempotency_key: Passed on for tools that can use it.

    Returns:
        Variables for ``ProcessSpec.env``, or the failure ``input_too_large``; never cut input.

    Source: design, section 4, step 9; Linux ``MAX_ARG_STRLEN``.
    """
    size = len(arguments_json)
    if size > INPUT_MAX_BYTES:
        text = f"the arguments are {size} bytes of JSON; {INPUT_JSON} carries {INPUT_MAX_BYTES}"
        return failure("input_too_large", text, size_bytes=size, limit_bytes=INPUT_MAX_BYTES)
    # Decoded as the environment will be encoded: the tool gets these bytes in any locale.
    env = {INPUT_JSON: os.fsdecode(arguments_json), CALL_ID: call_id}
    return env if idempotency_key is None else {**env, IDEMPOTENCY_KEY: idempotency_key}


def process_failure(outcome: ProcessOutcome) -> StructuredFailure | None:
    """Say how a process failed, or None where it exited with 0 (or was cut as it was meant to).

    Returns:
        ``timeout``, ``cancelled``, ``output_too_large``, ``spawn_failed``, ``killed_by_signal``,
        ``exit_status_lost``, ``tool_exit``, or None.
    """
    limits, took = outcome.limits, _milliseconds(outcome.duration_s)
    if outcome.cause is ProcessCause.TIMEOUT:
        text = f"ended by the time limit of {limits.timeout_s:g} s"
        return failure("timeout", text, limit_s=limits.timeout_s, duration_ms=took)
    if outcome.cause is ProcessCause.CANCELLED:
        return failure("cancelled", None, duration_ms=took)
    if outcome.cause is ProcessCause.OUTPUT_LIMIT:
        return None if limits.at_stdout_limit == "cut" else _too_large(limits.max_stdout_bytes)
    if outcome.cause is ProcessCause.SPAWN_FAILED:
        return failure("spawn_failed", f"the program never started: {outcome.reason}")
    if outcome.cause is ProcessCause.SIGNALLED:
        text = f"the program was ended by {outcome.signal}"
        return failure("killed_by_signal", text, signal=outcome.signal)
    if outcome.cause is ProcessCause.EXIT_STATUS_LOST:
        return failure("exit_status_lost")
    if outcome.exit_code:
        text = f"the program exited with {outcome.exit_code}"
        return failure("tool_exit", text, exit_code=outcome.exit_code)
    return None


def read_output(outcome: ProcessOutcome) -> dict[str, JsonValue] | StructuredFailure:
    """Take the one JSON object that a tool has to print on stdout, white space around it aside.

    Returns:
        The object; or what ``process_failure`` says, whatever was printed; or ``output_empty``,
        ``output_not_utf8``, ``output_not_json`` (details: ``rule``, and ``offset`` in bytes or
        ``path``), ``output_not_object``; ``output_too_large`` for output that was cut.
    """
    failed = process_failure(outcome)
    if failed is not None:
        return failed
    limit = outcome.limits.max_stdout_bytes
    if outcome.stdout.truncated:
        return _too_large(limit)
    try:
        value = parse(outcome.stdout.head, max_bytes=limit)
    except JsonRefused as refusal:
        return _unreadable(refusal)
    if isinstance(value, dict):
        return value
    kind = _TYPES.get(type(value), "a number")
    return failure("output_not_object", f"the output is {kind}, not an object")


def _too_large(limit_bytes: int) -> StructuredFailure:
    text = f"more than {limit_bytes} bytes on stdout"
    return failure("output_too_large", text, limit_bytes=limit_bytes)


def _unreadable(refusal: JsonRefused) -> StructuredFailure:
    details: dict[str, Any] = {"rule": refusal.rule}
    if refusal.path:
        details["path"] = refusal.path
    if refusal.offset is not None:
        details["offset"] = refusal.offset
    if refusal.rule == "empty":
        return failure("output_empty")
    if refusal.rule == "not_utf8":
        return failure("output_not_utf8", f"the output is not UTF-8{_at(refusal)}", **details)
    hint = _HINT if refusal.rule in ("syntax", "trailing") else ""
    text = f"the output is refused: {refusal.message}{_at(refusal)}{hint}"
    return failure("output_not_json", text, **details)


def _at(refusal: JsonRefused) -> str:
    if refusal.offset is not None:
        return f" (byte {refusal.offset})"
    return f" (at {refusal.path})" if refusal.path else ""


def process_evidence(
    outcome: ProcessOutcome,
    redact: Callable[[bytes], bytes],
    *,
    preview_bytes: int = PREVIEW_BYTES,
    margin_bytes: int = MARGIN_BYTES,
) -> dict[str, Any]:
    """Describe a run for the evidence: JSON, bounded, redacted.

    Args:
        outcome: The run.
        redact: Replaces secret values in raw bytes. It sees everything that was kept of a
            stream, before anything is cut or escaped.
        preview_bytes: Most bytes of redacted output shown of the start of a stream, and again
            of its end where that was kept apart.
        margin_bytes: At least the size of the longest secret. So much beside a place where
            bytes were dropped is never shown: half a secret there is not recognised.

    Returns:
        How it ended, its limits, and a preview of each stream with the whole size and digest.
    """
    shown = {
        name: _preview(stream, redact, preview_bytes, margin_bytes)
        for name, stream in (("stdout", outcome.stdout), ("stderr", outcome.stderr))
    }
    limits = outcome.limits
    return {
        "cause": str(outcome.cause),
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "stopped_by": outcome.stopped_by,
        "duration_ms": _milliseconds(outcome.duration_s),
        "limits": {
            "timeout_ms": _milliseconds(limits.timeout_s),
            "max_stdout_bytes": limits.max_stdout_bytes,
            "max_stderr_bytes": limits.max_stderr_bytes,
        },
        **shown,
        "descendants_killed": outcome.descendants_killed,
        "descendant_may_survive": outcome.descendant_may_survive,
        "reason": outcome.reason,
    }


def _preview(
    stream: Captured, redact: Callable[[bytes], bytes], limit: int, margin: int
) -> dict[str, Any]:
    if stream.dropped_bytes:
        head, tail = _shortened(redact(stream.head), margin), redact(stream.tail)[margin:]
    else:
        # Without a gap the two are one text, and a secret may lie across them.
        text = redact(stream.head + stream.tail)
        cut = _boundary_before(text, limit)
        head, tail = text[:cut], text[cut:]
    end, start = _boundary_before(head, limit), _boundary_after(tail, max(0, len(tail) - limit))
    return {
        "head": _escaped(head[:end]),
        "tail": _escaped(tail[start:]),
        "total_bytes": stream.total_bytes,
        "sha256": stream.sha256,
        "truncated": stream.truncated or end < len(head) or start > 0,
        "dropped_bytes": stream.dropped_bytes,
    }


def _shortened(data: bytes, margin: int) -> bytes:
    return data[: max(0, len(data) - margin)]


def _continues(data: bytes, place: int) -> bool:
    return 0 < place < len(data) and data[place] & 0xC0 == 0x80


def _boundary_before(data: bytes, place: int) -> int:
    steps = (place - back for back in range(4) if not _continues(data, place - back))
    return min(len(data), next(steps, place))


def _boundary_after(data: bytes, place: int) -> int:
    return next((place + on for on in range(4) if not _continues(data, place + on)), place)


def _escaped(data: bytes) -> str:
    """Text that shows what cannot be printed, bidirectional and invisible characters included."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
