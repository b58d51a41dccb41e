"""When a step runs, and when it has completed: as conditions on branches and failures.

A condition is a set of alternatives, each a set of facts that hold together, such as "branch q
chose x". A step certainly completed before another where the other's condition implies it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_workflows.definition.model import choices

if TYPE_CHECKING:
    from holon_workflows.definition.model import Graph, Node

Fact = tuple[str, str]
Alternative = frozenset[Fact]
Condition = frozenset[Alternative]
ALWAYS: Condition = frozenset({frozenset()})
# Beyond this many alternatives nothing is said of a step.
MAX_ALTERNATIVES = 64
_OK, _FAILED = "completed", "failed"


class Conditions:
    """When each step of a graph without cycles runs and completes.

    Args:
        graph: Also one with faults: of nodes that a missing one leads to nothing is said.
        order: Its nodes that are on no cycle, each after those that lead to it.
    """

    def __init__(self, graph: Graph, order: list[str]) -> None:
        self._graph = graph
        self._runs: dict[str, Condition | None] = {}
        self._ancestors: dict[str, set[str]] = {}
        self._known: set[str] = set()
        for node_id in order:
            self._runs[node_id] = self._condition(node_id)
            found: set[str] = set()
            for source in graph.before[node_id]:
                found |= {source} | self._ancestors.get(source, set())
            self._ancestors[node_id] = found
            if found <= self._known:
                self._known.add(node_id)

    def knows(self, node: str) -> bool:
        """Tell whether all that leads to a node is there."""
        return node in self._known

    def is_before(self, step: str, node: str) -> bool:
        """Tell whether a step leads to a node at all."""
        return step in self._ancestors.get(node, ())

    def certainly_completed(self, step: str, node: str | None) -> bool:
        """Tell whether a step has completed whenever a node runs (``None``: whenever a run ends).

        Where there are too many ways to say, it is taken for certain.
        """
        done = self._completes(step)
        runs = ALWAYS if node is None else self._runs.get(node)
        if done is None or runs is None:
            return True
        return all(any(known <= way for known in done) for way in runs)

    def _completes(self, step: str) -> Condition | None:
        runs = self._runs.get(step)
        if runs is None:
            return None
        return _with(runs, {(step, _OK)}) if _may_fail(self._graph.nodes[step]) else runs

    def _condition(self, node_id: str) -> Condition | None:
        before = self._graph.before[node_id]
        if not before:
            return ALWAYS
        ways: set[Alternative] = set()
        for source in before:
            found = self._edge(source, node_id)
            if found is None:
                return None
            ways |= found
        ways = self._merged(ways)
        return None if len(ways) > MAX_ALTERNATIVES else frozenset(ways)

    def _edge(self, source: str, target: str) -> Condition | None:
        runs = self._runs.get(source)
        if runs is None:
            return None
        node = self._graph.nodes[source]
        if target in choices(node):
            return _with(runs, {(source, target)})
        if node.go_to == target:
            return _with(runs, {(source, _FAILED)})
        return _with(runs, {(source, _OK)}) if node.go_to is not None else runs

    def _merged(self, ways: set[Alternative]) -> set[Alternative]:
        """Drop what another alternative implies, and join those that cover every choice."""
        changed = True
        while changed and len(ways) <= MAX_ALTERNATIVES:
            changed = False
            ways = {way for way in ways if not any(other < way for other in ways)}
            for way in sorted(ways, key=len, reverse=True):
                for fact in way:
                    rest = way - {fact}
                    every = self._every(fact[0])
                    if all(
                        any(other <= rest | {(fact[0], word)} for other in ways) for word in every
                    ):
                        ways, changed = (ways - {way}) | {rest}, True
                        break
                if changed:
                    break
        return ways

    def _every(self, node_id: str) -> tuple[str, ...]:
        node = self._graph.nodes[node_id]
        return choices(node) or (_OK, _FAILED)


def _may_fail(node: Node) -> bool:
    """Tell whether a run goes on where a step failed."""
    return node.go_to is not None or not node.stops


def _with(condition: Condition, facts: set[Fact]) -> Condition:
    return frozenset(way | facts for way in condition)
