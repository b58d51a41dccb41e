"""`map`, `loop` and `sub-workflow`: steps that start runs within their run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused, StructuredFailureKind
from holon_core.nearest import nearest
from holon_core.records.failure import StructuredFailure, failure
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.definition.rings import ring_of
from holon_workflows.engine.starting import checked_inputs
from holon_workflows.engine.state import RunRecord
from holon_workflows.expressions import condition, evaluate
from holon_workflows.records import (
    RUN_ENDS,
    NodeKind,
    Outcome,
    RunState,
    completed,
    failed,
    waiting,
)

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Definition, Node
    from holon_workflows.engine.step import Step

MAX_DEPTH = 10
MAX_ITEMS = 10_000
MAX_PARALLEL = 8
MAX_TURNS = 10_000
_EXPRESSION = {"type": "string", "minLength": 1, "maxLength": 1000}
_BODY = {"type": "object", "description": "A graph: nodes, edges, outputs."}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


MAP_CONFIG = _object(
    ["over", "body"],
    over={**_EXPRESSION, "description": "Gives the list; the body runs once for each item."},
    body=_BODY,
    max_parallel={"type": "integer", "minimum": 1, "maximum": MAX_PARALLEL},
    max_items={"type": "integer", "minimum": 1, "maximum": MAX_ITEMS},
    on_item_failure={"type": "string", "enum": ["stop", "continue"]},
)
LOOP_CONFIG = _object(
    ["body", "while", "max_turns"],
    body=_BODY,
    max_turns={"type": "integer", "minimum": 1, "maximum": MAX_TURNS},
    **{"while": {**_EXPRESSION, "description": "Asked after each turn: whether another follows."}},
)
SUB_CONFIG = _object(
    ["workflow"],
    workflow={"type": "string", "minLength": 1, "maxLength": 200},
    version={"type": "string", "minLength": 1, "maxLength": 64},
)


def _child(
    step: Step, index: int, inputs: Any, *, definition: Definition, path: list[str]
) -> RunRecord:
    """Start a run within the step's run, or find the one that was started, and drive it."""
    driver, run = step.driver, step.run
    child_id = f"{run.id}:{step.node.id}.{index}"
    found = driver.engine.ledger.run(child_id)
    if found is None:
        found = RunRecord(
            id=child_id,
            root=run.root,
            parent=[run.id, step.node.id, index],
            definition=definition.id,
            version=definition.version,
            digest=definition.digest,
            path=path,
            caller=run.caller,
            inputs=inputs,
            created_at=step.now,
            bound=run.bound,
            pins=run.pins,
        )
    own = (found.parent, found.root, found.digest, found.path, found.caller)
    if own != ([run.id, step.node.id, index], run.root, definition.digest, path, run.caller):
        raise Refused(failure("conflict", f"{child_id} is not a run of this step", run=child_id))
    if found.state not in RUN_ENDS:
        driver.advance(driver.place(found))
    return found


def _too_deep(step: Step) -> Outcome | None:
    if step.run.id.count(":") < MAX_DEPTH:
        return None
    text = f"runs within runs, more than {MAX_DEPTH} deep"
    return failed(failure("workflow_limit", text))


def _body(step: Step, index: int, inputs: Any) -> RunRecord:
    path = [*step.run.path, step.node.id]
    return _child(step, index, inputs, definition=step.place.definition, path=path)


def _waits(children: Iterable[RunRecord]) -> Outcome:
    left = [each for each in children if each.state not in RUN_ENDS]
    due = [each.due_at for each in left if each.due_at is not None]
    text = f"waits for {len(left)} run{'s' if len(left) > 1 else ''} within it"
    return waiting({"for": "runs"}, due_at=min(due, default=None), note=text)


def _failure_of(child: RunRecord) -> StructuredFailure:
    given = child.failure or {}
    kind = StructuredFailureKind(given.get("kind", "internal"))
    details = {**given.get("details", {}), "run": child.id, "step": given.get("step")}
    text = str(given.get("message", "it was cancelled"))
    return StructuredFailure(
        kind=kind, code=given.get("code", "internal"), message=text, details=details
    )


def _close(step: Step) -> None:
    for child in step.driver.engine.ledger.children(step.run.id):
        if child.parent and child.parent[1] == step.node.id:
            step.driver.settling.cancel_child(child)


def _map(step: Step) -> Outcome:
    config = step.node.config
    items = evaluate(config["over"], step.scope)
    if not isinstance(items, list):
        text = f"a list is needed, and {config['over']} gave {type(items).__name__}"
        return failed(failure("workflow_expression", text))
    most = config.get("max_items", 1000)
    deep = _too_deep(step)
    if deep is not None:
        return deep
    if len(items) > most:
        text = f"{len(items)} items, and at most {most} are allowed"
        return failed(failure("workflow_limit", text, items=len(items), max_items=most))
    children = _run_items(step, items)
    stops = config.get("on_item_failure", "stop") == "stop"
    broken = [each for each in children if each.state in (RunState.FAILED, RunState.CANCELLED)]
    if broken and stops:
        _close(step)
        return failed(_failure_of(broken[0]))
    if len(children) < len(items) or any(each.state not in RUN_ENDS for each in children):
        return _waits(children)
    output = {
        "items": [each.outputs for each in children],
        "failed": [each.parent[2] for each in broken if each.parent],
    }
    return completed(output, note=f"{len(items)} items")


