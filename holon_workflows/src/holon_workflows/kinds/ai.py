"""`ai-step`: an answer of a model, or a recorded one; it has to pass its gate to be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure
from holon_core.records.words import Status
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import compiled
from holon_workflows.definition.checking import Checking, wrong
from holon_workflows.expressions import condition
from holon_workflows.records import NodeKind, Outcome, completed, failed

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step

INPUT_DOMAIN = "holon-workflow-ai-input/1"
ANSWER_DOMAIN = "holon-workflow-ai-answer/1"
_EXPRESSION = {"type": "string", "minLength": 1, "maxLength": 1000}
CONFIG: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"const": "deterministic"},
        "recorded": {
            "description": "Answers by the digest of the inputs.",
            "type": "object",
            "propertyNames": {"pattern": "^[0-9a-f]{64}$"},
            "maxProperties": 1000,
        },
        "rules": {
            "description": "The answer of the first rule that holds.",
            "type": "array",
            "maxItems": 100,
            "items": {
                "type": "object",
                "properties": {"when": _EXPRESSION, "answer": {}},
                "required": ["when", "answer"],
                "additionalProperties": False,
            },
        },
        "answer": {"description": "The answer where nothing else gives one."},
        "output_class": {"type": "string", "minLength": 1, "maxLength": 200},
        "output_schema": {"type": "object"},
    },
    "required": ["mode"],
    "additionalProperties": False,
}


def input_digest(inputs: Mapping[str, Any]) -> str:
    """Return the digest by which a recorded answer is found."""
    return digest(dict(inputs), domain=INPUT_DOMAIN)


def gated(config: Mapping[str, Any]) -> bool:
    """Tell whether an answer has to pass a class or a schema before it is used."""
    return "output_class" in config or "output_schema" in config


def deterministic(step: Step, config: Mapping[str, Any]) -> tuple[bool, Any]:
    """Find the recorded or rule-based answer; tell whether there is one."""
    recorded = config.get("recorded", {})
    found = input_digest(step.inputs)
    if found in recorded:
        return True, recorded[found]
    for rule in config.get("rules", ()):
        if condition(rule["when"], {**step.scope, "inputs": step.inputs}):
            return True, rule["answer"]
    return "answer" in config, config.get("answer")


def admit(step: Step, config: Mapping[str, Any], answer: Any) -> Outcome:
    """Put an answer through its class and its schema; only what passed is ever seen."""
    if "output_class" in config:
        result = step.session().accept_output(config["output_class"], answer)
        if result.status is not Status.COMPLETED:
            assert result.failure is not None, "what was not accepted says why"
            return failed(result.failure)
        answer = result.value
    if "output_schema" in config:
        schema = config["output_schema"]
        errors = compiled(schema, digest(schema, domain=ANSWER_DOMAIN)).errors(answer)
        if errors:
            shown = [{"path": e.path, "message": e.message} for e in errors[:20]]
            text = f"{errors[0].message} at {errors[0].path or '/'}"
            return failed(failure("output_schema", text, errors=shown))
    return completed(answer)


def _run(step: Step) -> Outcome:
    config = step.node.config
    there, answer = deterministic(step, config)
    if not there:
        text = f"no recorded answer and no rule for the inputs {input_digest(step.inputs)}"
        return failed(failure("ai_no_answer", text))
    return admit(step, config, answer)


def _check(node: Node, about: Checking) -> Iterable[Finding]:
    config = node.config
    if "output_class" in config and about.output_class(config["output_class"]) is None:
        text = f"no class of structured outputs {config['output_class']}"
        yield wrong("unresolved_ref", text, "/config/output_class")
    if "output_schema" in config:
        for each in check_schema(config["output_schema"], role="output").findings:
            path = "/config/output_schema" + each.path
            yield wrong(each.code, each.message, path, severity=each.severity)


def _gives(node: Node, about: Checking) -> Any:
    config = node.config
    if "output_schema" in config:
        return config["output_schema"]
    return about.output_class(config["output_class"]) if "output_class" in config else None


KIND = NodeKind(
    kind="ai-step",
    description="Gives a recorded, rule-based or model's answer that passed its gate.",
    config=CONFIG,
    run=_run,
    check=_check,
    preview=lambda step: {"would ask": dict(step.node.config), "inputs": step.inputs},
    output_schema=_gives,
    repeatable=True,
)
