"""A definition as the engine reads it: nodes, what leads to what, and what a body holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

DIGEST_DOMAIN = "holon-workflow-definition/1"


@frozen(kw_only=True)
class Input:
    """Where one input of a node comes from: an expression, or a value."""

    expression: str | None = None
    value: Any = None
    optional: bool = False


@frozen(kw_only=True)
class Retry:
    """How often a step is tried, and how long is waited between; delays in seconds."""

    max_attempts: int = 1
    delay_s: float = 1.0
    backoff: float = 2.0
    max_delay_s: float = 300.0

    def delay(self, attempt: int) -> float:
        """Return how long to wait after an attempt that failed, counted from 1."""
        return float(min(self.max_delay_s, self.delay_s * self.backoff ** (attempt - 1)))


@frozen(kw_only=True)
class Node:
    """One node. ``go_to`` is the step that a failure leads to; ``stops`` ends the run."""

    id: str
    kind: str
    title: str = ""
    config: Mapping[str, Any] = field(factory=dict)
    inputs: Mapping[str, Input] = field(factory=dict)
    output_schema: Any = None
    stops: bool = True
    go_to: str | None = None
    retry: Retry = Retry()
    timeout_s: float | None = None
    needs_bridges: tuple[str, ...] = ()
    repair: Mapping[str, Any] | None = None


@frozen(kw_only=True, eq=False)
class Graph:
    """Nodes by id, in their order, and the edges between them; of a definition or of a body.

    ``before`` names for each node the nodes that lead to it, by edges, branches or failures.
    """

    nodes: Mapping[str, Node]
    edges: tuple[tuple[str, str], ...]
    before: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, str]
    entry: str | None = None


@frozen(kw_only=True, eq=False)
class Definition:
    """One version of a definition; ``digest`` identifies what it says."""

    id: str
    version: str
    digest: str
    document: Mapping[str, Any]
    graph: Graph
    inputs: Any = None
    variables: Mapping[str, Any] = field(factory=dict)

    def body(self, path: tuple[str, ...]) -> Graph:
        """Return the graph at a path of nodes that have bodies; the whole for an empty one."""
        graph = self.graph
        for node_id in path:
            graph = read_graph(graph.nodes[node_id].config["body"])
        return graph


def read_definition(document: Mapping[str, Any]) -> Definition:
    """Read a document that is valid."""
    from holon_core.wire.canonical import digest

    return Definition(
        id=document["id"],
        version=document["version"],
        digest=digest(document, domain=DIGEST_DOMAIN),
        document=document,
        graph=read_graph(document),
        inputs=document.get("inputs"),
        variables=document.get("variables", {}),
    )


def read_graph(document: Mapping[str, Any]) -> Graph:
    """Read the graph of a document, or of the body of a node; of two nodes of an id the first."""
    nodes: dict[str, Node] = {}
    for each in document["nodes"]:
        nodes.setdefault(each["id"], _node(each))
    edges = [(edge["from"], edge["to"]) for edge in document.get("edges", ())]
    for node in nodes.values():
        edges += [(node.id, target) for target in choices(node)]
        if node.go_to is not None:
            edges.append((node.id, node.go_to))
    edges = list(dict.fromkeys(edges))
    before: dict[str, list[str]] = {node_id: [] for node_id in nodes}
    for source, target in edges:
        if target in before:
            before[target].append(source)
    return Graph(
        nodes=nodes,
        edges=tuple(edges),
        before={node_id: tuple(found) for node_id, found in before.items()},
        outputs=document.get("outputs", {}),
        entry=document.get("entry"),
    )


def choices(node: Node) -> tuple[str, ...]:
    """Return the nodes that a branch may choose; none for every other kind."""
    if node.kind != "branch-condition":
        return ()
    cases = node.config.get("cases", ())
    found = [case["to"] for case in cases if isinstance(case, Mapping) and "to" in case]
    if node.config.get("default") is not None:
        found.append(node.config["default"])
    return tuple(dict.fromkeys(found))


def _node(given: Mapping[str, Any]) -> Node:
    failing = given.get("on_failure", "stop")
    retry = given.get("retry")
    return Node(
        id=given["id"],
        kind=given["kind"],
        title=given.get("title", ""),
        config=given.get("config", {}),
        inputs={name: read_input(each) for name, each in given.get("inputs", {}).items()},
        output_schema=given.get("output_schema"),
        stops=failing == "stop",
        go_to=failing["go_to"] if isinstance(failing, Mapping) else None,
        retry=Retry() if retry is None else Retry(**retry),
        timeout_s=given.get("timeout_s"),
        needs_bridges=tuple(given.get("needs_bridges", ())),
        repair=given.get("repair"),
    )


def read_input(given: Mapping[str, Any]) -> Input:
    """Read where one input comes from."""
    if "from" in given:
        return Input(expression=given["from"], optional=given.get("optional", False))
    return Input(value=given["value"])
