"""From a normalised manifest to skills, bindings and catalogue entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holon_core.ids import capability_id
from holon_core.records.finding import Finding, has_errors
from holon_core.records.skill import (
    CapabilityBindingRecord,
    ImportedCapability,
    ImportedSkill,
    SkillDefinitionRecord,
    SkillLifecycle,
)
from holon_core.records.tool import Dependency, Limits, RuntimeToolDescriptor, SecretSlot
from holon_core.records.words import ApprovalRequirement, Effect, Origin, Posture, Severity
from holon_core.wire.schema_check import check_schema
from holon_plugin_packages.checking import LIVE_LANES, plain_id
from holon_plugin_packages.effects import effects_of
from holon_plugin_packages.records import LANE, OWNER, StoredPackage

MAX_DESCRIPTION = 4000
# What a capability takes whose own schema is not usable: nothing, and it is blocked besides.
CLOSED: Mapping[str, Any] = {"type": "object", "additionalProperties": False}


def source_of(package: str) -> str:
    """Return the id of the source that a package is."""
    return f"{OWNER}.{package}"


def package_of(tool_id: str) -> str:
    """Return the package that a tool is of."""
    return tool_id.partition("/")[0].removeprefix(f"{OWNER}.")


def tool_id_of(package: str, each: Mapping[str, Any]) -> str:
    """Return the catalogue's id of a capability."""
    plain = plain_id(each["id"], package)
    return f"{source_of(package)}/{plain if '%' in plain else capability_id(plain)}"


def skills_of(package: StoredPackage) -> tuple[ImportedSkill, ...]:
    """Make all skills of a package; capabilities without one are of a skill of its own name."""
    manifest = package.manifest
    made = {each["id"]: each for each in manifest.get("skills", ())}
    groups: dict[str, list[Mapping[str, Any]]] = {name: [] for name in made}
    for each in manifest.get("capabilities", ()):
        groups.setdefault(each.get("skill") or package.id, []).append(each)
    if not groups:
        groups[package.id] = []
    return tuple(
        _skill(package, made.get(name, {"id": name}), capabilities)
        for name, capabilities in groups.items()
    )


def _skill(
    package: StoredPackage, given: Mapping[str, Any], capabilities: list[Mapping[str, Any]]
) -> ImportedSkill:
    source = source_of(package.id)
    skill_id = f"{source}/{capability_id(given['id'])}"
    findings: list[Finding] = []
    own = given["id"] == package.id
    made = []
    for each in capabilities:
        one, told = _capability(package, skill_id, each)
        made.append(one)
        findings += told
    record = SkillDefinitionRecord(
        id=skill_id,
        source=source,
        version=given.get("version") or package.version,
        name=given.get("name") or (package.title if own else "") or given["id"],
        description=given.get("description") or (package.description if own else ""),
        lifecycle=SkillLifecycle(given.get("lifecycle", "active")),
        aliases=tuple(given.get("aliases", ())),
        keywords=(*given.get("keywords", ()), *package.manifest.get("keywords", ())),
        examples=tuple(given.get("examples", ())),
        metadata=_metadata(package, given),
        instructions=given.get("instructions", ""),
        definition=given.get("definition", {}),
    )
    return ImportedSkill(skill=record, capabilities=tuple(made), findings=tuple(findings))


def _metadata(package: StoredPackage, given: Mapping[str, Any]) -> dict[str, Any]:
    kept = {
        name: given[name]
        for name in ("allowed_tools", "disallowed_tools", "requires", "license", "metadata", "path")
        if name in given
    }
    where = {"id": package.id, "version": package.version, "digest": package.digest}
    return {**kept, "package": where, "format": package.format}


