"""From what a program printed to the output: JSON, JSON lines, or text by a pattern."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import JsonRefused
from holon_core.process import resolve_program
from holon_core.records.failure import StructuredFailure, failure
from holon_core.tool_contract import process_failure, read_output
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall
    from holon_core.process import ProcessOutcome

MAX_LINES = 100_000
PATTERN_S = 2.0
ENVELOPE = "elegy.cli/v1"
# Runs in a process of its own, under a limit: a pattern may take for ever, and hold a lock.
_SEARCH = """
import json, re, sys
given = json.loads(sys.stdin.buffer.read())
found = re.search(given["pattern"], given["text"], re.MULTILINE)
named = None if found is None else {k: v for k, v in found.groupdict().items() if v is not None}
print(json.dumps({"found": named}))
"""


@frozen
class Taken:
    """An output, which may be any JSON value."""

    value: Any


def output_of(
    call: SealedCall, outcome: ProcessOutcome, output: Mapping[str, Any]
) -> Taken | StructuredFailure:
    """Take the output of a program as its capability declares.

    Returns:
        The value; ``extraction_failure`` where nothing can be taken as declared, and what
        ``read_output`` says where nothing is declared.
    """
    if outcome.stdout.truncated:
        limit = outcome.limits.max_stdout_bytes
        return failure("output_too_large", f"more than {limit} bytes", limit_bytes=limit)
    form = output.get("format")
    if form is None:
        found = read_output(outcome) if not outcome.exit_code else _object(outcome)
        return found if isinstance(found, StructuredFailure) else Taken(found)
    data = outcome.stdout.head
    if form == "text":
        value = _by_pattern(call, data, output["pattern"])
    elif form == "json_lines":
        value = _lines(data)
    else:
        value = _json(data)
    if form == "elegy" and isinstance(value, Taken):
        value = _envelope(value.value)
    if isinstance(value, StructuredFailure) or not output.get("pointer"):
        return value
    return pointed(value.value, output["pointer"])


def _object(outcome: ProcessOutcome) -> Any:
    found = _json(outcome.stdout.head)
    if isinstance(found, StructuredFailure):
        return found
    if not isinstance(found.value, dict):
        return failure("output_not_object", "the output is not an object")
    return found.value


def _failure(text: str, **details: Any) -> StructuredFailure:
    return failure("extraction_failure", text, **details)


def _json(data: bytes) -> Taken | StructuredFailure:
    try:
        return Taken(parse(data))
    except JsonRefused as error:
        return _failure(f"the output is not one JSON value: {error}", rule=error.rule)


def _lines(data: bytes) -> Taken | StructuredFailure:
    made: list[Any] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        if len(made) >= MAX_LINES:
            return _failure(f"more than {MAX_LINES} lines")
        try:
            made.append(parse(line))
        except JsonRefused as error:
            return _failure(f"line {number} is not one JSON value: {error}", line=number)
    return Taken({"lines": made})


def _envelope(value: Any) -> Taken | StructuredFailure:
    """Open the envelope of Elegy's commands; anything else is as it is."""
    if not isinstance(value, dict) or value.get("schemaVersion") != ENVELOPE:
        return Taken(value)
    if value.get("status") == "ok":
        return Taken(value.get("data"))
    said = value.get("failure")
    said = said if isinstance(said, dict) else {}
    text = f"{said.get('code', 'failed')}: {said.get('message', 'the tool gives no reason')}"
    return failure("tool_failed", text[:500])


def _by_pattern(call: SealedCall, data: bytes, pattern: str) -> Taken | StructuredFailure:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return failure("output_not_utf8")
    python = resolve_program(sys.executable) if sys.executable else None
    if python is None:
        return _failure("there is no Python here to run the pattern in")
    stdin = json.dumps({"pattern": pattern, "text": text}).encode()
    done = call.run_process((python, "-I", "-c", _SEARCH), stdin=stdin, timeout_s=PATTERN_S, env={})
    if process_failure(done) is not None:
        return _failure("the pattern took too long or too much")
    found = parse(done.stdout.head)
    named = found.get("found") if isinstance(found, dict) else None
    if not isinstance(named, dict):
        return _failure("the pattern does not fit the output")
    return Taken(named)


def pointed(value: Any, pointer: str) -> Taken | StructuredFailure:
    """Return the part of a value that a JSON pointer names (RFC 6901)."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _index(name, len(value)):
            value = value[int(name)]
        else:
            return _failure(f"the output has nothing at {pointer}", pointer=pointer)
    return Taken(value)


def _index(name: str, size: int) -> bool:
    plain = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    return plain and len(name) < 10 and int(name) < size
