"""From a plan that passed its gate to a definition, with findings where it has no place there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.words import Severity
from holon_workflows.definition.checking import pointer, wrong
from holon_workflows.definition.form import VERSION

if TYPE_CHECKING:
    from holon_core.records.finding import Finding


def from_plan(
    plan: Mapping[str, Any],
    *,
    digest: str,
    definition: str,
    version: str,
    ai: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], list[Finding]]:
    """Make a definition of a plan.

    Args:
        plan: A ``planner_output`` that was accepted.
        digest: Of that output; the definition keeps it.
        definition: The id to give.
        version: The version to give.
        ai: The config of AI steps, for steps that only instruct; without it they have no place.

    Returns:
        The definition, and what of the plan has no place in it: an error where a step would be
        lost, a warning where something about one is.
    """
    findings: list[Finding] = []
    steps = plan["steps"]
    ordered = not any(step.get("depends_on") for step in steps)
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, str]] = []
    for position, step in enumerate(steps):
        node, found = _node(step, ai)
        findings += [
            wrong(f.code, f.message, pointer("steps", position) + f.path, severity=f.severity)
            for f in found
        ]
        nodes.append(node)
        before = [steps[position - 1]["id"]] if ordered and position else step.get("depends_on", [])
        edges += [{"from": _id(each), "to": node["id"]} for each in before]
    document = {
        "schema_version": VERSION,
        "id": definition,
        "version": version,
        "title": plan["goal"][:200],
        "plan_digest": digest,
        "nodes": nodes,
        "edges": edges,
        "outputs": {node["id"]: f'steps."{node["id"]}".output' for node in nodes},
    }
    return document, findings


def _id(step: str) -> str:
    return step if step[0].isalpha() else f"s_{step}"


def _node(
    step: Mapping[str, Any], ai: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Finding]]:
    made: dict[str, Any] = {"id": _id(step["id"]), "title": step["summary"][:200]}
    found: list[Finding] = []
    if "tool" in step:
        made["kind"] = "capability"
        made["config"] = {"tool": step["tool"]}
        made["inputs"] = {
            name: {"value": value} for name, value in step.get("arguments", {}).items()
        }
    elif "question" in step:
        made["kind"] = "human-gate"
        made["config"] = {"question": step["question"], "form": _ANSWER}
    elif "instruction" in step and ai is not None:
        made["kind"] = "ai-step"
        made["config"] = {**ai, "prompt": step["instruction"]}
        if "output_schema" in step:
            made["config"]["output_schema"] = step["output_schema"]
    else:
        made["kind"] = "ai-step"
        made["config"] = {"mode": "deterministic"}
        text = "the step only instructs; say which AI step is to follow it, or give it a tool"
        found.append(wrong("workflow_unmapped", text, ""))
    if "allowed_tools" in step:
        text = "an AI step of a workflow calls no tools, so that the list has no place"
        found.append(wrong("workflow_unmapped", text, "/allowed_tools", severity=Severity.WARNING))
    if "output_schema" in step and made["kind"] == "capability":
        made["output_schema"] = step["output_schema"]
    return made, found


_ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 20_000}},
    "required": ["answer"],
    "additionalProperties": False,
}
