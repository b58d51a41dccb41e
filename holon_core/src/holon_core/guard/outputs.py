"""Accepting structured outputs, and handing them to those who may have them; both recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.errors import FAILURES, Refused
from holon_core.guard import call as guarded
from holon_core.guard.attempt import Attempt, Refusal
from holon_core.guard.evidence import RUNTIME_CHAIN
from holon_core.guard.results import failure_fragment
from holon_core.guard.secrecy import kept_secret
from holon_core.guard.standing import misplaced, unfit
from holon_core.ids import new_id
from holon_core.names import MAX_NAME, required_text
from holon_core.records.failure import failure
from holon_core.records.output import OutputFacts, OutputResult
from holon_core.records.result import EvidenceRef
from holon_core.records.words import Status
from holon_core.structured_output.judging import VALUE_DOMAIN, Judgement, judge

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.output import OutputClass
    from holon_core.store.protocol import Tables

    Within = Callable[[Tables, str], StructuredFailure | None]

KIND = "structured_output"
SOURCE = "holon-structured-output"
COLLECTION = "holon.outputs"


class CallerWitness:
    """Tells gates what one caller may refer to, and what policy says of a call of this caller."""

    def __init__(self, guard: Guard, caller: CallerContext) -> None:
        self._guard = guard
        self._caller = caller
        self._chain = chain_of(guard, caller)

    def evidence(self, chain: str, seq: int) -> str | None:
        """Return the kind of a record of the caller's own chain."""
        if chain != self._chain:
            return None
        rows = self._guard.store.read(lambda t: t.records(chain, after=seq - 1, limit=1))
        found = next((row for row in rows if row.seq == seq), None)
        return None if found is None else found.kind

    def policy(self, tool: str, arguments: Mapping[str, Any]) -> StructuredFailure | None:
        """Take the steps of a call for their verdicts; nothing is recorded or held."""
        guard = self._guard
        attempt = Attempt(tool, dict(arguments), self._caller, mode="explain")
        try:
            guarded.resolve(guard, attempt)
            guarded.scope(guard, attempt)
            guarded.check_arguments(attempt)
            for problem in guarded.gates(guard, attempt):
                return problem
            guarded.decide(guard, attempt)
        except Refusal as refusal:
            return refusal.failure
        return None


def accept(
    guard: Guard,
    caller: CallerContext,
    class_id: str,
    answer: object,
    *,
    facts: OutputFacts,
    consumer: str | None = None,
    back: Callable[[Any], Any] | None = None,
    within: Within | None = None,
) -> OutputResult:
    """Judge an answer, keep it where it passed, and record either; see ``Session``.

    ``within`` is asked last, in the transaction that keeps it, with the output's id.
    """
    output_class, schema_digest = guard.outputs.get(class_id)
    unfit_for = unfit(guard, caller)
    if unfit_for is not None:
        return _record(guard, caller, output_class, Judgement(failure=unfit_for))
    witness = CallerWitness(guard, caller)
    if consumer is not None and consumer not in output_class.consumers:
        judged = Judgement(failure=_other_consumer(output_class, consumer))
    else:
        judged = judge(output_class, schema_digest, answer, facts=facts, witness=witness, back=back)
        secret = None if judged.failure else kept_secret(guard.redactor, judged.value)
        if secret is not None:
            judged = Judgement(failure=secret)
    return _record(guard, caller, output_class, judged, within)


def hand_over(guard: Guard, caller: CallerContext, output_id: str, consumer: str) -> OutputResult:
    """Give an accepted output to a consumer of its class, and to no other; see ``Session``."""
    required_text(output_id, "an output id", MAX_NAME)
    required_text(consumer, "a consumer", MAX_NAME)
    stored = guard.store.read(lambda tables: tables.document(COLLECTION, output_id))
    body = None if stored is None else _read(stored.body)
    elsewhere = misplaced(guard, caller)
    if elsewhere is not None or body is None or not _belongs(body, caller):
        unknown = elsewhere or failure("unknown_output", output=output_id)
        fields = {"consumer": guard.recorder.quoted(consumer)}
        return OutputResult(
            status=FAILURES[unknown.code][1],
            output_class="",
            output_id=output_id,
            failure=unknown,
            evidence_refs=_append(guard, caller, output_id, fields, unknown),
        )
    output_class, _ = guard.outputs.get(body["class"])
    problem = _refusal(output_class, body, consumer)
    about = _about(output_class, body["digest"])
    fields = {
        "consumer": guard.recorder.quoted(consumer),
        "output": guard.recorder.safe_json(about),
    }
    refs = _append(guard, caller, output_id, fields, problem, done="handed_over")
    return OutputResult(
        status=Status.COMPLETED if problem is None else FAILURES[problem.code][1],
        output_class=output_class.id,
        class_version=body["version"],
        output_id=output_id,
        value=None if problem is not None else body["value"],
        digest=body["digest"],
        failure=problem,
        evidence_refs=refs,
    )


