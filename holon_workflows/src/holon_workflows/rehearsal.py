"""A dry run of a whole workflow: what each step would do, and what would block it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import HolonError
from holon_core.ids import new_id
from holon_workflows.engine.driver import Driver
from holon_workflows.engine.ledger import Lease
from holon_workflows.engine.place import Place
from holon_workflows.engine.starting import checked_inputs
from holon_workflows.engine.state import RunRecord, StepRecord, caller_json
from holon_workflows.engine.step import Step
from holon_workflows.expressions import ExpressionError, evaluate, paths
from holon_workflows.records import StepState

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_workflows.engine.engine import Engine


def rehearse(
    engine: Engine,
    definition: str,
    inputs: Mapping[str, Any],
    *,
    caller: CallerContext,
    version: str | None = None,
    assume: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Show what each step of a run would do; nothing starts, is held or used up.

    Args:
        engine: What it would run on.
        definition: Its id.
        inputs: What it would take.
        caller: In whose name.
        version: The newest where none is named.
        assume: Outputs of steps, by node, that later ones are shown with.

    Returns:
        A step each, in order: its inputs as far as they are known, which are not, the exact
        request of tools, and all that would block it.
    """
    kept = engine.definitions.read(definition, version)
    bound = engine.definitions.version(kept.id, kept.version)
    run_id = new_id("w")
    run = RunRecord(
        id=run_id,
        root=run_id,
        definition=bound.id,
        version=bound.version,
        digest=bound.digest,
        caller=caller_json(caller),
        inputs=checked_inputs(bound, inputs),
        created_at=engine.clock.now(),
    )
    known = {
        node: StepRecord(run=run_id, node=node, state=StepState.COMPLETED, output=output)
        for node, output in (assume or {}).items()
        if node in bound.graph.nodes
    }
    place = Place(run, bound, bound.graph, known)
    # It never writes: nothing of a dry run is a run.
    driver = Driver(engine, Lease(run_id, engine.bench.runtime_id, 0))
    return [_shown(driver, place, node_id) for node_id in place.order]


def _shown(driver: Driver, place: Place, node_id: str) -> dict[str, Any]:
    node = place.graph.nodes[node_id]
    inputs, unknown = _inputs(place, node_id)
    made: dict[str, Any] = {
        "id": node_id,
        "kind": node.kind,
        "inputs": inputs,
        "unknown": unknown,
        "preview": None,
        "blocking_reasons": [],
    }
    record = StepRecord(run=place.run.id, node=node_id)
    step = Step(driver, place, record, inputs=inputs, recovering=False)
    kind = driver.engine.kinds.get(node.kind)
    reason = driver.engine.not_ready(step.node)
    if reason is not None:
        made["blocking_reasons"].append(_reason(reason))
    if kind is None:
        text = f"no installed distribution brings nodes of the kind {node.kind}"
        said = {"code": "dependency_missing", "message": text, "next_action": "install what does"}
        made["blocking_reasons"].append(said)
    elif kind.preview is not None and not unknown:
        try:
            shown = kind.preview(step)
        except HolonError as error:
            shown = {"blocking_reasons": [{"code": "internal", "message": str(error)}]}
        if isinstance(shown, dict):
            made["blocking_reasons"] += shown.pop("blocking_reasons", [])
        made["preview"] = shown
    return made


def _inputs(place: Place, node_id: str) -> tuple[dict[str, Any], list[str]]:
    scope, found, unknown = place.scope(), {}, []
    for name, each in place.graph.nodes[node_id].inputs.items():
        if each.expression is None:
            found[name] = each.value
            continue
        steps = {path[1] for path in paths(each.expression) if path[0] == "steps" and path[1:]}
        if not steps <= scope["steps"].keys():
            unknown.append(name)
            continue
        try:
            value = evaluate(each.expression, scope)
        except ExpressionError:
            unknown.append(name)
            continue
        if value is not None or not each.optional:
            found[name] = value
    return found, unknown


def _reason(given: Any) -> dict[str, Any]:
    return {"code": given.code, "message": given.message, "next_action": given.next_action}
