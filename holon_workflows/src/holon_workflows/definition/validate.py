"""Checking a definition: every problem at once, each with its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused
from holon_core.nearest import nearest
from holon_core.records.finding import Finding
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import compiled
from holon_core.wire.values import normalise
from holon_workflows.definition.checking import Checking, pointer, wrong
from holon_workflows.definition.conditions import Conditions
from holon_workflows.definition.form import GRAPH, SCHEMA
from holon_workflows.definition.mappings import check_mappings
from holon_workflows.definition.model import Graph, Node, read_graph
from holon_workflows.definition.topology import find_problems, order

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_BODY_DEPTH = 5
FORM_DOMAIN = "holon-workflow-form/1"


def check(document: object, about: Checking) -> tuple[Any, tuple[Finding, ...]]:
    """Check a definition.

    Args:
        document: What was given.
        about: What may be looked up.

    Returns:
        The document as it would be kept (``None`` where it is no JSON), and all findings; an
        error among them keeps it out.
    """
    try:
        made: Any = normalise(document).value
    except JsonRefused as error:
        return None, (wrong("workflow_invalid", error.message, error.path),)
    findings = list(_form(made, SCHEMA, ""))
    if findings:
        return made, tuple(findings)
    findings += _schemas(made)
    scope = frozenset({"inputs", "variables", "steps", "run"})
    findings += check_graph(made, about, scope=scope, inputs=made.get("inputs"))
    return made, tuple(findings)


def _schemas(made: Mapping[str, Any]) -> Iterator[Finding]:
    if "inputs" in made:
        report = check_schema(made["inputs"], role="input")
        for each in report.findings:
            yield wrong(each.code, each.message, "/inputs" + each.path, severity=each.severity)


def check_graph(
    document: Mapping[str, Any],
    about: Checking,
    *,
    scope: frozenset[str],
    inputs: Any = None,
    prefix: str = "",
    depth: int = 0,
) -> list[Finding]:
    """Check the graph of a definition, or of the body of a node; see ``check``."""
    graph = read_graph(document)
    found = list(find_problems(document, graph))
    conditions = Conditions(graph, order(graph))
    seen: set[str] = set()
    for position, given in enumerate(document["nodes"]):
        path = pointer("nodes", position)
        if given["id"] in seen:
            continue
        seen.add(given["id"])
        node = graph.nodes[given["id"]]
        found += [_moved(each, path) for each in _node(node, about)]
        found += [
            _moved(each, path)
            for each in check_mappings(
                node, graph, about, conditions=conditions, scope=scope, inputs=inputs
            )
        ]
        found += [_moved(each, path) for each in _body(node, about, depth=depth)]
    found += _outputs(graph, about, conditions=conditions, scope=scope)
    return [_moved(each, prefix) for each in found]


def _node(node: Node, about: Checking) -> Iterator[Finding]:
    kind = about.kinds.get(node.kind)
    if kind is None:
        text = f"no kind of nodes {node.kind}{nearest(node.kind, about.kinds, most=3)}"
        yield wrong("workflow_kind_unknown", text, "/kind")
        return
    schema = kind.config or {"type": "object", "maxProperties": 0}
    problems = list(_form(node.config, schema, "/config"))
    yield from problems
    if node.output_schema is not None:
        for each in check_schema(node.output_schema, role="output").findings:
            yield wrong(each.code, each.message, "/output_schema" + each.path)
    if not problems:
        yield from kind.check(node, about)
    if node.repair is not None:
        yield from _form(node.repair["ai"], about.kinds["ai-step"].config, "/repair/ai")


def _body(node: Node, about: Checking, *, depth: int) -> Iterator[Finding]:
    body = node.config.get("body")
    if node.kind not in ("map", "loop") or not isinstance(body, Mapping):
        return
    if depth >= MAX_BODY_DEPTH:
        yield wrong("workflow_invalid", f"bodies within {MAX_BODY_DEPTH} others", "/config/body")
        return
    problems = list(_form(body, GRAPH, "/config/body"))
    yield from problems
    if not problems:
        scope = frozenset({"inputs", "variables", "steps", "run"})
        yield from check_graph(body, about, scope=scope, prefix="/config/body", depth=depth + 1)


def _outputs(
    graph: Graph, about: Checking, *, conditions: Conditions, scope: frozenset[str]
) -> Iterator[Finding]:
    from holon_workflows.definition.mappings import check_expression

    for name, expression in graph.outputs.items():
        yield from check_expression(
            expression,
            pointer("outputs", name),
            graph=graph,
            conditions=conditions,
            scope=scope,
            optional=True,
        )


def _form(value: Any, schema: Mapping[str, Any], path: str) -> Iterable[Finding]:
    validator = compiled(schema, digest(schema, domain=FORM_DOMAIN))
    return [wrong("workflow_invalid", e.message, path + e.path) for e in validator.errors(value)]


def _moved(found: Finding, prefix: str) -> Finding:
    return wrong(found.code, found.message, prefix + found.path, severity=found.severity)
