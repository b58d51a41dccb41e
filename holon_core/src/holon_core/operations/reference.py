"""The reference page of the operations, from their table: ``python -m`` this module prints it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from holon_core.operations.table import ROWS
from holon_core.records.operation import Operation

PAGE = "docs/reference/operations.md"
_HEAD = f"""# Operations

Generated from the operations table by `python -m holon_core.operations.reference > {PAGE}`.

Each operation is a method of the protocol (`runtime.dispatch`) and, where the noun and the verb
are written as two words, a command: `runtime-tool/list` is `holon runtime-tool list`, or `holon
tool list` for short. Parameters are a JSON object that is read strictly; one that is unknown is
refused. Who asks is never a parameter. A caller without the authority of an operation is refused
with `not_allowed`.

"""


def page() -> str:
    """Write the page, every operation in the order of the table."""
    return _HEAD + "\n".join(line for row in ROWS for line in _section(row))


def _section(row: Operation) -> Iterator[str]:
    effects = ", ".join(sorted(effect.value for effect in row.effects))
    yield f"## {row.method}\n"
    yield f"{row.doc}\n"
    authorities = " or ".join(f"`{each.value}`" for each in (row.authority, *sorted(row.also)))
    yield f"Authority: {authorities}. Effects: `{effects}`.\n"
    properties = row.request["properties"]
    if properties:
        yield "| parameter | type | |\n| --- | --- | --- |"
        yield from (_parameter(name, properties[name], row) for name in properties)
        yield ""
    yield f"Answer: {_members(row.response)}.\n"


def _parameter(name: str, schema: Mapping[str, Any], row: Operation) -> str:
    needed = " Required." if name in row.request.get("required", ()) else ""
    default = f" Default `{json.dumps(schema['default'])}`." if "default" in schema else ""
    return f"| `{name}` | {_kind(schema)} | {schema.get('description', '')}{needed}{default} |"


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    bounds = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"))
        if key in schema and schema[key] < 2**53 - 1
    ]
    return " ".join([" or ".join(kinds), *bounds])


def _members(schema: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in schema["properties"])


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
