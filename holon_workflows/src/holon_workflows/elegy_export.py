"""A definition written as Elegy's canonical workflow graph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.words import Severity
from holon_workflows.definition.checking import pointer, wrong
from holon_workflows.elegy_graph import FORMAT

if TYPE_CHECKING:
    from holon_core.records.finding import Finding

_MEMBER = "x-holon"


def export_graph(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Write a definition as a canonical workflow graph.

    What has no place there stands in the ``config`` of its node under ``x-holon``, and is told.

    Returns:
        The graph, and a warning for each part that other readers will not understand.
    """
    found: list[Finding] = []
    inputs = document.get("inputs") or {}
    required = inputs.get("required", ()) if isinstance(inputs, Mapping) else ()
    members = inputs.get("properties", {}) if isinstance(inputs, Mapping) else {}
    made: dict[str, Any] = {
        "canonicalFormat": FORMAT,
        "canonicalVersion": 1,
        "trigger": {
            "type": "manual",
            "inputSchema": [_port(n, s, required=n in required) for n, s in members.items()],
        },
        "nodes": [_exported(node, n, found) for n, node in enumerate(document["nodes"])],
        "edges": [
            {
                "fromStepId": edge["from"],
                "fromPort": "output",
                "toStepId": edge["to"],
                "toPort": "input",
                "priority": 0,
            }
            for edge in document.get("edges", ())
        ],
        "variables": {
            name: {"name": name, "dataType": _type(value), "isSecret": False, "defaultValue": value}
            for name, value in document.get("variables", {}).items()
        },
    }
    if "entry" in document:
        made["entryStepId"] = document["entry"]
    return made, found


def _exported(node: Mapping[str, Any], position: int, found: list[Finding]) -> dict[str, Any]:
    retry = node.get("retry", {})
    config = dict(node.get("config", {}))
    made: dict[str, Any] = {
        "id": node["id"],
        "name": node.get("title", node["id"]),
        "type": node["kind"],
        "inputs": [_port(name, {}, required=True) for name in node.get("inputs", {})],
        "outputs": [_port("output", node.get("output_schema") or {}, required=False)],
        "config": config,
        "inputMappings": {},
        "inputResolutions": {},
        "onFailure": "continueWorkflow" if node.get("on_failure") == "continue" else "stopWorkflow",
        "maxRetries": retry.get("max_attempts", 1) - 1,
        "retryDelaySeconds": int(retry.get("delay_s", 0)),
        "timeoutSeconds": int(node.get("timeout_s", 0)),
        "persistOutput": True,
        "isEnabled": True,
    }
    if node["kind"] in ("capability", "frozen-tool", "adapter-operation"):
        made["toolId"] = config.pop("tool")
    for name, each in node.get("inputs", {}).items():
        if "value" in each:
            made["inputResolutions"][name] = {"staticValue": each["value"]}
        else:
            source = re.sub(r"^inputs\b", "trigger", each["from"]).replace('"', "")
            made["inputResolutions"][name] = {"sourceExpression": source}
            made["inputMappings"][name] = source
    own = {
        name: node[name]
        for name in ("on_failure", "needs_bridges", "repair", "output_schema")
        if name in node and node[name] not in ("stop", "continue")
    }
    if own:
        config[_MEMBER] = own
        text = f"others will not understand {', '.join(own)}"
        path = pointer("nodes", position)
        found.append(wrong("workflow_unmapped", text, path, severity=Severity.WARNING))
    return made


def _port(name: str, schema: Any, *, required: bool) -> dict[str, Any]:
    type_ = schema.get("type") if isinstance(schema, Mapping) else None
    return {
        "name": name,
        "dataType": type_ if isinstance(type_, str) else "any",
        "required": required,
        "allowMultiple": False,
    }


def _type(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")
