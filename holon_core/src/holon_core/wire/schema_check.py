"""Admission of JSON Schemas: everything that is wrong with one, before any call can meet it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from holon_core.errors import JsonRefused
from holon_core.records.facts import Facts
from holon_core.records.finding import Finding, has_errors
from holon_core.records.words import Severity
from holon_core.wire.dialects import DIALECTS, dialect_of
from holon_core.wire.engine import EngineRefused
from holon_core.wire.engine import engine as chosen_engine
from holon_core.wire.faults import pointer
from holon_core.wire.schema_closing import closed, is_object_schema
from holon_core.wire.schema_cost import cost, measure, rings
from holon_core.wire.schema_graph import SchemaGraph
from holon_core.wire.schema_lint import lint
from holon_core.wire.schema_plain import is_plain
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.wire.dialects import Dialect
    from holon_core.wire.engine import Engine
    from holon_core.wire.json_types import JsonValue

MAX_NODES = 20_000
MAX_SCHEMA_DEPTH = 64
# Applications along one path into a value, and schemas that apply to one value in a row: an
# engine's native stack holds so many for each of the 128 levels of a value.
MAX_PATHS = 50_000
MAX_CHAIN = 32

_LIMITS = ("depth", "too_large")

Role = Literal["input", "output"]


class SchemaReport(Facts):
    """What admission found. With an error among the findings the schema must not be used.

    ``schema`` is a copy of its own, closed where it had to be; ``False`` (which accepts
    nothing) where what was given is not even JSON.
    """

    schema: dict[str, Any] | bool
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether no finding is an error."""
        return not has_errors(self.findings)


def check_schema(schema: object, *, role: Role, engine: Engine | None = None) -> SchemaReport:
    """Check a schema, once, when what it describes is registered. Nothing is ever fetched.

    Args:
        schema: JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12 (the default); at most 20,000
            JSON values, 64 deep, 1 MiB.
        role: An ``input`` schema has to be of type object at its top, and is closed there
            where it says nothing about further properties.
        engine: Which engine it has to suit; by default the one that checks calls.

    Returns:
        The schema to use, and findings with JSON pointers: ``schema_invalid``,
        ``schema_unsupported``, ``schema_remote_ref``, ``schema_limit``; as warnings also
        ``schema_closed`` and ``schema_format_unchecked``.

    Source: design, section 4; abuse cases AB-SCHEMA-001 to 014.
    """
    try:
        copy, text = normalise(schema, max_depth=MAX_SCHEMA_DEPTH)
    except JsonRefused as refused:
        code = "schema_limit" if refused.rule in _LIMITS else "schema_invalid"
        return _refused(False, Finding(code=code, message=refused.message, path=refused.path))
    return check_normalised(copy, role=role, size=len(text), engine=engine)


def check_normalised(
    copy: JsonValue, *, role: Role, size: int, engine: Engine | None = None
) -> SchemaReport:
    """Check a schema that ``normalise`` made and nobody else holds; see ``check_schema``.

    Args:
        copy: The schema.
        role: As for ``check_schema``.
        size: Length of its canonical bytes.
        engine: As for ``check_schema``.
    """
    if isinstance(copy, bool):
        return _boolean(copy, role)
    if not isinstance(copy, dict):
        return _refused(False, _invalid("a schema is an object or a boolean"))
    dialect = dialect_of(copy)
    if dialect is None:
        known = ", ".join(DIALECTS)
        text = f"unknown dialect; known are {known}"
        return _refused(copy, Finding(code="schema_unsupported", message=text, path="/$schema"))
    # Each value takes a byte or more, so that few bytes need no counting.
    if size > MAX_NODES and measure(copy)[0] > MAX_NODES:
        text = f"more than {MAX_NODES} JSON values"
        return _refused(copy, Finding(code="schema_limit", message=text))
    if "$schema" not in copy and is_plain(copy) and (role == "output" or _is_object(copy)):
        return _plain(copy, role)
    return _document(copy, dialect, role, engine or chosen_engine())


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") in ("object", ["object"])