def _capability(
    package: StoredPackage, skill_id: str, each: Mapping[str, Any]
) -> tuple[ImportedCapability, list[Finding]]:
    tool_id = tool_id_of(package.id, each)
    taken, lost = _usable(each.get("input_schema"), "input", each["id"])
    given, more = _usable(each.get("output_schema"), "output", each["id"])
    lane = each.get("lane", "")
    blocked = list(each.get("blocked", ()))
    if lane in LIVE_LANES and "command" not in each and not blocked:
        blocked.append("it does not say how it is started")
    binding = CapabilityBindingRecord(
        skill=skill_id,
        capability=each["id"],
        tool=tool_id,
        lane=LANE,
        input_schema=taken,
        output_schema=given,
        implementation={
            "lane": lane,
            "command": each.get("command", {}),
            "output": each.get("output", {}),
            "package": package.id,
            "package_digest": package.digest,
        },
        blocked=tuple(blocked),
    )
    return ImportedCapability(binding=binding, tool=_tool(package, each, binding)), lost + more


def _usable(schema: Any, role: Any, name: str) -> tuple[Mapping[str, Any] | None, list[Finding]]:
    """Return a schema as the core uses it; one that it refuses is not usable, and only that."""
    if schema is None:
        return None, []
    report = check_schema(schema, role=role)
    if not has_errors(report.findings):
        made = {} if report.schema is True else report.schema
        return (made if isinstance(made, dict) else None), []
    told = [
        Finding(
            code=each.code,
            message=f"{name}: the {role} schema is not usable: {each.message} at {each.path}/",
            severity=Severity.WARNING,
        )
        for each in report.findings
    ]
    return None, told


def _tool(
    package: StoredPackage, each: Mapping[str, Any], binding: CapabilityBindingRecord
) -> RuntimeToolDescriptor:
    command = each.get("command", {})
    required = each.get("approval") == "required"
    keywords = package.manifest.get("keywords", ())
    examples = [*each.get("examples", ())]
    if keywords:
        examples.append(" ".join(keywords)[:500])
    title = package.title or package.id
    return RuntimeToolDescriptor(
        id=binding.tool,
        lane=LANE,
        origin=Origin.IMPORTED_STATE,
        posture=Posture.PLUGIN_PACKAGE_LIVE,
        version=package.version,
        name=plain_id(each["id"], package.id),
        title=each.get("title", ""),
        description=f"{each.get('description', '')}\nPackage: {title}".strip()[:MAX_DESCRIPTION],
        examples=tuple(examples),
        input_schema=binding.input_schema or CLOSED,
        output_schema=binding.output_schema,
        effects=_effects(each),
        approval=ApprovalRequirement.REQUIRED if required else ApprovalRequirement.NONE,
        risk_hints=tuple(each.get("risk_hints", ())),
        dependencies=tuple(_dependencies(package, each)),
        secret_slots=tuple(_slots(package, each)),
        limits=Limits(
            timeout_s=float(command.get("timeout_s", 30)),
            max_output_bytes=command.get("max_output_bytes", 256 * 1024),
        ),
        executor_ref=package.digest,
    )


def _effects(each: Mapping[str, Any]) -> frozenset[Effect]:
    side = each.get("side_effect")
    return effects_of([] if side is None else [side], each.get("effects", ()))


def _dependencies(package: StoredPackage, each: Mapping[str, Any]) -> Iterator[Dependency]:
    """Name the programs that have to be there; those that the package brings have not."""
    seen: set[str] = set()
    known = {one["name"]: one for one in package.manifest.get("tool_requirements", ())}
    for name in each.get("requires_tools", ()):
        one = known[name]
        if one["program"] not in seen:
            seen.add(one["program"])
            yield Dependency(
                kind="program", name=one["program"], version=one.get("min_version", "")
            )
    program = each.get("command", {}).get("program", "")
    if program and not program.startswith("./") and program not in seen:
        yield Dependency(kind="program", name=program)


def _slots(package: StoredPackage, each: Mapping[str, Any]) -> Iterator[SecretSlot]:
    known = {one["name"]: one for one in package.manifest.get("secret_slots", ())}
    for name in each.get("secret_slots", ()):
        ref = package.secrets.get(name, "")
        yield SecretSlot(name=name, ref=ref, purpose=known[name].get("purpose", ""))
