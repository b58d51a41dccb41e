"""Schemas and fixtures from recorded runs: a beginning, for a person to tighten."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from holon_core.records.base import Record
from holon_core.records.frozen import Expectation, Fixture
from holon_core.wire.canonical import canonical

REDACTED = "[redacted"
MAX_SEEDED = 20
_SCALARS: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


@frozen(kw_only=True, eq=False, repr=False)
class Sample(Record):
    """Arguments and output of one recorded run, as its evidence holds them."""

    call_id: str
    arguments: dict[str, Any]
    output: dict[str, Any]


def schema_of(values: list[Any]) -> dict[str, Any]:
    """Return the narrowest schema of this module's words that all of the values fit.

    Args:
        values: At least one JSON value.
    """
    kinds = {_kind(value) for value in values}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    if kinds == {"object"}:
        return _object([value for value in values if isinstance(value, dict)])
    if kinds == {"array"}:
        items = [item for value in values for item in value]
        return {"type": "array", "items": schema_of(items)} if items else {"type": "array"}
    if kinds & {"object", "array"}:
        each = [[v for v in values if _kind(v) == kind] for kind in sorted(kinds)]
        return {"anyOf": [schema_of(group) for group in each]}
    return {"type": min(kinds)} if len(kinds) == 1 else {"type": sorted(kinds)}


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else _SCALARS[type(value)]


def _object(values: list[dict[str, Any]]) -> dict[str, Any]:
    names = sorted({name for value in values for name in value})
    return {
        "type": "object",
        "properties": {
            name: schema_of([value[name] for value in values if name in value]) for name in names
        },
        "required": [name for name in names if all(name in value for value in values)],
        "additionalProperties": False,
    }


def fixtures_of(samples: list[Sample]) -> tuple[Fixture, ...]:
    """Return a fixture for each different input; what holds a secret is left out.

    Args:
        samples: As they were recorded, so that secrets stand in them as ``[redacted…]``.
    """
    made: dict[bytes, Fixture] = {}
    for sample in samples:
        given = canonical(sample.arguments)
        if given in made or holds_secret(sample.arguments) or holds_secret(sample.output):
            continue
        made[given] = Fixture(
            name=f"recorded-{len(made) + 1}",
            input=sample.arguments,
            expect=Expectation(output=sample.output),
        )
        if len(made) == MAX_SEEDED:
            break
    return tuple(made.values())


def holds_secret(value: Any) -> bool:
    """Tell whether a recorded value holds a place where a secret stood."""
    if isinstance(value, dict):
        return any(holds_secret(key) or holds_secret(item) for key, item in value.items())
    if isinstance(value, list):
        return any(map(holds_secret, value))
    return isinstance(value, str) and REDACTED in value
