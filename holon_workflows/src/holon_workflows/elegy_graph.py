"""Elegy's canonical workflow graph, read as a definition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.words import Severity
from holon_workflows.definition.checking import pointer, wrong
from holon_workflows.definition.form import VERSION

if TYPE_CHECKING:
    from holon_core.records.finding import Finding

FORMAT = "canonical-workflow-graph"
# Types of Elegy's nodes that have a kind here, besides those that are kinds by name.
_KINDS = {
    "task": "capability",
    "tool": "capability",
    "humanReview": "human-gate",
    "delay": "wait-timer",
}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = re.compile(r"[A-Za-z0-9_.-]+")


def import_graph(
    graph: Mapping[str, Any], *, definition: str, version: str
) -> tuple[dict[str, Any], list[Finding]]:
    """Read a canonical workflow graph as a definition.

    Args:
        graph: The graph, as Elegy writes it.
        definition: The id to give.
        version: The version to give.

    Returns:
        The definition, and what of the graph has no place in it: an error where a step would
        mean something else without it, a warning where nothing of the run depends on it.

    Source: Elegy contracts, canonical workflow graph.
    """
    found: list[Finding] = []
    if graph.get("canonicalFormat") != FORMAT or graph.get("canonicalVersion") != 1:
        text = f"{FORMAT} of version 1 is read"
        return {}, [wrong("workflow_invalid", text, "/canonicalFormat")]
    nodes = [_node(node, n, found) for n, node in enumerate(graph.get("nodes", ()))]
    names = {node["id"] for node in nodes}
    edges = []
    for n, edge in enumerate(graph.get("edges", ())):
        edges.append({"from": edge.get("fromStepId", ""), "to": edge.get("toStepId", "")})
        for name in ("transform", "condition"):
            if edge.get(name):
                text = f"the {name} of an edge; use a branch-condition node, or map inputs"
                found.append(wrong("workflow_unmapped", text, pointer("edges", n, name)))
    made: dict[str, Any] = {
        "schema_version": VERSION,
        "id": definition,
        "version": version,
        "nodes": nodes,
        "edges": edges,
    }
    if graph.get("entryStepId") in names:
        made["entry"] = graph["entryStepId"]
    trigger = graph.get("trigger") or {}
    if trigger:
        made["inputs"] = _ports(trigger.get("inputSchema", ()))
        for name in ("cronExpression", "eventType"):
            if trigger.get(name):
                text = f"the trigger's {name} starts nothing by itself; schedule the workflow"
                path = pointer("trigger", name)
                found.append(wrong("workflow_unmapped", text, path, severity=Severity.WARNING))
    variables = _variables(graph.get("variables", {}), found)
    if variables:
        made["variables"] = variables
    return made, found


def _node(node: Mapping[str, Any], position: int, found: list[Finding]) -> dict[str, Any]:
    path = pointer("nodes", position)
    kind = _KINDS.get(node.get("type", ""), node.get("type", ""))
    made: dict[str, Any] = {"id": node.get("id", ""), "kind": kind, "config": dict(node["config"])}
    if node.get("name"):
        made["title"] = node["name"]
    if node.get("toolId"):
        made["config"] = {"tool": node["toolId"]}
    review = node.get("humanReview")
    if review:
        made["kind"] = "human-gate"
        made["config"] = _review(node, review, path, found)
    made["inputs"] = _inputs(node, path, found)
    if node.get("onFailure") in ("continue", "continueWorkflow"):
        made["on_failure"] = "continue"
    elif node.get("onFailure") not in (None, "stop", "stopWorkflow"):
        text = f"on failure {node['onFailure']}"
        found.append(wrong("workflow_unmapped", text, path + "/onFailure"))
    if node.get("maxRetries"):
        made["retry"] = {
            "max_attempts": min(100, node["maxRetries"] + 1),
            "delay_s": node.get("retryDelaySeconds", 1),
        }
    if node.get("timeoutSeconds"):
        made["timeout_s"] = node["timeoutSeconds"]
    if node.get("isEnabled") is False:
        text = "a step that is switched off; leave it out"
        found.append(wrong("workflow_unmapped", text, path + "/isEnabled"))
    found += [
        wrong("workflow_unmapped", f"{name} of a step", f"{path}/{name}")
        for name in ("condition", "rollbackToolId", "schedule", "retryConfig")
        if node.get(name)
    ]
    return made


def _review(
    node: Mapping[str, Any], review: Mapping[str, Any], path: str, found: list[Finding]
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "question": review.get("instructions") or node.get("name") or node["id"],
        "choices": ["approve", "reject"],
    }
    users = review.get("approverUserIds", ())
    if len(users) == 1:
        made["assignee"] = users[0]
    elif users or review.get("approverRoles"):
        text = "one person is asked; several, or roles, have no place here"
        found.append(
            wrong("workflow_unmapped", text, path + "/humanReview", severity=Severity.WARNING)
        )
    if review.get("timeoutHours"):
        made["expires_after_s"] = review["timeoutHours"] * 3600
    return made


def _inputs(node: Mapping[str, Any], path: str, found: list[Finding]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, resolution in node.get("inputResolutions", {}).items():
        if resolution.get("transform"):
            text = "a transform of an input; write it as an expression"
            found.append(
                wrong("workflow_unmapped", text, f"{path}/inputResolutions/{name}/transform")
            )
        if resolution.get("sourceExpression"):
            read = _expression(resolution["sourceExpression"])
        elif "staticValue" in resolution:
            made[name] = {"value": resolution["staticValue"]}
            continue
        else:
            read = None
        if read is not None:
            made[name] = {"from": read}
        elif "defaultValue" in resolution:
            made[name] = {"value": resolution["defaultValue"]}
        else:
            where = pointer("inputResolutions", name)
            text = "where this input comes from cannot be read"
            found.append(wrong("workflow_unmapped", text, path + where))
    for name, source in node.get("inputMappings", {}).items():
        if name in made:
            continue
        read = _expression(source)
        if read is None:
            where = pointer("inputMappings", name)
            text = f"where this input comes from cannot be read: {source[:100]}"
            found.append(wrong("workflow_unmapped", text, path + where))
        else:
            made[name] = {"from": read}
    return made


def _expression(source: str) -> str | None:
    """Read ``trigger.x``, ``variables.x`` and ``step.output`` as an expression."""
    if not _PATH.fullmatch(source):
        return None
    head, _, rest = source.partition(".")
    if head == "trigger":
        return _joined(["inputs", *rest.split(".")]) if rest else "inputs"
    if head in ("variables", "inputs"):
        return _joined([head, *rest.split(".")]) if rest else head
    if head == "steps" and ".output" in rest:
        step, _, more = rest.partition(".output")
        return _joined(["steps", step, "output", *[p for p in more.split(".") if p]])
    return None


def _joined(parts: list[str]) -> str:
    return ".".join(part if _PLAIN.fullmatch(part) else f'"{part}"' for part in parts)


def _ports(ports: Any) -> dict[str, Any]:
    members = {}
    for port in ports:
        known = {"string", "number", "integer", "boolean", "object", "array"}
        type_ = port.get("dataType")
        members[port["name"]] = {"type": type_} if type_ in known else {}
    return {
        "type": "object",
        "properties": members,
        "required": [port["name"] for port in ports if port.get("required")],
        "additionalProperties": False,
    }


def _variables(given: Mapping[str, Any], found: list[Finding]) -> dict[str, Any]:
    made = {}
    for name, variable in given.items():
        path = pointer("variables", name)
        if variable.get("isSecret"):
            text = "a secret is bound to a tool by reference, and is no variable"
            found.append(wrong("workflow_unmapped", text, path))
        elif "defaultValue" in variable:
            made[name] = variable["defaultValue"]
        else:
            text = "a variable without a value"
            found.append(wrong("workflow_unmapped", text, path, severity=Severity.WARNING))
    return made
