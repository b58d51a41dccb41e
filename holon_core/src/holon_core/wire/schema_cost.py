"""What validating with a schema can cost, counted on its graph without expanding it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.records.facts import Facts
from holon_core.wire.dialects import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holon_core.wire.schema_graph import Node, SchemaGraph

# Counts are cut here; whatever reaches it is over every budget.
_ENDLESS = 10**12

# A tree of this size is cheap, whatever it looks like, and needs no counting.
_SMALL, _LONGEST_TREE = 100, 32


class SchemaCost(Facts):
    """How often schemas are applied along one path into a value.

    ``paths`` counts a recursion once, as an engine does that remembers what it has checked;
    one that does not multiplies by ``branching`` with each level of the value. ``depth`` is
    the longest chain of schemas that apply to one and the same value.
    """

    paths: int
    branching: int
    depth: int


def rings(graph: SchemaGraph) -> list[list[Node]]:
    """Find schemas that apply to a value only by way of themselves; one ring a group."""
    found: list[list[Node]] = []
    if not graph.references:
        return found
    for group in _groups(graph, same_only=True):
        ring = _ring(group)
        if ring:
            found.append(ring)
    return found


def cost(graph: SchemaGraph) -> SchemaCost:
    """Count the cost of a schema without rings."""
    count = len(graph.nodes)
    if not graph.references and count <= _SMALL:
        return SchemaCost(paths=max(count, 1), branching=0, depth=min(count, _LONGEST_TREE))
    weight: dict[Node, int] = {}
    depth: dict[Node, int] = {}
    for (node,) in _groups(graph, same_only=True):
        same = [target for place, target in node.edges if place is Place.SAME]
        weight[node] = _cut(1 + sum(weight[target] for target in same))
        depth[node] = 1 + max((depth[target] for target in same), default=0)
    paths, branching = _paths(graph, weight)
    return SchemaCost(paths=paths, branching=branching, depth=max(depth.values()))


def measure(value: Any) -> tuple[int, int]:
    """Count a value's nodes, and how deep its containers are nested."""
    count, depth, level = 0, -1, [value]
    while level:
        count += len(level)
        depth += 1
        level = [inner for outer in level for inner in _inside(outer)]
    return count, depth


def _inside(value: Any) -> Iterable[Any]:
    if type(value) is dict:
        return value.values()
    return value if type(value) is list else ()


def _cut(count: int) -> int:
    return min(count, _ENDLESS)


def _paths(graph: SchemaGraph, weight: dict[Node, int]) -> tuple[int, int]:
    paths: dict[Node, int] = {}
    branching = 0
    for group in _groups(graph, same_only=False):
        members = set(group)
        recursive = len(group) > 1 or any(target is group[0] for _, target in group[0].edges)
        costs = [_own_paths(node, members, paths) for node in group]
        if recursive:
            costs = [each + weight[node] for each, node in zip(costs, group, strict=True)]
            branching = max(branching, _branching(members))
        paths.update(dict.fromkeys(group, _cut(max(costs))))
    assert graph.root is not None
    return paths[graph.root], branching


def _own_paths(node: Node, members: set[Node], paths: dict[Node, int]) -> int:
    outside = [
        (place, paths[target])
        for place, target in node.edges
        if place is not Place.NOTHING and target not in members
    ]
    one = max((count for place, count in outside if place is Place.ONE), default=0)
    return 1 + one + sum(count for place, count in outside if place is not Place.ONE)


def _branching(members: set[Node]) -> int:
    """Count how many members one level of a value may lead to from one member."""
    counts: dict[Node, int] = {}

    def count(node: Node) -> int:
        if node not in counts:
            inner = [(place, target) for place, target in node.edges if target in members]
            one = any(place is Place.ONE for place, _ in inner)
            some = sum(place is Place.SOME for place, _ in inner)
            same = sum(count(target) for place, target in inner if place is Place.SAME)
            counts[node] = _cut(one + some + same)
        return counts[node]

    return max(map(count, members))


def _ring(group: list[Node]) -> list[Node]:
    members, way = set(group), [group[0]]
    while True:
        inner = [t for place, t in way[-1].edges if place is Place.SAME and t in members]
        if not inner:
            return []
        if inner[0] in way:
            return [*way[way.index(inner[0]) :], inner[0]]
        way.append(inner[0])


def _groups(graph: SchemaGraph, *, same_only: bool) -> list[list[Node]]:
    """Group nodes that reach one another; every group comes after those that it leads to.

    Tarjan's algorithm, with its own stack: chains of references may be longer than Python's.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    path: list[Node] = []
    on_path: set[Node] = set()
    groups: list[list[Node]] = []
    for start in graph.nodes.values():
        work = [] if start in index else [(start, _targets(start, same_only=same_only))]
        while work:
            node, left = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                path.append(node)
                on_path.add(node)
            if left:
                target = left.pop()
                if target not in index:
                    work.append((target, _targets(target, same_only=same_only)))
                elif target in on_path:
                    low[node] = min(low[node], index[target])
                continue
            work.pop()
            if work:
                outer = work[-1][0]
                low[outer] = min(low[outer], low[node])
            if low[node] == index[node]:
                at = path.index(node)
                groups.append(path[at:])
                on_path.difference_update(path[at:])
                del path[at:]
    return groups


def _targets(node: Node, *, same_only: bool) -> list[Node]:
    followed = (Place.SAME,) if same_only else (Place.SAME, Place.ONE, Place.SOME)
    return [target for place, target in node.edges if place in followed]
