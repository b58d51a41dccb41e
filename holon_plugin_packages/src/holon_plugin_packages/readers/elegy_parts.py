"""What both lines of Elegy's packages share: skills and capabilities, normalised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from elegy_contracts.finding import Finding as ContractFinding
from elegy_contracts.finding import Severity as ContractSeverity
from holon_core.records.finding import Finding
from holon_core.records.words import Effect, Severity
from holon_plugin_packages.effects import effects_of

if TYPE_CHECKING:
    from elegy_contracts.normal import NormalCapability, NormalSkill
    from holon_plugin_packages.readers.building import Builder

_PROGRAM = re.compile(r"[A-Za-z0-9._+-]+")
MAX_HINTS = 20


def as_finding(given: ContractFinding, *, path: str = "") -> Finding:
    """Return a finding of the contracts as one of Holon's; its own word stands in the message."""
    error = given.severity is ContractSeverity.ERROR
    code = {
        "duplicate": "duplicate_id",
        "unknown_capability": "unresolved_ref",
        "unknown_skill": "unresolved_ref",
        "path_unsafe": "package_path_escape",
        "undeclared_file": "undeclared_file",
    }.get(given.code, "package_manifest_invalid")
    return Finding(
        code=code,
        message=f"{given.code}: {given.message}",
        path=path + given.path,
        severity=Severity.ERROR if error else Severity.WARNING,
    )


def add_skill(builder: Builder, normal: NormalSkill) -> None:
    """Add a skill with its instructions; its capabilities are added by themselves."""
    builder.add(
        "skills",
        {
            "id": normal.key,
            "name": normal.name[:200],
            "description": normal.description[:4000],
            "version": normal.version[:100],
            "instructions": "\n".join(_lines(normal))[: 64 * 1024],
            "lifecycle": normal.lifecycle,
            "aliases": [each[:200] for each in normal.aliases][:100],
            "keywords": [each[:200] for each in dict.fromkeys(normal.keywords) if each][:100],
            "examples": [each[:500] for each in normal.examples][:100],
            "definition": dict(normal.definition),
        },
    )


def _lines(normal: NormalSkill) -> Iterator[str]:
    yield f"# {normal.name} {normal.version}"
    if normal.description:
        yield f"\n{normal.description}"
    for title, given in (("When to use", normal.examples), ("Constraints", normal.constraints)):
        if given:
            yield f"\n## {title}\n"
            yield from (f"- {text}" for text in given)
    yield "\n## Capabilities\n"
    for each in normal.capabilities:
        yield f"- `{each.id}`: {each.description}"


def capability(
    normal: NormalSkill, each: NormalCapability, *, more: tuple[str, ...] = (), lane: str = "cli"
) -> dict[str, Any]:
    """Make the entry of a capability.

    Args:
        normal: Its skill.
        each: The capability.
        more: Further words of side effects that are claimed of it.
        lane: What would run it.
    """
    governance = normal.governance
    made: dict[str, Any] = {
        "id": each.id,
        "title": each.name[:200],
        "description": each.description[:4000],
        "skill": normal.key,
        "lane": lane,
        "examples": [text[:500] for text in normal.examples][:MAX_HINTS],
        "risk_hints": list(_hints(governance)),
        "output": {"format": "elegy"},
    }
    for name, schema in (
        ("input_schema", each.input_schema),
        ("output_schema", each.output_schema),
    ):
        if schema is not None:
            made[name] = dict(schema)
    words = [word for _, word in each.claims] + list(more)
    if each.has_side_effects is not None:
        words.append("write" if each.has_side_effects else "read")
    effects = effects_of(words)
    if Effect.UNKNOWN not in effects:
        made["effects"] = sorted(effect.value for effect in effects)
    if governance.get("approvalRequirement") == "required":
        made["approval"] = "required"
    blocked = [*each.blocked]
    command = _command(each, blocked)
    if command is not None:
        made["command"] = command
        known = (each.input_schema or {}).get("properties", {})
        made["dry_run"] = next((n for n in ("dry_run", "dryRun") if n in known), "")
    if blocked:
        made["blocked"] = [text[:500] for text in blocked][:MAX_HINTS]
    return {name: value for name, value in made.items() if value not in ("", [], None)}


def _command(each: NormalCapability, blocked: list[str]) -> dict[str, Any] | None:
    said = each.implementation
    if said is None:
        return None
    if not _PROGRAM.fullmatch(said["executable"].removeprefix("./").replace("/", "_")):
        blocked.append(f"its program {said['executable']!r:.100} is no plain name")
        return None
    known = {name.casefold() for name in (each.input_schema or {}).get("properties", {})}
    lost = [name for name in said["placeholders"] if name.casefold() not in known]
    if lost:
        blocked.append(f"its arguments name {', '.join(lost)[:200]}, which is no parameter")
        return None
    return {
        "program": said["executable"],
        "arguments": list(said["arguments"]),
        "stdin": said["stdin_format"],
        "dash_names": list(said["dash_names"]),
        "timeout_s": min(each.timeout_s, 3600),
    }


def _hints(governance: Mapping[str, Any]) -> Iterator[str]:
    for name, key in (("risk", "riskLevel"), ("trust", "trustLevel")):
        if governance.get(key):
            yield f"{name}:{governance[key]}"
    if governance.get("approvalRequirement") == "advisory":
        yield "approval:advisory"
    yield from (f"policy:{ref}"[:200] for ref in list(governance.get("policyRefs", ()))[:10])
