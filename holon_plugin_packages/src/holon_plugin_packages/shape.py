"""The published JSON Schema of ``holon-plugin/v1``, and what breaks it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from elegy_contracts.spelling import snake
from holon_core.records.finding import Finding

FILE = "holon-plugin-v1.schema.json"
# Members whose content is somebody else's, and keeps its spelling.
_FOREIGN = frozenset({"input_schema", "output_schema", "metadata", "definition"})
# Words of earlier drafts.
_ALIASES = {"side_effect_class": "side_effect"}


def schema() -> dict[str, Any]:
    """Return the schema."""
    made: dict[str, Any] = json.loads(files(__package__).joinpath(FILE).read_text("utf-8"))
    return made


@lru_cache(maxsize=1)
def _validator() -> Any:
    from holon_core.wire.engine import engine
    from holon_core.wire.schema_engine import SchemaValidator

    return SchemaValidator(schema(), engine=engine())


def spelled(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with its own members in snake_case, however they were spelled."""
    made: dict[str, Any] = _spelled(dict(manifest), 0)
    return made


def _spelled(value: Any, depth: int) -> Any:
    if isinstance(value, list):
        return [_spelled(each, depth) for each in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for name, inner in value.items():
        plain = name if name.startswith("$") else snake(name)
        key = _ALIASES.get(plain, plain)
        # Two spellings of one member stay apart, so that neither is lost: one is refused.
        key = name if key in made else key
        made[key] = inner if key in _FOREIGN or depth > 4 else _spelled(inner, depth + 1)
    return made


def shape_findings(manifest: Mapping[str, Any]) -> list[Finding]:
    """Say where a manifest breaks the schema."""
    return [
        Finding(code="package_manifest_invalid", message=each.message, path=each.path)
        for each in _validator().errors(manifest)
    ]
