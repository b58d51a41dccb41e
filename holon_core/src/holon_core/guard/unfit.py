"""Failures of arguments and outputs that are no JSON or do not fit their schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.records.failure import StructuredFailure, failure
from holon_core.wire.engine import SchemaError
from holon_core.wire.schema_telling import telling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holon_core.errors import JsonRefused
    from holon_core.wire.schema_marks import Marks


def arguments_not_json(error: JsonRefused, marks: Marks | None) -> StructuredFailure:
    """Say why arguments are no strict JSON."""
    told = _refusal(error, marks)
    text = str(error) if told.message == error.message else f"{told.message} at {told.path or '/'}"
    return failure("arguments_invalid", text, path=told.path, rule=told.rule)


def arguments_unfit(errors: Iterable[SchemaError], marks: Marks | None) -> StructuredFailure:
    """Say where arguments break their tool's schema."""
    shown = _shown(errors, marks)
    if not shown:
        return failure("arguments_invalid")
    first = shown[0]
    code = "schema_limit" if first["rule"] == "schema_limit" else "arguments_invalid"
    return failure(code, _said(first), path=first["path"], rule=first["rule"], errors=shown)


def output_not_json(error: JsonRefused, marks: Marks | None) -> StructuredFailure:
    """Say why an output is no JSON."""
    told = _refusal(error, marks)
    return failure("output_not_json", f"the output is not JSON: {told.message}", path=told.path)


def output_unfit(errors: Iterable[SchemaError], marks: Marks | None) -> StructuredFailure:
    """Say where an output breaks its tool's schema."""
    shown = _shown(errors, marks)
    return failure("output_schema", _said(shown[0]) if shown else None, errors=shown)


def _refusal(error: JsonRefused, marks: Marks | None) -> SchemaError:
    return telling(SchemaError(path=error.path, rule=error.rule, message=error.message), marks)


def _shown(errors: Iterable[SchemaError], marks: Marks | None) -> list[dict[str, str]]:
    told = [telling(error, marks) for error in errors]
    return [{"path": each.path, "rule": each.rule, "message": each.message} for each in told]


def _said(first: dict[str, str]) -> str:
    return f"{first['message']} at {first['path'] or '/'}"