def _run_items(step: Step, items: list[Any]) -> list[RunRecord]:
    config = step.node.config
    stops = config.get("on_item_failure", "stop") == "stop"
    stopped: list[int] = []

    def one(index: int, item: Any) -> RunRecord | None:
        if step.cancelled or step.driver.stopping or (stopped and stops):
            return None
        child = _body(step, index, {**step.inputs, "item": item, "index": index})
        if child.state is RunState.FAILED:
            stopped.append(index)
        return child

    workers = min(config.get("max_parallel", 4), max(1, len(items)))
    with ThreadPoolExecutor(workers, thread_name_prefix="holon-workflow-map") as pool:
        futures: list[Future[RunRecord | None]] = [
            pool.submit(one, index, item) for index, item in enumerate(items)
        ]
    found = [future.result() for future in futures]
    return [child for child in found if child is not None]


def _loop(step: Step) -> Outcome:
    config, most = step.node.config, step.node.config["max_turns"]
    deep = _too_deep(step)
    if deep is not None:
        return deep
    previous: Any = None
    for turn in range(most):
        child = _body(step, turn, {**step.inputs, "turn": turn, "previous": previous})
        if child.state not in RUN_ENDS:
            return _waits([child])
        if child.state is not RunState.COMPLETED:
            return failed(_failure_of(child))
        previous = child.outputs
        if not condition(config["while"], {**step.scope, "turn": turn, "previous": previous}):
            return completed({"turns": turn + 1, "output": previous}, note=f"{turn + 1} turns")
    text = f"{most} turns, and the condition still holds"
    return failed(failure("workflow_limit", text, turns=most))


def _sub(step: Step) -> Outcome:
    deep = _too_deep(step)
    if deep is not None:
        return deep
    name = step.node.config["workflow"]
    version = step.node.config.get("version") or step.run.bound[name]
    definition = step.driver.engine.definitions.version(name, version)
    try:
        inputs = checked_inputs(definition, step.inputs)
    except Refused as error:
        return failed(error.failure)
    child = _child(step, 0, inputs, definition=definition, path=[])
    if child.state not in RUN_ENDS:
        return _waits([child])
    if child.state is not RunState.COMPLETED:
        return failed(_failure_of(child))
    return completed(child.outputs)


def _over(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(config.get("over"), str):
        yield "/over", config["over"]


def _while(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(config.get("while"), str):
        yield "/while", config["while"]


def _check_sub(node: Node, about: Checking) -> Iterable[Finding]:
    name, version = node.config["workflow"], node.config.get("version")
    ring = ring_of(about, name, version)
    if ring:
        text = f"it would start itself: {' -> '.join((about.own_id, *ring))}"
        text += "; a loop repeats a body, with a limit"
        yield wrong("workflow_cycle", text, "/config/workflow")
    elif about.definition(name, version) is None:
        text = f"no workflow definition {name}{nearest(name, about.definitions(), most=3)}"
        yield wrong("unresolved_ref", text, "/config/workflow")


def _takes(node: Node, about: Checking) -> Any:
    found = about.definition(str(node.config.get("workflow")), node.config.get("version"))
    return None if found is None else found.inputs


MAP = NodeKind(
    kind="map",
    description="Runs a body once for each item of a list, several at a time.",
    config=MAP_CONFIG,
    run=_map,
    expressions=_over,
    preview=lambda step: {"would run for each of": step.node.config["over"]},
    output_schema=lambda _node, _about: {
        "type": "object",
        "properties": {"items": {"type": "array"}, "failed": {"type": "array"}},
        "additionalProperties": False,
    },
    repeatable=True,
    closes=_close,
)
LOOP = NodeKind(
    kind="loop",
    description="Runs a body again while a condition holds, up to a limit.",
    config=LOOP_CONFIG,
    run=_loop,
    expressions=_while,
    preview=lambda step: {"would repeat while": step.node.config["while"]},
    output_schema=lambda _node, _about: {
        "type": "object",
        "properties": {"turns": {"type": "integer"}, "output": {}},
        "additionalProperties": False,
    },
    repeatable=True,
    closes=_close,
)
SUB_WORKFLOW = NodeKind(
    kind="sub-workflow",
    description="Runs another workflow, bound to a version when the run starts.",
    config=SUB_CONFIG,
    run=_sub,
    check=_check_sub,
    preview=lambda step: {"would run": dict(step.node.config), "inputs": step.inputs},
    input_schema=_takes,
    repeatable=True,
    closes=_close,
)
