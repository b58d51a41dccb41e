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
from holon_workflows.gates import ANSWERED, CLOSED
from holon_workflows.kinds.ai_config import CONFIG
from holon_workflows.kinds.gate import ask, gate_id, gate_of
from holon_workflows.records import NodeKind, Outcome, StepState, completed, failed, waiting

if TYPE_CHECKING:
    from holon_core.records.finding import Finding
    from holon_workflows.definition.model import Node
    from holon_workflows.engine.step import Step
    from holon_workflows.gates import Gates

INPUT_DOMAIN = "holon-workflow-ai-input/1"
ANSWER_DOMAIN = "holon-workflow-ai-answer/1"


def input_digest(inputs: Mapping[str, Any]) -> str:
    """Return the digest by which a recorded answer is found."""
    return digest(dict(inputs), domain=INPUT_DOMAIN)


def propose(step: Step, config: Mapping[str, Any]) -> Outcome:
    """Ask for an answer by a config, and put it through its gate; no fallback."""
    if config["mode"] == "live":
        from holon_workflows.kinds.ai_live import ask_model

        return ask_model(step, config, lambda answer: admit(step, config, answer))
    there, answer = _deterministic(step, config)
    if not there:
        text = f"no recorded answer and no rule for the inputs {input_digest(step.inputs)}"
        return failed(failure("ai_no_answer", text))
    return admit(step, config, answer)


def _deterministic(step: Step, config: Mapping[str, Any]) -> tuple[bool, Any]:
    """Find the recorded or rule-based answer; tell whether there is one."""
    recorded = config.get("recorded", {})
    found = input_digest(step.inputs)
    if found in recorded:
        return True, recorded[found]
    for rule in config.get("rules", ()):
        if condition(rule["when"], {"inputs": step.inputs}):
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


def ai_kind(gates: Gates) -> NodeKind:
    """Make the kind, on the gates of one runtime."""

    def run(step: Step) -> Outcome:
        config = step.node.config
        if step.wait is not None and step.wait.get("for") == "person":
            return _answered(step, gates)
        found = propose(step, config)
        then = config.get("fallback", "fail")
        if found.state is not StepState.FAILED or then == "fail" or step.cancelled:
            return found
        assert found.failure is not None, "what failed says why"
        if "answer" in then:
            outcome = admit(step, config, then["answer"])
            note = f"the fallback's answer, after {found.failure.code}"
            return completed(outcome.output, note=note) if _done(outcome) else outcome
        return _asked(step, gates, then, found)

    def closes(step: Step) -> None:
        gates.end(gate_id(step), CLOSED)

    return NodeKind(
        kind="ai-step",
        description="Gives a recorded, rule-based or model's answer that passed its gate.",
        config=CONFIG,
        run=run,
        check=_check,
        preview=_preview,
        output_schema=_gives,
        # Asking a model once more costs something, and changes nothing.
        repeatable=True,
        closes=closes,
    )


def _done(outcome: Outcome) -> bool:
    return outcome.state is StepState.COMPLETED


def _asked(step: Step, gates: Gates, then: Mapping[str, Any], found: Outcome) -> Outcome:
    assert found.failure is not None, "what failed says why"
    form = {
        "type": "object",
        "properties": {"answer": step.node.config.get("output_schema", {})},
        "required": ["answer"],
        "additionalProperties": False,
    }
    config = {"question": then["ask"], "form": form, "assignee": then.get("assignee")}
    gate = gate_of(step, config)
    gate["shown"] = {"inputs": step.inputs, "failed": found.failure.message}
    gate = ask(step, gates, gate)
    note = f"{found.failure.code}; asks {gate['assignee'] or 'somebody'}"
    return waiting({"for": "person", "gate": gate["id"]}, note=note)


def _answered(step: Step, gates: Gates) -> Outcome:
    gate = gates.read(gate_id(step))
    if gate["state"] == CLOSED:
        return failed(failure("cancelled", "the gate was closed"))
    if gate["state"] != ANSWERED:
        return Outcome(state=StepState.WAITING, wait=step.wait, note="asks a person")
    return admit(step, step.node.config, gate["answer"]["values"]["answer"])


def _check(node: Node, about: Checking) -> Iterable[Finding]:
    config = node.config
    if "output_class" in config and about.output_class(config["output_class"]) is None:
        text = f"no class of structured outputs {config['output_class']}"
        yield wrong("unresolved_ref", text, "/config/output_class")
    if "output_schema" in config:
        for each in check_schema(config["output_schema"], role="output").findings:
            path = "/config/output_schema" + each.path
            yield wrong(each.code, each.message, path, severity=each.severity)
    if config["mode"] == "live" and not {"output_class", "output_schema"} & config.keys():
        text = "what a model answers has to pass an output class or schema"
        yield wrong("workflow_gate_missing", text, "/config")


def _preview(step: Step) -> Any:
    config = step.node.config
    shown = {name: config[name] for name in ("mode", "model", "base_url") if name in config}
    return {"would ask": shown, "inputs": step.inputs}


def _gives(node: Node, about: Checking) -> Any:
    config = node.config
    if "output_schema" in config:
        return config["output_schema"]
    return about.output_class(config["output_class"]) if "output_class" in config else None
