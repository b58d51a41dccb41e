"""Checks of each definition: schemas, projection, effects, what runs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.finding import has_errors
from holon_core.records.lane import executor_of
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Effect, Origin, Severity
from holon_core.testing.check_offers import bad, ok, skip
from holon_core.testing.offering import definitions, offered
from holon_core.wire.schema_check import check_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.testing.bench import Bench
    from holon_core.testing.report import Result

MAX_DESCRIPTION = 1024
MAX_NAME = 64
# What providers of models refuse at the top of a function's parameters.
NOT_AT_TOP = ("oneOf", "anyOf", "allOf", "not", "enum")
PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def _tools(bench: Bench) -> list[RuntimeToolDescriptor]:
    items = [item for each in definitions(bench) for item in each.items]
    offered_here = [item for item in items if type(item) is RuntimeToolDescriptor]
    known = {tool.id for tool in offered_here}
    return offered_here + [tool for tool in bench.tools.values() if tool.id not in known]


def schemas_valid(bench: Bench) -> Iterator[Result]:
    """Input and output schemas are JSON Schemas that the core can use, within its budget."""
    for tool in _tools(bench):
        found = [("input", f) for f in check_schema(tool.input_schema, role="input").findings]
        if tool.output_schema is not None:
            outputs = check_schema(tool.output_schema, role="output").findings
            found += [("output", f) for f in outputs]
        faults = [f"{role}{f.path}: {f.message}" for role, f in found if has_errors([f])]
        notes = [f.message for _, f in found if f.severity is Severity.WARNING]
        yield bad("; ".join(faults), tool=tool.id) if faults else ok("; ".join(notes), tool=tool.id)


def schemas_projectable(bench: Bench) -> Iterator[Result]:
    """What is shown to models as a function is something that every provider takes."""
    for tool in _tools(bench):
        if "function_calling" not in tool.projections:
            yield skip("it is not shown to models", tool=tool.id)
            continue
        faults = [*_describing(tool), *_parameters(tool.input_schema)]
        yield bad("; ".join(faults), tool=tool.id) if faults else ok(tool=tool.id)


def _describing(tool: RuntimeToolDescriptor) -> Iterator[str]:
    if not tool.description.strip():
        yield "it has no description, by which a model would choose it"
    if len(tool.description) > MAX_DESCRIPTION:
        yield f"its description is longer than {MAX_DESCRIPTION} characters"
    if len(tool.id.partition("/")[2]) > MAX_NAME:
        yield f"its capability id is longer than {MAX_NAME} characters"


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield 'its input schema is not of "type": "object" at the top'
    for key in NOT_AT_TOP:
        if key in schema:
            yield f"its input schema has {key} at the top"
    for name in schema.get("properties", {}):
        if not PROPERTY.fullmatch(name):
            yield f"the property {name!r} is not of A-Z a-z 0-9 _ . -, up to 64"


def effects_declared(bench: Bench) -> Iterator[Result]:
    """Each tool says what it touches; unknown effects are never executed."""
    for tool in _tools(bench):
        if not tool.effects or Effect.UNKNOWN in tool.effects:
            yield bad("its effects are not declared", tool=tool.id)
        elif Effect.NONE in tool.effects and len(tool.effects) > 1:
            yield bad("it declares none beside other effects", tool=tool.id)
        else:
            yield ok(", ".join(sorted(tool.effects)), tool=tool.id)


def executors_present(bench: Bench) -> Iterator[Result]:
    """Something runs each tool that declares effects."""
    executors = {str(each.source): each for each in offered(bench, "holon_executors")}
    for tool in _tools(bench):
        source = tool.id.partition("/")[0]
        good = executor_of(executors, source) is not None or Effect.UNKNOWN in tool.effects
        # Hosts and adapters bind what runs an imported capability, the core what runs a frozen one.
        made = tool.origin in (Origin.IMPORTED_STATE, Origin.FROZEN)
        good = good or (made and tool.runs_here)
        text = f"no executor of this plugin is for the source {source}"
        yield ok(tool=tool.id) if good else bad(text, tool=tool.id)
