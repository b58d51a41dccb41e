"""Judging one answer: extraction, schema, gate, the class's own check; nothing is recorded."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.records.base import Record
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.output import OutputFacts
from holon_core.structured_output.extraction import NotExtracted, extract
from holon_core.structured_output.gates import CHECKS
from holon_core.wire.canonical import digest
from holon_core.wire.schema_engine import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from holon_core.records.output import OutputClass
    from holon_core.structured_output.gates import Problem, Witness

VALUE_DOMAIN = "holon-structured-output/1"
MAX_FINDINGS = 100
NO_FACTS = OutputFacts()


@frozen(kw_only=True, eq=False, repr=False)
class Judgement(Record):
    """A value that passed and its digest, or why it did not.

    ``value`` is set as soon as one was extracted.
    """

    value: Any = None
    digest: str | None = None
    failure: StructuredFailure | None = None


def judge(
    output_class: OutputClass,
    schema_digest: str,
    answer: object,
    *,
    facts: OutputFacts = NO_FACTS,
    witness: Witness | None = None,
    back: Callable[[Any], Any] | None = None,
) -> Judgement:
    """Judge an answer by its class.

    Args:
        output_class: The class.
        schema_digest: Digest of its schema, as ``OutputClasses.get`` returns it.
        answer: As ``extract`` takes it.
        facts: What the runtime says of it.
        back: Maps the value back from what a provider's response format made of the class.
        witness: Tells of evidence and policy; a gate that needs one fails without.

    Returns:
        The judgement; its failure is ``extraction_failure``, ``schema_mismatch``,
        ``budget_exceeded``, ``gate_unmet``, or what policy refuses.
    """
    try:
        value = extract(answer)
    except NotExtracted as error:
        return Judgement(failure=error.failure)
    if back is not None:
        value = back(value)
    broken = compiled(output_class.schema, schema_digest).errors(value)
    if broken:
        shown = [{"path": e.path, "rule": e.rule, "message": e.message} for e in broken]
        return Judgement(value=value, failure=_mismatch(shown))
    # What a gate reads is there once the class's own check has passed.
    problem = _own(output_class, value)
    if problem is not None:
        return Judgement(value=value, failure=problem)
    for gate in output_class.gate:
        check = CHECKS.get(gate)
        problem = None if check is None else _first(check(value, facts, witness))
        if problem is not None:
            return Judgement(value=value, failure=problem)
    return Judgement(value=value, digest=digest(value, domain=VALUE_DOMAIN))


def _first(problems: Iterable[Problem]) -> StructuredFailure | None:
    """Return the failure that a gate gave, else one of all its findings."""
    given = list(islice(problems, MAX_FINDINGS))
    typed = next((each for each in given if isinstance(each, StructuredFailure)), None)
    findings = [each for each in given if isinstance(each, Finding)]
    if typed is not None:
        return typed
    return _found(findings) if has_errors(findings) else None


def _own(output_class: OutputClass, value: dict[str, Any]) -> StructuredFailure | None:
    """Ask the class's own check; one that raises or answers garbage refuses."""
    from holon_core.wire.values import normalise

    if output_class.check is None:
        return None
    try:
        given = list(islice(output_class.check(normalise(value).value), MAX_FINDINGS))  # type: ignore[arg-type]
        good = all(type(each) is Finding for each in given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = f"the check of {output_class.id} raised {type(error).__name__}"
        return failure("lane_protocol", text)
    if not good:
        return failure("lane_protocol", f"the check of {output_class.id} answered no findings")
    return _found(given) if has_errors(given) else None


def _found(findings: list[Finding]) -> StructuredFailure:
    errors = [each for each in findings if has_errors([each])]
    return _mismatch([{"path": e.path, "rule": e.code, "message": e.message} for e in errors])


def _mismatch(errors: list[dict[str, str]]) -> StructuredFailure:
    """Make one failure of errors; its path is that of the first."""
    first = errors[0]
    code = "schema_limit" if first["rule"] == "schema_limit" else "schema_mismatch"
    text = f"{first['message']} at {first['path'] or '/'}"
    return failure(code, text, path=first["path"], errors=errors)
