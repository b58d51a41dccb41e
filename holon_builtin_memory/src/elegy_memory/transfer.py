"""Export, import and purge (contract, section 12.3)."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

from elegy_memory import rows
from elegy_memory.faults import InvalidInput, RuntimeFailure
from elegy_memory.words import PROVENANCE, SENSITIVITIES, STATES, TYPES, column, read
from elegy_memory.writing import new_row, transaction

MAX_BYTES = 256 * 1024 * 1024
_PURGED = {
    "versionsDeleted": "memory_versions",
    "linksDeleted": "memory_links",
    "contradictionsDeleted": "contradictions",
    "embeddingsDeleted": "memory_embeddings",
}


def exported(
    connection: sqlite3.Connection, *, scope: str | None, path: str, shown_scope: str
) -> dict[str, Any]:
    """Return everything of a scope (all scopes for ``None``), as an export file holds it."""
    where, values = ("WHERE scope = ?", (scope,)) if scope else ("", ())
    found = connection.execute(f"{rows.SELECT} {where} ORDER BY created_at, id", values)
    return {
        "exportedAt": rows.now(),
        "dbPath": path,
        "scope": shown_scope,
        "memories": [rows.full(rows.row_of(each), widened=False) for each in found],
    }


def write_file(output: str, document: dict[str, Any]) -> dict[str, Any]:
    """Write an export into a file, whole or not at all."""
    place = Path(output)
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(document, ensure_ascii=False, indent=2), encoding="utf-8")
        draft.replace(place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise RuntimeFailure(f"cannot write {output}: {error.strerror}") from None
    return {
        "outputPath": output,
        "memoryCount": len(document["memories"]),
        "scope": document["scope"],
    }


def imported(
    connection: sqlite3.Connection, raw: bytes, *, scope: str, path: str, force: bool
) -> dict[str, Any]:
    """Take in an export, or a list of texts and short objects; all of it in one transaction.

    Raises:
        InvalidInput: It is not JSON, or of neither shape.
    """
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"the import is larger than {MAX_BYTES} bytes")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"malformed import: {error}") from None
    given = document.get("memories") if isinstance(document, dict) else document
    if not isinstance(given, list):
        raise InvalidInput("an import is a list, or an object with memories")
    counts = {"imported": 0, "merged": 0, "skipped": 0}
    errors: list[str] = []
    with transaction(connection):
        for place, item in enumerate(given):
            try:
                row = _row(item, scope, force=force, whole=isinstance(document, dict))
            except InvalidInput as fault:
                errors.append(f"memories[{place}]: {fault}")
                counts["skipped"] += 1
            else:
                counts[_take(connection, row)] += 1
    return {
        "dbPath": path,
        "scope": scope,
        "total": len(given),
        **counts,
        "contradictions": 0,
        "errors": errors[:100],
    }


def _take(connection: sqlite3.Connection, row: rows.Row) -> str:
    old = rows.read(connection, row["id"])
    if old is None:
        rows.insert(connection, row)
        return "imported"
    if old["content"] == row["content"]:
        return "skipped"
    rows.rewrite(connection, old, row, by="cli:import", reason="import of another content")
    return "merged"


def _row(item: Any, scope: str, *, force: bool, whole: bool) -> rows.Row:
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        raise InvalidInput("a memory is a text, or an object with content")
    provenance = _word(item, ("provenance",), PROVENANCE, "imported")
    row = new_row(
        item["content"],
        scope=scope,
        memory_type=_word(item, ("memoryType", "type"), TYPES, "observation"),
        provenance=provenance,
        importance=_number(item, ("importanceScore", "importance"), 0.5),
        tags=_tags(item.get("tags", [])),
    )
    return _as_exported(row, item, force=force) if whole else row


def _as_exported(row: rows.Row, item: dict[str, Any], *, force: bool) -> rows.Row:
    """Keep of a full object what belongs to it; ``force`` gives it a new id and makes it active."""
    row["reliability_score"] = _number(item, ("reliabilityScore",), row["reliability_score"])
    row["sensitivity"] = column(_word(item, ("sensitivity",), SENSITIVITIES, "low"))
    for key, name in (("createdAt", "created_at"), ("updatedAt", "updated_at")):
        if isinstance(item.get(key), str):
            row[name] = item[key]
    if isinstance(item.get("summary"), str):
        row["summary"] = item["summary"]
    if isinstance(item.get("customMetadata"), dict):
        row["custom_metadata"] = json.dumps(item["customMetadata"], ensure_ascii=False)
    if force:
        row["state"] = "active"
        return row
    row["state"] = _word(item, ("state",), STATES, row["state"])
    identity = item.get("id")
    if not isinstance(identity, str) or not 1 <= len(identity) <= 100:
        raise InvalidInput("a full memory has an id")
    row["id"] = identity
    return row


def _word(item: dict[str, Any], keys: tuple[str, ...], words: Any, default: str) -> str:
    for key in keys:
        if item.get(key) is not None:
            found = read(item[key], words)
            if found is None:
                raise InvalidInput(f"{key} is one of {', '.join(words)}")
            return found
    return default


def _number(item: dict[str, Any], keys: tuple[str, ...], default: float) -> float:
    for key in keys:
        value = item.get(key)
        if value is not None:
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not 0 <= value <= 1
            ):
                raise InvalidInput(f"{key} is a number from 0 to 1")
            return float(value)
    return default


def _tags(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidInput("tags is a list of texts")
    return value


def purged(connection: sqlite3.Connection, *, scope: str, path: str) -> dict[str, Any]:
    """Empty the whole file, whatever the scope; its parameters stay."""
    report = {}
    with transaction(connection):
        (report["memoriesDeleted"],) = connection.execute(
            "SELECT count(*) FROM memories"
        ).fetchone()
        for shown, table in _PURGED.items():
            (report[shown],) = connection.execute(
                f"SELECT count(*) FROM {table}"  # noqa: S608 - names of tables
            ).fetchone()
        connection.execute("DELETE FROM memories")
        # What was indexed went with the rows it was taken from.
        connection.execute("INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')")
    return {"dbPath": path, "scope": scope, "report": report}
