"""From Elegy definitions to skills, bindings and catalogue entries as Holon keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import evolve

from elegy_contracts.finding import ContractError
from elegy_contracts.finding import Finding as ContractFinding
from elegy_contracts.finding import Severity as ContractSeverity
from elegy_contracts.holding import skills_in
from elegy_contracts.normal import normalise
from holon_core.errors import FINDINGS, Rejected
from holon_core.ids import capability_id, id_problem
from holon_core.records.finding import Finding, has_errors
from holon_core.records.skill import (
    CapabilityBindingRecord,
    ImportedCapability,
    ImportedSkill,
    SkillDefinitionRecord,
    SkillLifecycle,
    SkillOutcome,
    SkillState,
)
from holon_core.records.tool import MAX_TIMEOUT_S, Dependency, Limits, RuntimeToolDescriptor
from holon_core.records.words import (
    ApprovalRequirement,
    LaneKind,
    Origin,
    Posture,
    Severity,
)
from holon_core.wire.canonical import sha256_hex
from holon_core.wire.schema_check import SchemaReport, check_schema
from holon_elegy.describing import MAX_EXAMPLES, description_of, hints_of, keywords_of
from holon_elegy.effects import effects_of
from holon_elegy.elsewhere import ELSEWHERE
from holon_elegy.instructions import instructions_of

if TYPE_CHECKING:
    from elegy_contracts.normal import NormalCapability, NormalSkill
    from holon_core.runtime import Runtime

LANE = LaneKind.ELEGY.value
MAX_SUBJECT = 200


def import_definition(source: str, data: Any) -> ImportedSkill:
    """Make of one definition what the registry of skills takes.

    Args:
        source: A registered source of kind ``elegy_v2``.
        data: JSON: a skill definition of version 1 or 2, a capability definition, a catalogue.

    Raises:
        Rejected: It is refused, or another contract; with every finding and its path.
    """
    try:
        normal = normalise(data)
    except ContractError as error:
        raise _rejected(error) from None
    return _imported(source, normal)


def import_all(source: str, data: Any) -> tuple[ImportedSkill, ...]:
    """Make of one JSON value every skill that it holds; all of them, or none.

    Args:
        source: A registered source of kind ``elegy_v2``.
        data: What ``import_definition`` takes, a plugin package with definitions inside, or a
            discovery index.

    Raises:
        Rejected: It is refused, or holds none; with every finding and its path, and where it
            goes.
    """
    try:
        return tuple(_imported(source, each) for each in skills_in(data))
    except ContractError as error:
        raise _rejected(error) from None


def _rejected(error: ContractError) -> Rejected:
    findings = [as_finding(each) for each in error.findings]
    where = ELSEWHERE.get(error.subject)
    if where is not None and any(each.code == "no_skill" for each in error.findings):
        findings[-1] = evolve(findings[-1], message=f"{findings[-1].message}: {where}")
    return Rejected(error.subject, findings)


def _imported(source: str, normal: NormalSkill) -> ImportedSkill:
    skill_id = f"{source}/{capability_id(normal.key)}"
    findings = [as_finding(each) for each in normal.findings]
    made = []
    for at, each in enumerate(normal.capabilities):
        one, told = _capability(source, skill_id, normal, each)
        findings += [
            Finding(
                code=f.code,
                message=f"{each.id}: {f.message}",
                path=f"/capabilities/{at}",
                severity=f.severity,
            )
            for f in told
        ]
        if one is not None:
            made.append(one)
    problem = id_problem(skill_id)
    if problem is not None:
        findings.append(Finding(code="invalid_id", message=problem, path="/identity"))
    if has_errors(findings):
        raise Rejected(normal.key, findings)
    return ImportedSkill(
        skill=_skill(source, skill_id, normal),
        capabilities=tuple(made),
        findings=tuple(findings),
    )


def import_skills(
    runtime: Runtime, source: str, definitions: Iterable[Any]
) -> tuple[SkillOutcome, ...]:
    """Import definitions into a registered source; see ``import_each``, whose answers it joins."""
    return tuple(done for each in import_each(runtime, source, definitions) for done in each)


def import_each(
    runtime: Runtime, source: str, definitions: Iterable[Any]
) -> tuple[tuple[SkillOutcome, ...], ...]:
    """Import definitions into a registered source; each comes in or is rejected by itself.

    Args:
        runtime: An open runtime with this lane.
        source: A registered source of kind ``elegy_v2``.
        definitions: JSON values.

    Returns:
        What became of the skills of each, in order; of a rejected one nothing is stored.

    Raises:
        Refused: ``unknown_skill``: no such source is registered.
    """
    # Before any is read: a source that is not there refuses all of them.
    runtime.skills.source(source)
    made: list[tuple[ImportedSkill, ...] | SkillOutcome] = []
    for each in definitions:
        try:
            made.append(import_all(source, each))
        except Rejected as rejected:
            name, findings = rejected.subject[:MAX_SUBJECT], rejected.findings
            made.append(SkillOutcome(id=name, state=SkillState.REJECTED, findings=findings))
    whole = [skill for each in made if isinstance(each, tuple) for skill in each]
    stored = iter(_stored(runtime, source, whole))
    return tuple(
        tuple(islice(stored, len(each))) if isinstance(each, tuple) else (each,) for each in made
    )


def _stored(runtime: Runtime, source: str, skills: Sequence[ImportedSkill]) -> list[SkillOutcome]:
    """Store skills; the very same one again, as of a package and of its file, once."""
    first: dict[str, int] = {}
    once: list[ImportedSkill] = []
    at: list[int] = []
    for each in skills:
        known = first.get(each.skill.id)
        if known is None or not _same(once[known], each):
            first.setdefault(each.skill.id, len(once))
            known = len(once)
            once.append(each)
        at.append(known)
    outcomes = runtime.skills.store(source, once)
    told: set[int] = set()
    done = []
    for number in at:
        done.append(_again(outcomes[number]) if number in told else outcomes[number])
        told.add(number)
    return done


def _same(one: ImportedSkill, other: ImportedSkill) -> bool:
    digests = [[item.tool.digest for item in each.capabilities] for each in (one, other)]
    return one.skill.definition == other.skill.definition and digests[0] == digests[1]


def _again(outcome: SkillOutcome) -> SkillOutcome:
    if outcome.state is SkillState.REJECTED:
        return outcome
    return evolve(outcome, state=SkillState.UNCHANGED, changes=(), voided=())


def as_finding(given: ContractFinding) -> Finding:
    """Return a finding of the contracts as one of Holon's; its own word stands in the message."""
    code = _CODES.get(given.code, "record_invalid")
    error = given.severity is ContractSeverity.ERROR
    return Finding(
        code=code if code in FINDINGS else "record_invalid",
        message=f"{given.code}: {given.message}",
        path=given.path,
        severity=Severity.ERROR if error else Severity.WARNING,
    )


