"""What is wrong with the shape of a graph: ids, edges, cycles, what nothing reaches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.nearest import nearest
from holon_workflows.definition.checking import pointer, wrong
from holon_workflows.definition.model import choices

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Graph


def find_problems(document: Mapping[str, Any], graph: Graph) -> Iterator[Finding]:
    """Go through ids, edges and entry; then cycles, and nodes that nothing reaches."""
    yield from _ids(document)
    yield from _edges(document, graph)
    entry = graph.entry
    if entry is not None and entry not in graph.nodes:
        yield _missing(entry, graph, "/entry")
    for ring in _rings(graph):
        shown = " -> ".join([*ring, ring[0]])
        position = _position(document, ring[0])
        text = f"the nodes go round in a cycle: {shown}; a loop node repeats a body, with a limit"
        yield wrong("workflow_cycle", text, pointer("nodes", position))
    if entry is None or entry in graph.nodes:
        yield from _unreachable(document, graph)


def order(graph: Graph) -> list[str]:
    """Return nodes so that each comes after those that lead to it; those of cycles are left out."""
    left = {node_id: set(before) & graph.nodes.keys() for node_id, before in graph.before.items()}
    targets: dict[str, list[str]] = {}
    for source, target in graph.edges:
        targets.setdefault(source, []).append(target)
    made = [node_id for node_id, before in left.items() if not before]
    for node_id in made:
        for target in targets.get(node_id, ()):
            if target in left and node_id in left[target]:
                left[target].discard(node_id)
                if not left[target]:
                    made.append(target)
    return made


def _ids(document: Mapping[str, Any]) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for position, node in enumerate(document["nodes"]):
        first = seen.setdefault(node["id"], position)
        if first != position:
            text = f"{node['id']} is the id of {pointer('nodes', first)}, too"
            yield wrong("duplicate_id", text, pointer("nodes", position, "id"))


def _edges(document: Mapping[str, Any], graph: Graph) -> Iterator[Finding]:
    for position, edge in enumerate(document.get("edges", ())):
        for end in ("from", "to"):
            if edge[end] not in graph.nodes:
                yield _missing(edge[end], graph, pointer("edges", position, end))
        source = graph.nodes.get(edge["from"])
        branches = source is not None and source.kind == "branch-condition"
        if branches and source is not None and edge["to"] not in choices(source):
            text = "a branch goes on to what its cases and default name, and nowhere else"
            yield wrong("workflow_branch", text, pointer("edges", position))
    for position, node in enumerate(document["nodes"]):
        config = node.get("config", {})
        failing = node.get("on_failure")
        if isinstance(failing, Mapping) and failing["go_to"] not in graph.nodes:
            path = pointer("nodes", position, "on_failure", "go_to")
            yield _missing(failing["go_to"], graph, path)
        if node["kind"] != "branch-condition":
            continue
        for number, case in enumerate(config.get("cases", ())):
            if isinstance(case, Mapping) and case.get("to") not in graph.nodes:
                path = pointer("nodes", position, "config", "cases", number, "to")
                yield _missing(str(case.get("to")), graph, path)
        if config.get("default") is not None and config["default"] not in graph.nodes:
            path = pointer("nodes", position, "config", "default")
            yield _missing(str(config["default"]), graph, path)


def _missing(node_id: str, graph: Graph, path: str) -> Finding:
    text = f"no node {node_id}{nearest(node_id, graph.nodes, most=3)}"
    return wrong("unresolved_ref", text, path)


def _position(document: Mapping[str, Any], node_id: str) -> int:
    return next(n for n, node in enumerate(document["nodes"]) if node["id"] == node_id)


def _unreachable(document: Mapping[str, Any], graph: Graph) -> Iterator[Finding]:
    roots = [graph.entry] if graph.entry else [n for n, b in graph.before.items() if not b]
    reached, todo = set(roots), list(roots)
    while todo:
        source = todo.pop()
        for start, target in graph.edges:
            if start == source and target not in reached:
                reached.add(target)
                todo.append(target)
    # What lies on a cycle, or only behind one, is told by the cycle.
    behind = set() if graph.entry else graph.nodes.keys() - set(order(graph))
    for node_id in graph.nodes:
        if node_id not in reached and node_id not in behind:
            path = pointer("nodes", _position(document, node_id))
            yield wrong("workflow_unreachable", f"nothing leads to {node_id}", path)


def _rings(graph: Graph) -> list[list[str]]:
    """Return one ring for each group of nodes that go round."""
    inside = graph.nodes.keys() - set(order(graph))
    targets: dict[str, list[str]] = {}
    for source, target in graph.edges:
        if source in inside and target in inside:
            targets.setdefault(source, []).append(target)
    done: set[str] = set()
    rings = []
    for start in graph.nodes:
        if start not in inside or start in done:
            continue
        path, on_path = [start], {start: 0}
        walks = [iter(targets.get(start, ()))]
        while walks:
            step = next(walks[-1], None)
            if step is None:
                walks.pop()
                done.add(path.pop())
                on_path = {node: n for n, node in enumerate(path)}
            elif step in on_path:
                rings.append(path[on_path[step] :])
                done |= set(path)
                break
            elif step not in done:
                on_path[step] = len(path)
                path.append(step)
                walks.append(iter(targets.get(step, ())))
    return rings
