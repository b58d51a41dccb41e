"""A graph drawn: as Mermaid text, and as SVG where graphviz is on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holon_workflows.definition.model import choices

if TYPE_CHECKING:
    from holon_workflows.definition.model import Graph, Node

DRAW_S = 20.0
_SHAPES = {
    "branch-condition": ("{", "}"),
    "human-gate": ("[/", "/]"),
    "plan-approval": ("[/", "/]"),
    "wait-timer": ("([", "])"),
    "map": ("[[", "]]"),
    "loop": ("[[", "]]"),
    "sub-workflow": ("[[", "]]"),
}
_COLOURS = {
    "completed": "#c8e6c9",
    "failed": "#ffcdd2",
    "blocked": "#ffe0b2",
    "interrupted": "#ffe0b2",
    "waiting": "#fff9c4",
    "running": "#bbdefb",
    "skipped": "#eeeeee",
    "cancelled": "#eeeeee",
}


def mermaid(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """Draw a graph in Mermaid's words, coloured by the states of a run where they are given."""
    names = {node_id: f"n{number}" for number, node_id in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for node in graph.nodes.values():
        left, right = _SHAPES.get(node.kind, ("[", "]"))
        label = _label(node).replace('"', "#quot;").replace("\n", "<br/>")
        lines.append(f'    {names[node.id]}{left}"{label}"{right}')
    for source, target in graph.edges:
        said = _said(graph.nodes[source], target)
        arrow = f'-- "{said}" -->' if said else "-->"
        lines.append(f"    {names[source]} {arrow} {names[target]}")
    for node_id, state in (states or {}).items():
        if state in _COLOURS:
            lines.append(f"    style {names[node_id]} fill:{_COLOURS[state]}")
    return "\n".join(lines) + "\n"


def svg(graph: Graph, states: Mapping[str, str] | None = None) -> str | None:
    """Draw the same as SVG where graphviz is on this machine; ``None`` where it is not."""
    from holon_core.frozen.graph import drawn

    return drawn(_dot(graph, states or {}))


def _dot(graph: Graph, states: Mapping[str, str]) -> str:
    lines = ["digraph workflow {", '  node [shape=box, style="rounded,filled", fillcolor=white];']
    for node in graph.nodes.values():
        colour = _COLOURS.get(states.get(node.id, ""), "white")
        lines.append(
            f"  {_quoted(node.id)} [label={_quoted(_label(node))}, fillcolor={_quoted(colour)}];"
        )
    for source, target in graph.edges:
        said = _quoted(_said(graph.nodes[source], target))
        lines.append(f"  {_quoted(source)} -> {_quoted(target)} [label={said}];")
    return "\n".join([*lines, "}"]) + "\n"


def _label(node: Node) -> str:
    what = node.config.get("tool") or node.config.get("workflow") or node.title
    return f"{node.id}\n{node.kind}" + (f"\n{what}" if what else "")


def _said(node: Node, target: str) -> str:
    if node.go_to == target:
        return "failed"
    if target not in choices(node):
        return ""
    cases = [str(n + 1) for n, case in enumerate(node.config["cases"]) if case["to"] == target]
    if node.config.get("default") == target:
        cases.append("default")
    return ", ".join(cases)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