_CODES: Mapping[str, str] = {
    "duplicate": "duplicate_id",
    "unknown_capability": "unresolved_ref",
    "schema_ref_unresolved": "unresolved_ref",
    "output_schema_missing": "unresolved_ref",
}


def _skill(source: str, skill_id: str, normal: NormalSkill) -> SkillDefinitionRecord:
    return SkillDefinitionRecord(
        id=skill_id,
        source=source,
        version=normal.version,
        name=normal.name,
        description=normal.description,
        lifecycle=SkillLifecycle(normal.lifecycle),
        aliases=normal.aliases,
        keywords=tuple(dict.fromkeys(normal.keywords)),
        examples=normal.examples,
        metadata={
            **normal.metadata,
            "contract": normal.contract,
            "governance": dict(normal.governance),
            "constraints": list(normal.constraints),
        },
        instructions=instructions_of(normal),
        definition=normal.definition,
    )


def _capability(
    source: str, skill_id: str, normal: NormalSkill, each: NormalCapability
) -> tuple[ImportedCapability | None, list[Finding]]:
    tool_id = f"{source}/{capability_id(each.id)}"
    problem = id_problem(tool_id)
    if problem is not None:
        return None, [Finding(code="invalid_id", message=problem)]
    blocked = list(each.blocked)
    taken, lost = each.input_schema, list[Finding]()
    if not each.input_is_made:
        taken, lost = _usable(taken, "input")
    given, more = _usable(each.output_schema, "output")
    lost += more
    if each.implementation is None and not blocked:
        blocked.append("it does not say how it is invoked")
    binding = CapabilityBindingRecord(
        skill=skill_id,
        capability=each.id,
        tool=tool_id,
        lane=LANE,
        input_schema=taken,
        output_schema=given,
        implementation=_implementation(each),
        blocked=tuple(blocked),
    )
    tool = _tool(tool_id, normal, each, binding)
    return ImportedCapability(binding=binding, tool=tool), lost


def _usable(
    schema: Mapping[str, Any] | None, role: Any
) -> tuple[Mapping[str, Any] | None, list[Finding]]:
    """Return a schema as the core uses it; one that it refuses is not usable, and only that."""
    if schema is None:
        return None, []
    report = _report(json.dumps(schema), role)
    if not has_errors(report.findings) and isinstance(report.schema, dict):
        return report.schema, []
    told = [
        Finding(
            code=each.code,
            message=f"the {role} schema is not usable: {each.message} at {each.path or '/'}",
            severity=Severity.WARNING,
        )
        for each in report.findings
    ]
    return None, told


@lru_cache(maxsize=256)
def _report(schema: str, role: Any) -> SchemaReport:
    """Check a schema once: many capabilities refer to the same one."""
    return check_schema(json.loads(schema), role=role)


def _implementation(each: NormalCapability) -> dict[str, Any]:
    if each.implementation is None:
        return {}
    return {
        **each.implementation,
        "timeout_s": each.timeout_s,
        "supports_dry_run": each.supports_dry_run,
    }


def _tool(
    tool_id: str,
    normal: NormalSkill,
    each: NormalCapability,
    binding: CapabilityBindingRecord,
) -> RuntimeToolDescriptor:
    implementation = dict(binding.implementation)
    governance = normal.governance
    required = governance.get("approvalRequirement") == "required"
    program = implementation.get("executable")
    return RuntimeToolDescriptor(
        id=tool_id,
        lane=LANE,
        origin=Origin.IMPORTED_STATE,
        posture=Posture.ADAPTER_FORWARDED,
        version=normal.version,
        name=each.id,
        title=each.name,
        description=description_of(normal, each),
        examples=tuple(islice(normal.examples, MAX_EXAMPLES)),
        keywords=keywords_of(normal),
        input_schema=binding.input_schema or _CLOSED,
        output_schema=binding.output_schema,
        effects=effects_of(each),
        approval=ApprovalRequirement.REQUIRED if required else ApprovalRequirement.NONE,
        risk_hints=tuple(hints_of(governance, each)),
        dependencies=() if not program else (Dependency(kind="program", name=str(program)),),
        projections=() if normal.is_hidden else ("function_calling",),
        limits=Limits(timeout_s=min(each.timeout_s, MAX_TIMEOUT_S)),
        executor_ref=_digest(implementation) if implementation else "",
    )


def _digest(implementation: Mapping[str, Any]) -> str:
    return sha256_hex(json.dumps(implementation, sort_keys=True).encode())


# What a capability takes whose own schema is not usable: nothing, and it is blocked besides.
_CLOSED: Mapping[str, Any] = {"type": "object", "additionalProperties": False}