def _refusal(
    output_class: OutputClass, body: Mapping[str, Any], consumer: str
) -> StructuredFailure | None:
    from holon_core.wire.canonical import digest

    if consumer not in output_class.consumers:
        return _other_consumer(output_class, consumer)
    if digest(body["value"], domain=VALUE_DOMAIN) != body["digest"]:
        return failure("evidence_tampered", "the stored output is not the one that was accepted")
    if body["version"] != output_class.version:
        text = f"accepted by version {body['version']}, which is now {output_class.version}"
        return failure("definition_changed", text)
    return None


def _other_consumer(output_class: OutputClass, consumer: str) -> StructuredFailure:
    text = (
        f"{output_class.id} is for {', '.join(output_class.consumers)}, and not for {consumer:.100}"
    )
    return failure("policy_denied", text, rule=f"{SOURCE}:consumers")


def _belongs(body: Mapping[str, Any], caller: CallerContext) -> bool:
    """Tell whether an output is of the caller's workspace; without one, of the principal."""
    if body["workspace"] is None:
        return caller.workspace is None and bool(body["principal"] == caller.principal)
    return bool(body["workspace"] == caller.workspace)


def _read(body: bytes) -> dict[str, Any]:
    from holon_core.wire.strict_json import parse

    found: Any = parse(body)
    return found  # type: ignore[no-any-return]


def _record(
    guard: Guard,
    caller: CallerContext,
    output_class: OutputClass,
    judged: Judgement,
    within: Within | None = None,
) -> OutputResult:
    from holon_core.wire.canonical import canonical

    output_id = new_id("u")
    passed = judged.failure is None
    fields = {"output": guard.recorder.safe_json(_about(output_class, judged.digest))}
    body = None
    if passed:
        body = canonical(
            {
                "class": output_class.id,
                "version": output_class.version,
                "digest": judged.digest,
                "principal": caller.principal,
                "workspace": caller.workspace,
                "value": judged.value,
            }
        )
    try:
        refs = _append(
            guard,
            caller,
            output_id,
            fields,
            judged.failure,
            done="accepted",
            body=body,
            payload=judged.value,
            within=within if passed else None,
        )
    except Refused as late:
        return _record(guard, caller, output_class, Judgement(failure=late.failure))
    return OutputResult(
        status=Status.COMPLETED if judged.failure is None else FAILURES[judged.failure.code][1],
        output_class=output_class.id,
        class_version=output_class.version,
        output_id=output_id if passed else None,
        value=judged.value if passed else None,
        digest=judged.digest,
        failure=judged.failure,
        evidence_refs=refs,
    )


def _about(output_class: OutputClass, digest: str | None) -> dict[str, Any]:
    return {
        "class": output_class.id,
        "version": output_class.version,
        "producer": output_class.producer,
        "consumers": list(output_class.consumers),
        "gate": [gate.value for gate in output_class.gate],
        "digest": digest,
    }


def _append(
    guard: Guard,
    caller: CallerContext,
    output_id: str,
    fields: dict[str, str],
    problem: StructuredFailure | None,
    *,
    done: str = "accepted",
    body: bytes | None = None,
    payload: Any = None,
    within: Within | None = None,
) -> tuple[EvidenceRef, ...]:
    """Record one judgement, and in the same transaction keep what was accepted."""
    recorder = guard.recorder
    chain = chain_of(guard, caller)
    fields = {
        **fields,
        "source": quote(SOURCE),
        "caller": recorder.caller(caller),
        "host": recorder.host_fragment(),
        "outcome": quote("refused" if problem is not None else done),
    }
    if problem is not None:
        fields["failure"] = failure_fragment(guard, problem)
    kept = None if payload is None else recorder.safe_payload(payload, None, None)
    draft = recorder.draft(chain, output_id, KIND, fields, payload=kept)
    at = int(guard.clock.now())

    def work(tables: Tables) -> int:
        if body is not None:
            tables.put_document(COLLECTION, output_id, body, at=at)
        position = tables.append(draft)
        problem = None if within is None else within(tables, output_id)
        if problem is not None:
            # Nothing of it is kept.
            raise Refused(problem)
        return position

    seq = guard.store.transact(work)
    guard.pump.notify()
    return (EvidenceRef(chain, seq),)


def chain_of(guard: Guard, caller: CallerContext) -> str:
    """Return the chain that what a caller does is recorded in."""
    if caller.workspace is None:
        return RUNTIME_CHAIN
    found = guard.workspaces.usable(caller.workspace, caller.principal)
    return RUNTIME_CHAIN if found is None else found.id
