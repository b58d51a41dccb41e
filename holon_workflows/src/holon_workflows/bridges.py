"""Bridges to other programs: what is piloted, by which surface, and whether it is ready now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import Refused, Rejected
from holon_core.governed import Facet
from holon_core.nearest import nearest
from holon_core.records.failure import StructuredFailure, failure
from holon_core.wire.canonical import digest
from holon_core.wire.schema_engine import compiled
from holon_core.wire.values import normalise
from holon_workflows.bridge_forms import FORMS
from holon_workflows.definition.checking import wrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.clock import Clock
    from holon_core.workbench import Change, Workbench
    from holon_workflows.definition.model import Node

FORM_DOMAIN = "holon-bridge-form/1"
OPEN, CLOSED = "open", "closed"
# What names another thing, and of which noun that is.
REFERENCES = {
    "surface-map": {"target": "target-descriptor"},
    "bridge-binding": {"surface_map": "surface-map"},
    "bridge-session": {"binding": "bridge-binding"},
    "target-descriptor": {},
}


@frozen(kw_only=True)
class Readiness:
    """Whether a bridge is ready, and all that keeps it from being so."""

    binding: str
    ready: bool
    reasons: tuple[str, ...]
    session: str | None = None
    seen_at: float | None = None


class Bridges(Facet):
    """Keeps what bridges consist of, and computes whether one is ready.

    Args:
        bench: The store.
        clock: For times.
    """

    def __init__(self, bench: Workbench, clock: Clock) -> None:
        self._bench = bench
        self._clock = clock

    def create(self, noun: str, thing: Mapping[str, Any], *, by: str) -> dict[str, Any]:
        """Keep a thing of a noun under its id.

        Raises:
            Rejected: It does not fit its form, names what is not there, or its id is taken.
        """
        return self.governed(f"{noun}/create", thing, lambda: self._create(noun, thing, by), by=by)

    def _create(self, noun: str, thing: Mapping[str, Any], by: str) -> dict[str, Any]:
        made = self._checked(noun, thing)
        now = self._clock.now()
        kept = {
            **made,
            "state": OPEN,
            "created_by": by,
            "created_at": now,
            "updated_at": now,
        }

        def work(change: Change) -> None:
            if change.get(noun, made["id"]) is not None:
                text = f"{made['id']} is there already"
                raise Rejected(noun, [wrong("duplicate_id", text, "/id")])
            change.put(noun, made["id"], kept)

        self._bench.change(work)
        return kept

    def update(
        self, noun: str, thing: Mapping[str, Any], *, by: str | None = None
    ) -> dict[str, Any]:
        """Put a thing in place of the one of its id; of a session this is a sign of life.

        Raises:
            Rejected: As for ``create``.
            Refused: ``unknown_bridge``; ``workflow_state``: it was closed.
        """
        return self.governed(f"{noun}/update", thing, lambda: self._update(noun, thing), by=by)

    def _update(self, noun: str, thing: Mapping[str, Any]) -> dict[str, Any]:
        before = self.read(noun, str(thing.get("id")))
        own = FORMS[noun]["properties"]
        merged = {name: before[name] for name in own if name in before} | dict(thing)
        made = self._checked(noun, merged)

        def work(change: Change) -> dict[str, Any]:
            found = change.get(noun, made["id"])
            if found is None or found["state"] == CLOSED:
                text = f"{made['id']} was closed"
                raise Refused(failure("workflow_state", text))
            kept = {**found, **made, "updated_at": self._clock.now()}
            change.put(noun, made["id"], kept)
            return kept

        return self._bench.change(work)

    def close(self, noun: str, thing_id: str, *, by: str | None = None) -> dict[str, Any]:
        """Close a thing; it stays readable, and nothing is ready by it any more.

        Raises:
            Refused: ``unknown_bridge``.
        """
        given = {"id": thing_id}
        return self.governed(f"{noun}/close", given, lambda: self._close(noun, thing_id), by=by)

    def _close(self, noun: str, thing_id: str) -> dict[str, Any]:
        self.read(noun, thing_id)

        def work(change: Change) -> dict[str, Any]:
            found: dict[str, Any] = change.get(noun, thing_id)
            kept = {**found, "state": CLOSED, "updated_at": self._clock.now()}
            change.put(noun, thing_id, kept)
            return kept

        return self._bench.change(work)

    def read(self, noun: str, thing_id: str) -> dict[str, Any]:
        """Return a thing.

        Raises:
            Refused: ``unknown_bridge``.
        """
        found: dict[str, Any] | None = self._bench.read(lambda view: view.get(noun, thing_id))
        if found is None:
            ids = [each["id"] for each in self.list(noun)]
            text = f"no {noun} {thing_id[:200]}{nearest(thing_id, ids, most=3)}"
            raise Refused(failure("unknown_bridge", text))
        return found

    def list(self, noun: str, *, after: str = "", limit: int = 1000) -> Sequence[dict[str, Any]]:
        """Return things of a noun by id."""
        rows = self._bench.read(lambda view: view.under(noun, after=after, limit=limit))
        return [each for _, each in rows]

    def _all(self, noun: str) -> Sequence[dict[str, Any]]:
        return self._bench.read(lambda view: [each for _, each in view.every(noun)])

    def readiness(self, binding: str) -> Readiness:
        """Compute whether a bridge is ready: binding, map, target, session, freshness, needs.

        Raises:
            Refused: ``unknown_bridge``.
        """
        return self._readiness(binding, frozenset())

    def _readiness(self, binding: str, within: frozenset[str]) -> Readiness:
        found = self.read("bridge-binding", binding)
        reasons = [] if found["state"] == OPEN else ["the binding is closed"]
        reasons += self._missing(found)
        session = self._session(binding)
        if session is None:
            reasons.append("no session is open")
        else:
            age = self._clock.now() - session["updated_at"]
            most = found.get("max_age_s", 300)
            if session["status"] != "ready":
                reasons.append(f"its session is {session['status']}")
            if age > most:
                reasons.append(
                    f"its session was last heard of {age:.0f} s ago, and {most:g} s is allowed"
                )
        for needed in found.get("needs", ()):
            if needed in within or needed == binding:
                reasons.append(f"it needs {needed}, which needs it")
                continue
            try:
                other = self._readiness(needed, within | {binding})
            except Refused:
                reasons.append(f"it needs {needed}, which is not there")
                continue
            if not other.ready:
                reasons.append(f"it needs {needed}, which is not ready: {other.reasons[0]}")
        return Readiness(
            binding=binding,
            ready=not reasons,
            reasons=tuple(reasons),
            session=None if session is None else session["id"],
            seen_at=None if session is None else session["updated_at"],
        )

    def _missing(self, binding: Mapping[str, Any]) -> Sequence[str]:
        surface: Any = self._bench.read(
            lambda view: view.get("surface-map", binding["surface_map"])
        )
        if surface is None or surface["state"] == CLOSED:
            return ["its surface map is closed"]
        target: Any = self._bench.read(
            lambda view: view.get("target-descriptor", surface["target"])
        )
        return ["its target is closed"] if target is None or target["state"] == CLOSED else []

    def _session(self, binding: str) -> dict[str, Any] | None:
        """Return the open session of a binding that was heard of last."""
        open_ones = [
            each
            for each in self._all("bridge-session")
            if each["binding"] == binding and each["state"] == OPEN
        ]
        return max(open_ones, key=lambda each: float(each["updated_at"]), default=None)

    def not_ready(self, node: Node) -> StructuredFailure | None:
        """Say which bridge keeps the step of a node from running."""
        for binding in node.needs_bridges:
            try:
                found = self.readiness(binding)
            except Refused as error:
                text = error.failure.message
                return failure("bridge_not_ready", text, bridge=binding)
            if not found.ready:
                text = f"the bridge {binding} is not ready: {'; '.join(found.reasons)}"
                return failure(
                    "bridge_not_ready", text, bridge=binding, reasons=list(found.reasons)
                )
        return None

    def _checked(self, noun: str, thing: Mapping[str, Any]) -> Any:
        form = FORMS[noun]
        made: Any = normalise(dict(thing)).value
        errors = compiled(form, digest(form, domain=FORM_DOMAIN)).errors(made)
        if errors:
            raise Rejected(noun, [wrong("record_invalid", e.message, e.path) for e in errors])
        for name, of in REFERENCES[noun].items():
            found: Any = self._bench.read(lambda view, name=name, of=of: view.get(of, made[name]))  # type: ignore[misc]
            if found is None:
                ids = [each["id"] for each in self.list(of)]
                text = f"no {of} {made[name]}{nearest(made[name], ids)}"
                raise Rejected(noun, [wrong("unresolved_ref", text, f"/{name}")])
        return made
