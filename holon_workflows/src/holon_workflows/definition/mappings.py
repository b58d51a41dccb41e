"""Checking where inputs come from: expressions, steps that may not have run, types that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.nearest import nearest
from holon_core.records.words import Severity
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import compiled
from holon_workflows.definition.checking import Checking, pointer, wrong
from holon_workflows.expressions import WHOLE, ExpressionError, paths, whole_path

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.conditions import Conditions
    from holon_workflows.definition.model import Graph, Node

# What may be asked of a step whatever became of it.
_ALWAYS = (("state",), ("failure",))
_MEMBERS = ("state", "output", "failure")
INPUT_DOMAIN = "holon-workflow-input/1"


def check_mappings(
    node: Node,
    graph: Graph,
    about: Checking,
    *,
    conditions: Conditions,
    scope: frozenset[str],
    inputs: Any = None,
) -> Iterator[Finding]:
    """Check the inputs and the expressions of a node; paths are below it."""
    kind = about.kinds.get(node.kind)
    for name, each in node.inputs.items():
        if each.expression is not None:
            yield from check_expression(
                each.expression,
                pointer("inputs", name, "from"),
                graph=graph,
                conditions=conditions,
                scope=scope,
                node=node.id,
                optional=each.optional,
            )
    if kind is None:
        return
    if node.kind == "loop":
        scope = scope | {"turn", "previous"}
    for path, expression in kind.expressions(node.config):
        yield from check_expression(
            expression,
            "/config" + path,
            graph=graph,
            conditions=conditions,
            scope=scope,
            node=node.id,
        )
    yield from _against_schema(node, graph, about, inputs)


def check_expression(
    expression: str,
    path: str,
    *,
    graph: Graph,
    conditions: Conditions,
    scope: frozenset[str],
    node: str | None = None,
    optional: bool = False,
) -> Iterator[Finding]:
    """Check one expression: that it can be read, and that what it names is there by then."""
    try:
        used = paths(expression)
    except ExpressionError as error:
        yield wrong("workflow_expression", str(error), path)
        return
    for each in used:
        if each[0] == WHOLE or each == ("steps",):
            yield from _every_step(path, graph, conditions, node)
        elif each[0] not in scope:
            text = f"{each[0]} is not in scope{nearest(each[0], scope)}; there are "
            yield wrong("workflow_expression", text + ", ".join(sorted(scope)), path)
        elif each[0] == "steps":
            yield from _step(each, path, graph, conditions, node, optional=optional)


def _every_step(
    path: str, graph: Graph, conditions: Conditions, node: str | None
) -> Iterator[Finding]:
    """Check an expression that takes the steps as a whole, and so whatever any of them gave."""
    for each in graph.nodes.values():
        if each.id != node and each.kind == "ai-step" and not _gated(each):
            yield _ungated(each.id, path)
    if node is None or not conditions.knows(node):
        return
    apart = [
        each
        for each in graph.nodes
        if each != node
        and not conditions.is_before(each, node)
        and not conditions.is_before(node, each)
    ]
    if apart:
        text = (
            f"it takes all steps, and {', '.join(apart[:5])} may or may not have ended by then; "
            "name the steps that are meant"
        )
        yield wrong("workflow_input", text, path, severity=Severity.WARNING)


def _ungated(step: str, path: str) -> Finding:
    text = f"what {step} answers is used here, and has to pass an output class or schema first"
    return wrong("workflow_gate_missing", text, path)


def _step(
    used: tuple[str, ...],
    path: str,
    graph: Graph,
    conditions: Conditions,
    node: str | None,
    *,
    optional: bool,
) -> Iterator[Finding]:
    step = used[1]
    if step not in graph.nodes:
        text = f"no node {step}{nearest(step, graph.nodes, most=3)}"
        yield wrong("unresolved_ref", text, path)
        return
    if len(used) > 2 and used[2] not in _MEMBERS:
        text = f"of a step there are {', '.join(_MEMBERS)}, and not {used[2]}"
        yield wrong("workflow_expression", text, path)
        return
    source = graph.nodes[step]
    if source.kind == "ai-step" and used[2:3] != ("state",) and not _gated(source):
        yield _ungated(step, path)
    if node is not None and not conditions.knows(node):
        return
    if node is not None and not conditions.is_before(step, node):
        text = f"{step} does not come before {node}, so that nothing is known of it then"
        yield wrong("workflow_input", text, path)
    elif not (optional or used[2:3] in _ALWAYS or conditions.certainly_completed(step, node)):
        text = (
            f"{step} may not have run, or may have failed, when {node} runs; "
            'say "optional": true where the input may be left out'
        )
        yield wrong("workflow_input", text, path)


def _gated(node: Node) -> bool:
    named = ("output_class", "output_schema")
    return node.output_schema is not None or any(name in node.config for name in named)


def output_schema_of(node: Node, about: Checking) -> Any:
    """Return the schema of what a node gives: its own, or what its kind knows."""
    if node.output_schema is not None:
        return node.output_schema
    kind = about.kinds.get(node.kind)
    return None if kind is None else kind.output_schema(node, about)


def _against_schema(node: Node, graph: Graph, about: Checking, inputs: Any) -> Iterator[Finding]:
    """Compare what a node is given with what it takes, as far as the schemas say."""
    takes = about.kinds[node.kind].input_schema(node, about)
    if not isinstance(takes, Mapping) or not isinstance(takes.get("properties"), Mapping):
        return
    members: Mapping[str, Any] = takes["properties"]
    for name in takes.get("required", ()):
        if name not in node.inputs:
            yield wrong("workflow_input", f"the input {name} is needed", "/inputs")
    for name, each in node.inputs.items():
        path = pointer("inputs", name)
        if name not in members:
            if takes.get("additionalProperties") is False:
                text = f"{name} is no input{nearest(name, members)}"
                yield wrong("workflow_mismatch", text, path)
            continue
        if each.expression is None:
            yield from _value(each.value, takes, name, path)
            continue
        if each.optional and name in takes.get("required", ()):
            text = f"{name} is needed, and may be left out here"
            severity = Severity.WARNING
            yield wrong("workflow_input", text, path, severity=severity)
        given = _given(each.expression, graph, about, inputs)
        problem = _apart(given, members[name])
        if problem:
            yield wrong("workflow_mismatch", f"{name} {problem}", pointer("inputs", name, "from"))


def _value(value: Any, takes: Mapping[str, Any], name: str, path: str) -> Iterator[Finding]:
    wanted = takes["properties"][name]
    if not isinstance(wanted, Mapping) or "$ref" in str(wanted):
        return
    report = check_schema(dict(wanted), role="output")
    if any(each.severity is Severity.ERROR for each in report.findings):
        return
    validator = compiled(report.schema, digest(report.schema, domain=INPUT_DOMAIN))
    for each in validator.errors(value):
        yield wrong("workflow_mismatch", each.message, path + "/value" + each.path)


def _given(expression: str, graph: Graph, about: Checking, inputs: Any) -> Any:
    """Return the schema of what a chain of fields gives; ``None`` where that is not known."""
    chain = whole_path(expression)
    if chain is None:
        return None
    if chain[0] == "inputs":
        return _member(inputs, chain[1:])
    if chain[0] == "steps" and len(chain) > 2 and chain[2] == "output":
        source = graph.nodes.get(chain[1])
        return None if source is None else _member(output_schema_of(source, about), chain[3:])
    return None


def _member(schema: Any, chain: tuple[str, ...]) -> Any:
    for name in chain:
        if not isinstance(schema, Mapping) or "$ref" in schema:
            return None
        members = schema.get("properties")
        if not isinstance(members, Mapping):
            return None
        if name not in members:
            closed = schema.get("additionalProperties") is False
            return False if closed and "patternProperties" not in schema else None
        schema = members[name]
    return schema


def _apart(given: Any, wanted: Any) -> str:
    """Say why no value can fit both schemas; nothing where one may."""
    if given is False:
        return "is mapped from a member that the step's output schema does not have"
    if not isinstance(given, Mapping) or not isinstance(wanted, Mapping):
        return ""
    left, right = _types(given), _types(wanted)
    if left is None or right is None or left & right:
        return ""
    if ("integer" in left and "number" in right) or ("number" in left and "integer" in right):
        return ""
    return f"takes {' or '.join(sorted(right))}, and the step gives {' or '.join(sorted(left))}"


def _types(schema: Mapping[str, Any]) -> set[str] | None:
    found = schema.get("type")
    if isinstance(found, str):
        return {found}
    return set(found) if isinstance(found, list) else None
