"""Reading tolerantly exactly where documents, contracts and versions differ; each repair is told.

Source: docs/elegy.md, "What is read with findings".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from elegy_contracts.finding import Finding, Severity, pointer

CATEGORIES = frozenset(
    {
        "invalidInput",
        "policy",
        "authentication",
        "authorization",
        "timeout",
        "dependency",
        "unavailable",
        "conflict",
        "internal",
        "unknown",
    }
)
EVENT_STATUS: Mapping[str, str] = {
    "accepted": "pending",
    "started": "running",
    "progress": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
CLASSES = (
    "none",
    "read_only",
    "disk_read",
    "disk_write",
    "network_outbound",
    "process_spawn",
    "desktop_ui",
)
# The other vocabularies, as the nearest class of hosts.
AS_CLASS: Mapping[str, str] = {
    "read": "disk_read",
    "write": "disk_write",
    "external": "network_outbound",
    "destructive": "disk_write",
    "pure": "none",
    "query": "read_only",
    "mutation": "disk_write",
    "fenced-mutation": "disk_write",
}
MAX_TIME = 253402300799

Repair = Callable[[dict[str, Any]], tuple[dict[str, Any], list[Finding]]]


def repaired(contract: str, data: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Return data as its contract has it, and a warning for each thing that was made to fit."""
    repair = _REPAIRS.get(contract)
    return (data, []) if repair is None else repair(data)


def _warning(code: str, message: str, *path: str | int) -> Finding:
    return Finding(code=code, message=message, path=pointer(*path), severity=Severity.WARNING)


def _package(data: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    found: list[Finding] = []
    made = _without_nulls(data, (), found)
    hints = made.get("hostPolicyHints")
    given = hints.get("sideEffectClass") if isinstance(hints, dict) else None
    if isinstance(hints, dict) and isinstance(given, str) and given not in CLASSES:
        path = ("hostPolicyHints", "sideEffectClass")
        rest = {key: value for key, value in hints.items() if key != "sideEffectClass"}
        as_class = AS_CLASS.get(given)
        if as_class is None:
            found.append(_warning("hint_dropped", f"{given!r:.80} is no side effect class", *path))
        else:
            text = f"{given} is a word of another vocabulary, and read as {as_class}"
            found.append(_warning("hint_translated", text, *path))
            rest["sideEffectClass"] = as_class
        made = {**made, "hostPolicyHints": rest}
    components = made.get("components")
    if isinstance(components, dict) and "hostCompatibility" in components:
        text = "host compatibility is of an earlier line"
        found.append(_warning("earlier_line", text, "components", "hostCompatibility"))
    return made, found


def _without_nulls(data: Any, path: tuple[str | int, ...], found: list[Finding]) -> Any:
    """Drop members that are null; skills that are inside keep theirs, where null has a meaning."""
    if isinstance(data, list):
        return [_without_nulls(each, (*path, at), found) for at, each in enumerate(data)]
    if not isinstance(data, dict) or (path and path[-1] in ("definition", "extensions")):
        return data
    made = {}
    for name, value in data.items():
        if value is None:
            found.append(_warning("null_dropped", f"{name} is null, as if absent", *path, name))
        else:
            made[name] = _without_nulls(value, (*path, name), found)
    return made


def _failure(data: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    made, found = dict(data), list[Finding]()
    kind = made.pop("kind", None)
    if kind is not None:
        found.append(_warning("other_spelling", "kind stands for category or code", "kind"))
        if isinstance(kind, str) and kind in CATEGORIES:
            made.setdefault("category", kind)
        made.setdefault("code", kind)
    if "category" not in made and "code" in made:
        category = made["code"]
        known = category if isinstance(category, str) and category in CATEGORIES else "unknown"
        made["category"] = known
        found.append(_warning("category_missing", f"without a category it is {known}", "category"))
    if "code" not in made and "category" in made:
        made["code"] = made["category"]
        found.append(_warning("code_missing", "without a code it is the category", "code"))
    if "retryable" not in made and found:
        made["retryable"] = False
    details = made.get("details")
    if details is not None and not isinstance(details, dict):
        made["details"] = {"value": details}
        found.append(_warning("details_wrapped", "details that are no object", "details"))
    return made, found


def _event(data: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    made, found = dict(data), list[Finding]()
    kind = made.pop("kind", None)
    if kind is not None:
        found.append(_warning("other_spelling", "kind stands for eventType", "kind"))
        made.setdefault("eventType", kind)
        event_type = made["eventType"]
        if isinstance(event_type, str):
            made.setdefault("status", EVENT_STATUS.get(event_type, "running"))
    moment = made.get("timestamp")
    if type(moment) in (int, float) and 0 <= moment <= MAX_TIME:  # type: ignore[operator]
        made["timestamp"] = as_moment(moment)  # type: ignore[arg-type]
        found.append(_warning("time_as_number", "a time in Unix seconds", "timestamp"))
    return _with_failure(made, found)


def _response(data: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    made, found = dict(data), list[Finding]()
    for name in ("runMetadata", "run_metadata"):
        if name in made:
            given = made.pop(name)
            found.append(_warning("other_spelling", f"{name} stands for metadata", name))
            if isinstance(given, dict) and isinstance(made.get("metadata", {}), dict):
                texts = {key: _as_text(value) for key, value in given.items()}
                made["metadata"] = {**texts, **made.get("metadata", {})}
            else:
                made["metadata"] = given
    events = made.get("events")
    if isinstance(events, list):
        made["events"] = [_embedded(each, at, made, found) for at, each in enumerate(events)]
    return _with_failure(made, found)


def _as_text(value: Any) -> Any:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _embedded(event: Any, at: int, response: Mapping[str, Any], found: list[Finding]) -> Any:
    """Give an event inside a response what it has from where it stands."""
    if not isinstance(event, dict):
        return event
    from elegy_contracts.spelling import contract_names

    named, twice = contract_names("execution-event", event)
    made, said = _event(named)
    found += [_moved(each, "events", at) for each in (*twice, *said)]
    made.setdefault("requestId", response.get("requestId"))
    made.setdefault("executionId", response.get("executionId"))
    made.setdefault("sequence", at + 1)
    made.setdefault("eventId", f"{response.get('executionId')}-{at + 1}")
    return made


def _with_failure(
    made: dict[str, Any], found: list[Finding]
) -> tuple[dict[str, Any], list[Finding]]:
    failure = made.get("failure")
    if isinstance(failure, dict):
        made["failure"], said = _failure(failure)
        found += [_moved(each, "failure") for each in said]
    return made, found


def _moved(finding: Finding, *below: str | int) -> Finding:
    from attrs import evolve

    return evolve(finding, path=pointer(*below) + finding.path)


def as_moment(seconds: float) -> str:
    """Write Unix seconds as RFC 3339."""
    made = datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat()
    return made.replace("+00:00", "Z")


def as_seconds(moment: str) -> int:
    """Return the whole Unix seconds of an RFC 3339 text.

    Raises:
        ValueError: It is none.
    """
    text = moment[:-1] + "+00:00" if moment[-1:] in ("Z", "z") else moment
    head, dot, rest = text.partition(".")
    if dot:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        # Older Pythons read six digits alone.
        text = f"{head}.{rest[: min(digits, 6)].ljust(6, '0')}{rest[digits:]}"
    made = datetime.fromisoformat(text)
    if made.tzinfo is None:
        raise ValueError("a time without an offset")
    return int(made.timestamp())


_REPAIRS: Mapping[str, Repair] = {
    "elegy-plugin-package": _package,
    "structured-failure": _failure,
    "execution-event": _event,
    "invocation-response": _response,
}
