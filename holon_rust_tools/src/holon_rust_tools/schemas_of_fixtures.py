"""Schemas and fixtures of a proposal held against each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holon_core.records.finding import has_errors
from holon_core.records.frozen import Fixture, FixtureStatus
from holon_rust_tools.findings import RustFinding
from holon_rust_tools.proposal import ANY_OBJECT, RustProposal, input_schema

INPUT_DOMAIN = "holon-schema/1"


def fixture_findings(proposal: RustProposal) -> Iterator[RustFinding]:
    """Name schemas that can't be used, and fixtures that do not fit them."""
    from holon_core.wire.schema_check import check_schema

    names = [each.name for each in proposal.required_inputs]
    if len(set(names)) < len(names):
        told = "two inputs of one name"
        yield RustFinding(rule="rust_proposal", message=told, path="/required_inputs")
        return
    inputs = input_schema(proposal)
    outputs = dict(proposal.expected_output_schema or ANY_OBJECT)
    sound = True
    for schema, role, where in (
        (inputs, "input", "/required_inputs"),
        (outputs, "output", "/expected_output_schema"),
    ):
        report = check_schema(schema, role=role)  # type: ignore[arg-type]
        for each in report.findings:
            if has_errors([each]):
                sound = False
                yield RustFinding(rule="rust_proposal", message=each.message, path=where)
    if outputs.get("type") != "object":
        sound = False
        told = "an output is one JSON object: its schema says type object"
        yield RustFinding(rule="rust_proposal", message=told, path="/expected_output_schema")
    if not sound:
        return
    for number, fixture in enumerate(proposal.fixtures):
        yield from _fixture(number, fixture, inputs, outputs)


def _fixture(
    number: int, fixture: Fixture, inputs: dict[str, Any], outputs: dict[str, Any]
) -> Iterator[RustFinding]:
    where = f"/fixtures/{number}"
    completes = fixture.expect.status is FixtureStatus.COMPLETED
    if completes and (told := _misfit(inputs, dict(fixture.input))):
        yield RustFinding(rule="rust_fixture", message=told, path=f"{where}/input")
    said = fixture.expect.output
    if said is not None and (told := _misfit(outputs, said)):
        yield RustFinding(rule="rust_fixture", message=told, path=f"{where}/expect/output")


def _misfit(schema: dict[str, Any], value: Any) -> str:
    from holon_core.wire.canonical import digest
    from holon_core.wire.schema_engine import compiled

    errors = compiled(schema, digest(schema, domain=INPUT_DOMAIN)).errors(value)
    return f"{errors[0].message} at {errors[0].path or '/'}" if errors else ""
