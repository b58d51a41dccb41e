"""Definitions of workflows in few words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any


def definition(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make a definition of nodes; without edges each follows the one before."""
    made = {"schema_version": "holon-workflow/v1", "id": "demo", "version": "1", **more}
    made["nodes"] = list(nodes)
    if "edges" not in made:
        made["edges"] = line(*(node["id"] for node in nodes))
    return made


def line(*ids: str) -> list[dict[str, str]]:
    """Make the edges of nodes that follow one another."""
    return [{"from": a, "to": b} for a, b in pairwise(ids)]


def call(node_id: str, tool: str = "double", **more: Any) -> dict[str, Any]:
    """Make a node that calls a tool of the host with the number of the run."""
    config = {"tool": f"host.app/{tool}"}
    inputs = {"n": more.pop("n", {"value": 1})}
    return {"id": node_id, "kind": "capability", "config": config, "inputs": inputs, **more}


def node(node_id: str, kind: str, /, config: dict[str, Any] | None = None, **more: Any) -> Any:
    """Make any other node."""
    return {"id": node_id, "kind": kind, "config": config or {}, **more}


NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
