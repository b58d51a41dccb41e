"""From Elegy definitions to skills, bindings and catalogue entries as Holon keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from elegy_contracts.finding import ContractError
from elegy_contracts.finding import Finding as ContractFinding
from elegy_contracts.finding import Severity as ContractSeverity
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
from holon_elegy.effects import effects_of
from holon_elegy.instructions import instructions_of

if TYPE_CHECKING:
    from elegy_contracts.normal import NormalCapability, NormalSkill
    from holon_core.runtime import Runtime

LANE = LaneKind.ELEGY.value
MAX_EXAMPLES = 20
MAX_WORDS = 60
MAX_TEXT = 4000
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
        raise Rejected(error.subject, [as_finding(each) for each in error.findings]) from None
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
    """Import definitions into a registered source; each comes in or is rejected by itself.

    Args:
        runtime: An open runtime with this lane.
        source: A registered source of kind ``elegy_v2``.
        definitions: JSON values.

    Returns:
        What became of each, in order; of a rejected one nothing is stored.

    Raises:
        Refused: ``unknown_skill``: no such source is registered.
    """
    # Before any is read: a source that is not there refuses all of them.
    runtime.skills.source(source)
    made: list[ImportedSkill] = []
    refused: dict[int, SkillOutcome] = {}
    for at, each in enumerate(definitions):
        try:
            made.append(import_definition(source, each))
        except Rejected as rejected:
            name = rejected.subject[:MAX_SUBJECT]
            findings = rejected.findings
            state = SkillState.REJECTED
            refused[at] = SkillOutcome(id=name, state=state, findings=findings)
    stored = iter(runtime.skills.store(source, made))
    count = len(made) + len(refused)
    return tuple(refused[at] if at in refused else next(stored) for at in range(count))


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
        description=_description(normal, each),
        examples=tuple(islice(normal.examples, MAX_EXAMPLES)),
        keywords=_keywords(normal),
        input_schema=binding.input_schema or _CLOSED,
        output_schema=binding.output_schema,
        effects=effects_of(each),
        approval=ApprovalRequirement.REQUIRED if required else ApprovalRequirement.NONE,
        risk_hints=tuple(_hints(governance, each)),
        dependencies=() if not program else (Dependency(kind="program", name=str(program)),),
        projections=() if normal.is_hidden else ("function_calling",),
        limits=Limits(timeout_s=min(each.timeout_s, MAX_TIMEOUT_S)),
        executor_ref=_digest(implementation) if implementation else "",
    )


def _digest(implementation: Mapping[str, Any]) -> str:
    return sha256_hex(json.dumps(implementation, sort_keys=True).encode())


# What a capability takes whose own schema is not usable: nothing, and it is blocked besides.
_CLOSED: Mapping[str, Any] = {"type": "object", "additionalProperties": False}


def _description(normal: NormalSkill, each: NormalCapability) -> str:
    about = " ".join(normal.description.split())
    parts = [each.description.strip(), f"Skill: {normal.name}. {about}".strip()]
    parts += [f"Constraint: {text}" for text in islice(normal.constraints, MAX_EXAMPLES)]
    return "\n".join(part for part in parts if part)[:MAX_TEXT]


def _keywords(normal: NormalSkill) -> tuple[str, ...]:
    """Return the words under which a skill is found, its own name first."""
    words = dict.fromkeys((normal.name, *normal.aliases, *normal.keywords))
    return tuple(islice(words, MAX_WORDS))


def _hints(governance: Mapping[str, Any], each: NormalCapability) -> list[str]:
    hints = []
    for name, key in (("risk", "riskLevel"), ("trust", "trustLevel")):
        if governance.get(key):
            hints.append(f"{name}:{governance[key]}")
    if governance.get("approvalRequirement") == "advisory":
        hints.append("approval:advisory")
    hints += [f"policy:{ref}" for ref in islice(governance.get("policyRefs", ()), MAX_EXAMPLES)]
    hints += [f"context:{c}" for c in islice(governance.get("allowedContexts", ()), MAX_EXAMPLES)]
    if each.is_deterministic is False:
        hints.append("not deterministic")
    return hints
