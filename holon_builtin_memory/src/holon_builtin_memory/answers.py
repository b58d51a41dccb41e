"""What the memory command answers: the envelope, its failures, and the data it promises."""

from __future__ import annotations

import re
from calendar import timegm
from functools import cache
from time import strptime
from typing import TYPE_CHECKING, Any

from holon_builtin_memory.refusals import Refused, refuse

if TYPE_CHECKING:
    from holon_core.process import ProcessOutcome
    from holon_core.wire.schema_engine import SchemaValidator

SCHEMA_VERSION = "elegy.cli/v1"
_STATUSES = ("ok", "invalid", "error")
_SHOWN = 500
_COUNTS = ("total", "imported", "merged", "skipped")
# The published result of each subcommand; of the two that have no usable one (section 12.6) the
# members that this lane reads.
_PUBLISHED = {
    "add": "memory-add-result",
    "search": "memory-search-result",
    "list": "memory-list-result",
    "inspect": "memory-inspect-result",
    "health": "memory-health-report",
}
_OWN: dict[str, Any] = {
    "export": {
        "type": "object",
        "properties": {"outputPath": {"type": "string"}, "memoryCount": {"type": "integer"}},
        "required": ["outputPath", "memoryCount"],
    },
    "import": {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in _COUNTS},
        "required": list(_COUNTS),
    },
}


def read(outcome: ProcessOutcome, subcommand: str) -> Any:
    """Return the data of a successful answer.

    Raises:
        Refused: The program failed, or its answer is not what the contract promises.
    """
    from holon_core.process import ProcessCause
    from holon_core.tool_contract import process_failure, read_output

    failed = process_failure(outcome)
    if outcome.cause is ProcessCause.SPAWN_FAILED and failed is not None:
        raise Refused(failed, started=False)
    if failed is not None and failed.code != "tool_exit":
        raise Refused(failed, started=True)
    if failed is not None:
        raise _exited(outcome, failed)
    answer = read_output(outcome)
    if not isinstance(answer, dict):
        raise Refused(answer, started=True)
    return opened(answer, subcommand)


def _exited(outcome: ProcessOutcome, failed: Any) -> Refused:
    """Make of an exit with an error what the envelope says of it, where there is one."""
    from holon_core.errors import JsonRefused
    from holon_core.wire.strict_json import parse

    try:
        answer = parse(outcome.stdout.head)
    except JsonRefused:
        return Refused(failed, started=True)
    if isinstance(answer, dict) and answer.get("schemaVersion") == SCHEMA_VERSION:
        told = _failure(answer)
        if told is not None:
            return told
    return Refused(failed, started=True)


def opened(answer: dict[str, Any], subcommand: str) -> Any:
    """Take the data out of an envelope and hold it against what is promised."""
    version = answer.get("schemaVersion")
    if version != SCHEMA_VERSION:
        shown = version if isinstance(version, str) else "none"
        text = f"the memory command answered with envelope {shown[:60]}; {SCHEMA_VERSION} is wanted"
        raise refuse("output_schema", text, path="/schemaVersion")
    if answer.get("status") not in _STATUSES:
        raise refuse("output_schema", "the envelope has no status", path="/status")
    told = _failure(answer)
    if told is not None:
        raise told
    data = answer.get("data")
    errors = list(_promise(subcommand).errors(data))
    if errors:
        path = f"/data{errors[0].path}"
        text = f"the memory command's data break its contract: {errors[0].message} at {path}"
        raise refuse("output_schema", text, path=path, rule=errors[0].rule)
    return data


def _failure(answer: dict[str, Any]) -> Refused | None:
    if answer.get("status") == "ok":
        return None
    told = answer.get("failure")
    told = told if isinstance(told, dict) else {}
    message = told.get("message")
    text = message[:_SHOWN] if isinstance(message, str) else "it gave no reason"
    details = {
        key: value[:100] for key in ("code", "category") if isinstance(value := told.get(key), str)
    }
    return refuse("tool_failed", f"the memory command refused: {text}", memory=details)


@cache
def _promise(subcommand: str) -> SchemaValidator:
    from holon_core.wire.canonical import digest
    from holon_core.wire.schema_check import check_schema
    from holon_core.wire.schema_engine import compiled

    schema = check_schema(promised(subcommand), role="output").schema
    return compiled(schema, digest(schema, domain="holon-memory-answer/1"))


def promised(subcommand: str) -> dict[str, Any]:
    """Return the schema of a subcommand's data: as published, but open to more members.

    Source: contract of elegy.memory, section 12.6.
    """
    import elegy_contracts

    if subcommand in _OWN:
        own: dict[str, Any] = _OWN[subcommand]
        return own
    made: dict[str, Any] = _open(elegy_contracts.schema(_PUBLISHED[subcommand]))
    if subcommand == "search":
        added = _open(elegy_contracts.schema(_PUBLISHED["add"]))
        hit = made["properties"]["results"]["items"]
        hit["properties"]["memory"] = added["properties"]["memory"]
    return made


def _open(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_open(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _open(value)
        for key, value in schema.items()
        if key not in ("$id", "additionalProperties") or isinstance(value, dict)
    }


def word(text: Any) -> str | None:
    """Spell a word of the contract as flags do: ``AgentObserved`` is ``agent-observed``."""
    if not isinstance(text, str):
        return None
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", text).replace("_", "-").lower()


def seconds(text: Any) -> int | None:
    """Return the Unix seconds of an RFC 3339 time; ``None`` where it is none."""
    found = re.fullmatch(
        r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))",
        text if isinstance(text, str) else "",
    )
    if found is None:
        return None
    try:
        moment = timegm(strptime(found[1].upper(), "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
    offset = (int(found[3] or 0) * 60 + int(found[4] or 0)) * 60
    return moment + offset if found[2] == "-" else moment - offset


def memory(full: dict[str, Any]) -> dict[str, Any]:
    """Show a full memory object as this lane's outputs do."""
    number = full.get("importanceScore")
    return {
        "id": full["id"],
        "type": word(full["memoryType"]),
        "state": word(full["state"]),
        "importance": round(number, 6) if isinstance(number, (int, float)) else None,
        "provenance": word(full["provenance"]),
        "tags": [tag for tag in full.get("tags") or [] if isinstance(tag, str)],
        "created_at_unix_seconds": seconds(full.get("createdAt")),
        "updated_at_unix_seconds": seconds(full.get("updatedAt")),
    }