def _plain(schema: dict[str, Any], role: Role) -> SchemaReport:
    if role == "output" or "additionalProperties" in schema:
        return SchemaReport(schema=schema, findings=())
    return SchemaReport(schema={**schema, "additionalProperties": False}, findings=(_closing(),))


def _document(
    document: dict[str, Any], dialect: Dialect, role: Role, engine: Engine
) -> SchemaReport:
    graph = SchemaGraph(document, dialect)
    findings = [*graph.problems, *lint(graph), *_ring_findings(graph), *_patterns(graph, engine)]
    if role == "input" and not is_object_schema(graph):
        findings.append(_invalid('an input schema needs "type": "object" at its top'))
    if not has_errors(findings):
        findings += _costs(graph)
    # An engine only meets what refers to nothing foreign and is known to be small.
    if not has_errors(findings):
        findings += _compiles(document, dialect, engine)
    else:
        findings += _breaches(document, dialect, engine)
    if role == "input" and not has_errors(findings):
        document, added = _closed(graph)
        findings += added
    return SchemaReport(schema=document, findings=tuple(findings))


def _boolean(schema: bool, role: Role) -> SchemaReport:
    if role == "input":
        return _refused(schema, _invalid("no declared shape; describe an object"))
    if schema is False:
        return _refused(schema, _invalid("false accepts no output at all"))
    return SchemaReport(schema=True, findings=())


def _ring_findings(graph: SchemaGraph) -> Iterator[Finding]:
    for ring in rings(graph):
        way = " → ".join(f"#{node.pointer}" for node in ring[:8])
        yield _invalid(f"refers only to itself: {way}", ring[0].pointer)


def _patterns(graph: SchemaGraph, engine: Engine) -> Iterator[Finding]:
    for node in graph.nodes.values():
        for path, pattern in _patterns_of(node.schema):
            from holon_core.wire.patterns import needs_backtracking, shape

            hostile = engine.backtracks or needs_backtracking(pattern)
            if hostile and shape(pattern).nested:
                text = "a repetition inside a repetition may take endless time"
                at = pointer((*node.path, *path))
                yield Finding(code="schema_limit", message=text, path=at)


def _patterns_of(schema: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(schema.get("pattern"), str):
        yield ("pattern",), schema["pattern"]
    if isinstance(schema.get("patternProperties"), dict):
        for name in schema["patternProperties"]:
            yield ("patternProperties", name), name


def _costs(graph: SchemaGraph) -> Iterator[Finding]:
    found = cost(graph)
    if found.paths > MAX_PATHS:
        text = f"its references expand to more than {MAX_PATHS} schemas along one path"
        yield Finding(code="schema_limit", message=text)
    if found.depth > MAX_CHAIN:
        text = f"more than {MAX_CHAIN} schemas in a row apply to one value"
        yield Finding(code="schema_limit", message=text)


def _closed(graph: SchemaGraph) -> tuple[dict[str, Any], list[Finding]]:
    assert graph.root is not None
    document = closed(graph)
    if document is None:
        return graph.root.schema, []
    return document, [_closing()]


def _closing() -> Finding:
    text = "says nothing about further properties; they are refused"
    return Finding(code="schema_closed", message=text, severity=Severity.WARNING)


def _compiles(document: dict[str, Any], dialect: Dialect, engine: Engine) -> list[Finding]:
    try:
        engine.compile(document, dialect)
    except EngineRefused as refused:
        breaches = _breaches(document, dialect, engine)
        return breaches or [_invalid(refused.message, refused.path)]
    return []


def _breaches(document: dict[str, Any], dialect: Dialect, engine: Engine) -> list[Finding]:
    """List what breaks the dialect's own schema, each place and reason once."""
    errors = engine.schema_errors(document, dialect)
    return list(dict.fromkeys(_invalid(error.message, error.path) for error in errors))


def _refused(schema: dict[str, Any] | bool, finding: Finding) -> SchemaReport:
    return SchemaReport(schema=schema, findings=(finding,))


def _invalid(message: str, path: str = "") -> Finding:
    return Finding(code="schema_invalid", message=message, path=path)
