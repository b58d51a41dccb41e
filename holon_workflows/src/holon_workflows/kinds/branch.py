"""`branch-condition`: goes on to the first node whose condition holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure
from holon_core.records.words import Severity
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.expressions import condition, evaluate, whole_path
from holon_workflows.records import NodeKind, Outcome, completed, failed

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step

MAX_SHOWN = 500
_TEXT = {"type": "string", "minLength": 1, "maxLength": 1000}
_NODE = {"type": "string", "minLength": 1, "maxLength": 64}
CONFIG = {
    "type": "object",
    "properties": {
        "on": {**_TEXT, "description": "What `equals` of the cases is compared with."},
        "cases": {
            "type": "array",
            "minItems": 1,
            "maxItems": 50,
            "items": {
                "type": "object",
                "properties": {"when": _TEXT, "equals": {}, "to": _NODE},
                "required": ["to"],
                "oneOf": [{"required": ["when"]}, {"required": ["equals"]}],
                "additionalProperties": False,
            },
        },
        "default": _NODE,
    },
    "required": ["cases"],
    "additionalProperties": False,
}


def _run(step: Step) -> Outcome:
    config, scope = step.node.config, step.scope
    value = evaluate(config["on"], scope) if "on" in config else None
    for number, case in enumerate(config["cases"]):
        holds = condition(case["when"], scope) if "when" in case else _same(value, case["equals"])
        if holds:
            return _chosen(case["to"], number)
    if "default" in config:
        return _chosen(config["default"], None)
    values = {path: evaluate(path, scope) for path in _looked_at(config)}
    shown = {name: repr(found)[:MAX_SHOWN] for name, found in values.items()}
    conditions = [case.get("when", {"equals": case.get("equals")}) for case in config["cases"]]
    text = "no condition holds, and the branch has no default"
    return failed(failure("workflow_no_branch", text, values=shown, conditions=conditions))


def _same(left: Any, right: Any) -> bool:
    # True is not 1 here: JSON tells them apart.
    return left == right and (isinstance(left, bool) == isinstance(right, bool))


def _chosen(node: str, case: int | None) -> Outcome:
    note = f"goes on to {node}"
    return completed({"chosen": node, "case": case}, chosen=(node,), note=note)


def _looked_at(config: Mapping[str, Any]) -> list[str]:
    from holon_workflows.expressions import paths

    found = [config["on"]] if "on" in config else []
    for case in config["cases"]:
        found += [".".join(path) for path in paths(case["when"])] if "when" in case else []
    return [path for path in dict.fromkeys(found) if "on" in config or whole_path(path)]


def _expressions(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(config.get("on"), str):
        yield "/on", config["on"]
    for number, case in enumerate(config.get("cases", ())):
        if isinstance(case, Mapping) and isinstance(case.get("when"), str):
            yield f"/cases/{number}/when", case["when"]


def _check(node: Node, _about: Checking) -> Iterable[Finding]:
    config = node.config
    if "default" not in config:
        text = "without a default the run fails here where no condition holds"
        yield wrong("workflow_branch", text, "/config", severity=Severity.WARNING)
    for number, case in enumerate(config["cases"]):
        if "equals" in case and "on" not in config:
            text = "equals compares with `on`, which is not there"
            yield wrong("workflow_branch", text, f"/config/cases/{number}/equals")


KIND = NodeKind(
    kind="branch-condition",
    description="Goes on to the node of the first case that holds.",
    config=CONFIG,
    run=_run,
    check=_check,
    expressions=_expressions,
    preview=lambda step: {"cases": list(step.node.config["cases"])},
    output_schema=lambda _node, _about: {"type": "object"},
    repeatable=True,
)
