"""Nodes that call one tool under guard: `capability`, `frozen-tool`, `adapter-operation`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from holon_core.records.words import LaneKind, Origin, Readiness, Severity
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.records import NodeKind, Outcome

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step

CONFIG = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "minLength": 1, "maxLength": 400},
        "definition": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
    "required": ["tool"],
    "additionalProperties": False,
}


def _run(step: Step) -> Outcome:
    again = step.repair_call
    if again is not None:
        pin = step.run.pins.get(again["tool"])
        return step.call(again["tool"], again["arguments"], definition=pin)
    config = step.node.config
    pin = config.get("definition") or step.run.pins.get(config["tool"])
    return step.call(config["tool"], step.inputs, definition=pin)


def _preview(step: Step) -> Any:
    result = step.session().dry_run(step.node.config["tool"], step.inputs)
    reasons = [
        {"code": each.code, "message": each.message, "next_action": each.next_action}
        for each in result.blocking_reasons
    ]
    if result.failure is not None:
        failed = result.failure
        reasons.append(
            {
                "code": failed.code,
                "message": failed.message,
                "next_action": failed.next_action,
            }
        )
    return {"request": result.output, "blocking_reasons": reasons}


def _tool(node: Node, about: Checking) -> RuntimeToolDescriptor | None:
    name = node.config.get("tool")
    return about.tool(name) if isinstance(name, str) and name else None


def _check(node: Node, about: Checking) -> Iterable[Finding]:
    tool = _tool(node, about)
    if tool is None:
        problem = about.unknown_tool(node.config["tool"])
        yield wrong("unknown_tool", problem.message, "/config/tool")
        return
    if tool.readiness is Readiness.CATALOG_ONLY:
        text = f"{tool.id} cannot be called here as it is; the run will be blocked at this step"
        yield wrong("unknown_tool", text, "/config/tool", severity=Severity.WARNING)
    pin = node.config.get("definition")
    if pin is not None and pin != tool.digest:
        text = f"{tool.id} is another definition than the one that is pinned"
        yield wrong("version_conflict", text, "/config/definition")


def _check_frozen(node: Node, about: Checking) -> Iterable[Finding]:
    yield from _check(node, about)
    tool = _tool(node, about)
    if tool is not None and tool.origin is not Origin.FROZEN:
        yield wrong("workflow_invalid", f"{tool.id} is not a frozen tool", "/config/tool")


def _check_adapter(node: Node, about: Checking) -> Iterable[Finding]:
    yield from _check(node, about)
    tool = _tool(node, about)
    if tool is not None and tool.lane != LaneKind.ADAPTER.value:
        text = f"{tool.id} is not an operation of an adapter"
        yield wrong("workflow_invalid", text, "/config/tool")


def _gives(node: Node, about: Checking) -> Any:
    tool = _tool(node, about)
    return None if tool is None else tool.output_schema


def _takes(node: Node, about: Checking) -> Any:
    tool = _tool(node, about)
    return None if tool is None else tool.input_schema


def _kind(name: str, description: str, check: Any) -> NodeKind:
    return NodeKind(
        kind=name,
        description=description,
        config=CONFIG,
        run=_run,
        preview=_preview,
        check=check,
        output_schema=_gives,
        input_schema=_takes,
        # The key of the call says what became of it; the call itself looks.
        repeatable=True,
    )


CAPABILITY = _kind("capability", "Calls a tool of the catalogue.", _check)
FROZEN_TOOL = _kind("frozen-tool", "Calls a promoted frozen tool.", _check_frozen)
ADAPTER_OPERATION = _kind("adapter-operation", "Calls an operation of an API.", _check_adapter)
