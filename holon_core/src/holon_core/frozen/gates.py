"""The gates of the lifecycle's moves: each names what keeps a tool from moving."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from holon_core.errors import Refused, Rejected
from holon_core.frozen.content import closed
from holon_core.frozen.secrecy import unbound_in
from holon_core.plugins.faults import told
from holon_core.records.base import Record
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.frozen import FixtureStatus, FrozenToolRecord

if TYPE_CHECKING:
    from holon_core.frozen.kinds import Kinds
    from holon_core.store.protocol import Tables


@frozen(kw_only=True, eq=False, repr=False)
class Asked(Record):
    """A move as its gates see it: the record, the open transaction, and what was said."""

    record: FrozenToolRecord
    tables: Tables
    reason: str = ""


def findings_of(record: FrozenToolRecord, kinds: Kinds) -> list[Finding]:
    """Judge a definition from reading it: schemas, effects, fixtures, and what its kind says."""
    definition, found = closed(record.definition)
    found += unbound_in(record)
    kind = kinds.get(definition.kind)
    if kind is None:
        text = f"no installed lane brings the kind {definition.kind}"
        return [*found, Finding(code="kind_unknown", message=text, path="/kind")]
    if not has_errors(found):
        found += _fixtures(record)
    try:
        files = {each.path: kinds.file(each.sha256) for each in definition.files}
        found += [each for each in kind.validate(definition, files) if type(each) is Finding]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = f"the kind {definition.kind} could not judge it: {told(error)}"
        found.append(Finding(code="plugin_broken", message=text))
    return found


def _fixtures(record: FrozenToolRecord) -> Iterator[Finding]:
    """Check that each fixture's input and expected output fit the tool's own schemas."""
    from holon_core.wire.canonical import digest
    from holon_core.wire.schema_check import check_schema
    from holon_core.wire.schema_engine import compiled

    definition = record.definition
    inputs, outputs = dict(definition.input_schema), dict(definition.output_schema)
    takes = compiled(inputs, digest(inputs, domain="holon-schema/1"))
    gives = compiled(outputs, digest(outputs, domain="holon-schema/1"))
    for number, each in enumerate(definition.fixtures):
        where = f"/fixtures/{number}"
        completes = each.expect.status is FixtureStatus.COMPLETED
        if completes and (errors := takes.errors(dict(each.input))):
            yield Finding(
                code="fixture_invalid",
                message=errors[0].message,
                path=f"{where}/input{errors[0].path}",
            )
        said = each.expect.output
        if said is not None and (errors := gives.errors(said)):
            yield Finding(
                code="fixture_invalid",
                message=errors[0].message,
                path=f"{where}/expect/output{errors[0].path}",
            )
        if said is not None and not completes:
            text = "a fixture that expects a failure expects no output"
            yield Finding(code="fixture_invalid", message=text, path=f"{where}/expect/output")
        if each.expect.output_schema is not None:
            report = check_schema(dict(each.expect.output_schema), role="output")
            yield from (
                Finding(code="fixture_invalid", message=bad.message, path=f"{where}/expect")
                for bad in report.findings
                if has_errors([bad])
            )


def _sound(record: FrozenToolRecord, kinds: Kinds) -> Iterable[StructuredFailure]:
    found = [each for each in findings_of(record, kinds) if has_errors([each])]
    if found:
        raise Rejected(record.id, found)
    return ()


def _ready(record: FrozenToolRecord, kinds: Kinds) -> Iterable[StructuredFailure]:
    return kinds.unready(record)


def _provenance(asked: Asked) -> Iterator[StructuredFailure]:
    refs = asked.record.provenance
    if not refs:
        yield failure("provenance_missing")
    for ref in refs:
        rows = asked.tables.records(ref.chain, after=ref.seq - 1, limit=1)
        if not rows or rows[0].seq != ref.seq or (ref.call_id and rows[0].call != ref.call_id):
            yield failure("provenance_missing", f"{ref.chain}#{ref.seq} is not in the store")


def _fixtures_named(asked: Asked) -> Iterator[StructuredFailure]:
    if not asked.record.definition.fixtures:
        yield failure("fixtures_missing")


def _fixtures_passed(asked: Asked) -> Iterator[StructuredFailure]:
    record = asked.record
    if not record.proven:
        yield failure("fixtures_failed", digest=record.digest)
        return
    assert record.validation is not None
    for result in record.validation.fixtures:
        seqs = result.seqs[-1:]
        rows = [asked.tables.records(result.chain, after=s - 1, limit=1) for s in seqs]
        if not rows or not rows[0] or rows[0][0].call != result.call_id:
            text = f"the run of the fixture {result.name} is not in the evidence"
            yield failure("fixtures_failed", text)


def _reason(asked: Asked) -> Iterator[StructuredFailure]:
    if not asked.reason.strip():
        yield failure("arguments_invalid", "say why: the reason is kept", path="/reason")


# Those that run code of lanes, asked before the transaction; and those asked inside it.
JUDGES: dict[str, Callable[[FrozenToolRecord, Kinds], Iterable[StructuredFailure]]] = {
    "sound": _sound,
    "ready": _ready,
}
GATES: dict[str, Callable[[Asked], Iterable[StructuredFailure]]] = {
    "provenance": _provenance,
    "fixtures_named": _fixtures_named,
    "fixtures_passed": _fixtures_passed,
    "reason": _reason,
}


def refuse_first(answers: Iterable[Iterable[StructuredFailure]]) -> None:
    """Refuse by the first problem that a gate names, if any does.

    Raises:
        Refused: With it.
    """
    for problems in answers:
        for problem in problems:
            raise Refused(problem)
