"""The gates: what an output has to pass besides its class's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.output import OutputFacts, OutputGate
from holon_core.records.words import Effect
from holon_core.structured_output.schemas import INTERPRETERS
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import compiled

SCHEMA_DOMAIN = "holon-output-schema/1"


class Witness(Protocol):
    """What a runtime tells a gate: which evidence there is, and what policy says."""

    def evidence(self, chain: str, seq: int) -> str | None:
        """Return the kind of a record that this caller may refer to; ``None`` for no such."""
        ...

    def policy(self, tool: str, arguments: Mapping[str, Any]) -> StructuredFailure | None:
        """Say what would refuse a call; a needed approval does not."""
        ...


Problem = Finding | StructuredFailure
Check = Callable[[dict[str, Any], OutputFacts, Witness | None], Iterator[Problem]]


def _declared(value: dict[str, Any], facts: OutputFacts, _: Witness | None) -> Iterator[Problem]:
    """The declared output schema, or a typed failure."""
    if value["status"] != "completed":
        return
    if facts.declared_schema is None:
        yield _unmet("declared_output_schema", "the output schema that the tool declares")
        return
    yield from breaches(facts.declared_schema, value["output"], "/output")


def _budget(value: dict[str, Any], facts: OutputFacts, _: Witness | None) -> Iterator[Problem]:
    budget, used = facts.budget, value["usage"]
    if facts.declared_schema is not None:
        yield from breaches(facts.declared_schema, value["output"], "/output")
    if budget is None:
        yield _unmet("budget", "the budget of the step")
        return
    spent = {
        "max_tokens": used["input_tokens"] + used["output_tokens"],
        "max_duration_ms": used["duration_ms"],
        "max_attempts": value["attempts"],
        "max_cost_micros": used.get("cost_micros"),
    }
    for name, number in spent.items():
        most = getattr(budget, name)
        if most is not None and number is None:
            yield _unmet("budget", "usage.cost_micros, since the budget limits costs")
        elif most is not None and number > most:
            text = f"{name} is {most}, and {number} was used"
            yield failure("budget_exceeded", text, limit=name, allowed=most, used=number)


def _fallback(value: dict[str, Any], facts: OutputFacts, _: Witness | None) -> Iterator[Problem]:
    if facts.fallback_policy is None:
        yield _unmet("fallback_policy", "the fallback policy of the step")
    elif value["fallback"]["policy"] != facts.fallback_policy:
        yield _wrong("/fallback/policy", f"the step's fallback policy is {facts.fallback_policy}")


def _purpose(value: dict[str, Any], _: OutputFacts, __: Witness | None) -> Iterator[Problem]:
    if not value["purpose"].strip():
        yield _wrong("/purpose", "the purpose is blank")


def _inputs(value: dict[str, Any], _: OutputFacts, __: Witness | None) -> Iterator[Problem]:
    yield from _admitted(value["inputs"], "/inputs", "input")
    yield from _admitted(value["outputs"], "/outputs", "output")


def _command(value: dict[str, Any], _: OutputFacts, __: Witness | None) -> Iterator[Problem]:
    program, script = value["command"][:2]
    if program not in INTERPRETERS:
        yield _wrong("/command/0", f"the interpreter is one of {', '.join(INTERPRETERS)}")
    if script not in value["files"]:
        yield _wrong("/command/1", "the second word names one of the files")
    for name in value["files"]:
        parts = name.split("/")
        if name.startswith("/") or "\\" in name or not all(parts) or {".", ".."} & {*parts}:
            yield _wrong("/files", "a file has a plain relative path")


def _side_effects(value: dict[str, Any], _: OutputFacts, __: Witness | None) -> Iterator[Problem]:
    if Effect.UNKNOWN.value in value["side_effects"]:
        yield _wrong("/side_effects", "unknown effects are never executed; say what it touches")
    if Effect.NONE.value in value["side_effects"] and len(set(value["side_effects"])) > 1:
        yield _wrong("/side_effects", "none stands alone")


def _validation(value: dict[str, Any], _: OutputFacts, __: Witness | None) -> Iterator[Problem]:
    inputs = check_schema(value["inputs"], role="input")
    outputs = check_schema(value["outputs"], role="output")
    if not inputs.usable or not outputs.usable:
        return
    named: set[str] = set()
    for at, fixture in enumerate(value["validation"]):
        path = f"/validation/{at}"
        if fixture["name"] in named:
            yield _wrong(f"{path}/name", "a fixture of this name was there before")
        named.add(fixture["name"])
        yield from breaches(inputs.schema, fixture["input"], f"{path}/input")
        expected = fixture["expect"]
        if expected["status"] == "completed" and "output" in expected:
            yield from breaches(outputs.schema, expected["output"], f"{path}/expect/output")
        elif expected["status"] == "completed" and "output_schema" not in expected:
            yield _wrong(f"{path}/expect", "a fixture that completes expects an output or a schema")


def _provenance(
    value: dict[str, Any], _: OutputFacts, witness: Witness | None
) -> Iterator[Problem]:
    yield from _admitted(value["input_schema"], "/input_schema", "input")
    yield from _admitted(value["output_schema"], "/output_schema", "output")
    for at, ref in enumerate(value["provenance"]["evidence"]):
        if witness is None or witness.evidence(ref["chain"], ref["seq"]) is None:
            yield _wrong(f"/provenance/evidence/{at}", "no such record of this workspace")


def _evidence(value: dict[str, Any], _: OutputFacts, witness: Witness | None) -> Iterator[Problem]:
    for at, ref in enumerate(value["validation_evidence"]):
        if witness is None or witness.evidence(ref["chain"], ref["seq"]) != "completed":
            path = f"/validation_evidence/{at}"
            yield _wrong(path, "no record of this workspace says that a call completed there")


def _policy(value: dict[str, Any], _: OutputFacts, witness: Witness | None) -> Iterator[Problem]:
    if value["action"] != "call":
        return
    if witness is None:
        yield _unmet("policy", "a runtime whose policy can be asked")
        return
    problem = witness.policy(value["tool"], value["arguments"])
    if problem is not None:
        yield problem


CHECKS: Mapping[OutputGate, Check] = {
    OutputGate.DECLARED_OUTPUT_SCHEMA: _declared,
    OutputGate.BUDGET: _budget,
    OutputGate.FALLBACK_POLICY: _fallback,
    OutputGate.PURPOSE: _purpose,
    OutputGate.INPUTS: _inputs,
    OutputGate.COMMAND: _command,
    OutputGate.SIDE_EFFECTS: _side_effects,
    OutputGate.VALIDATION: _validation,
    OutputGate.PROVENANCE: _provenance,
    OutputGate.EVIDENCE: _evidence,
    OutputGate.POLICY: _policy,
}


def breaches(schema: Any, value: Any, path: str = "") -> Iterator[Finding]:
    """Say where a value breaks a schema; one that is itself of no use is a finding, too."""
    report = check_schema(schema, role="output")
    if not report.usable:
        first = next(each for each in report.findings if has_errors([each]))
        yield _wrong(path, f"the declared schema is not usable: {first.message}")
        return
    made = report.schema
    for error in compiled(made, digest(made, domain=SCHEMA_DOMAIN)).errors(value):
        code = "schema_limit" if error.rule == "schema_limit" else "schema_mismatch"
        yield Finding(code=code, message=error.message, path=f"{path}{error.path}")


def _admitted(schema: Any, path: str, role: Any) -> Iterator[Finding]:
    for each in check_schema(schema, role=role).findings:
        if has_errors([each]):
            yield _wrong(f"{path}{each.path}", each.message)


def _wrong(path: str, message: str) -> Finding:
    return Finding(code="schema_mismatch", message=message, path=path)


def _unmet(gate: str, needed: str) -> StructuredFailure:
    return failure("gate_unmet", f"the gate {gate} needs {needed}", gate=gate)
