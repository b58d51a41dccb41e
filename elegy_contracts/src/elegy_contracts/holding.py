"""The skills that any contract holds: its own one, those inside a package, entries of an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from elegy_contracts.finding import ContractError, Finding, Severity, pointer
from elegy_contracts.normal import IMPORTABLE, NormalCapability, NormalSkill, normalise
from elegy_contracts.reading import Reading, examine

PACKAGE, INDEX = "elegy-plugin-package", "skill-discovery-index"
# Contracts of which something may be imported.
HOLDING = (*IMPORTABLE, PACKAGE, INDEX)
# Before the key of a skill that an index lists: the definition itself has a key of its own.
LISTED = "index."


def skills_in(data: Any) -> tuple[NormalSkill, ...]:
    """Read data, and normalise every skill that it holds.

    Args:
        data: JSON; what ``normalise`` takes, a plugin package with definitions inside, or a
            discovery index. Skills of an index have no capabilities: it says none.

    Raises:
        ContractError: It is refused, or holds none (``no_skill``); with every finding and its
            path.
    """
    one = data if isinstance(data, Reading) else examine(None, data)
    if one.valid and one.contract == PACKAGE:
        return _packed(one)
    if one.valid and one.contract == INDEX:
        found = tuple(_listed(one, each, at) for at, each in enumerate(one.data["entries"]))
        if not found:
            raise _none(one, "the index has no entries")
        return found
    return (normalise(one),)


def _packed(one: Reading) -> tuple[NormalSkill, ...]:
    components = one.data["components"]
    found: list[NormalSkill] = []
    elsewhere: list[str] = []
    for at, each in enumerate(components.get("skillDefinitions", ())):
        if "definition" not in each:
            elsewhere.append(str(each.get("definitionRef", each["id"])))
            continue
        skill = normalise(each["definition"])
        found.append(_as_packed(one, skill, at))
    if not found:
        text = "the package has no skill definition inside"
        if elsewhere:
            text += f"; it refers to {', '.join(elsewhere)[:400]}"
        raise _none(one, text)
    return tuple(found)


def _none(one: Reading, text: str) -> ContractError:
    return ContractError(one.contract, [*one.findings, Finding(code="no_skill", message=text)])


def _as_packed(one: Reading, skill: NormalSkill, at: int) -> NormalSkill:
    """Let a package tighten a skill: more side effects, and less that may run."""
    path = pointer("components", "skillDefinitions", at, "definition")
    projections = [
        each
        for each in one.data["components"].get("capabilityProjections", ())
        if each["skill"] == skill.key
    ]
    whole = [each.message for each in one.findings if each.spoils == "*"]
    capabilities = tuple(_tightened(one, each, projections, whole) for each in skill.capabilities)
    own = (evolve(each, path=path + each.path) for each in skill.findings)
    # What was found inside of it the package has told already, by the same paths.
    findings = {(each.code, each.path): each for each in (*one.findings, *own)}
    return evolve(skill, capabilities=capabilities, findings=tuple(findings.values()))


def _tightened(
    one: Reading, each: NormalCapability, projections: Any, whole: list[str]
) -> NormalCapability:
    mine = [made for made in projections if made["capability"] == each.id]
    claims = dict.fromkeys(each.claims)
    said = [made["sideEffectClass"] for made in mine if made.get("sideEffectClass")]
    claims |= {("host_class", word): None for word in said}
    ids = {made["id"] for made in mine}
    spoiled = [found.message for found in one.findings if found.spoils in ids]
    return evolve(each, claims=tuple(claims), blocked=(*each.blocked, *whole, *spoiled))


def _listed(one: Reading, each: Mapping[str, Any], at: int) -> NormalSkill:
    text = "it is listed by a discovery index; import its definition for its capabilities"
    told = Finding(
        code="definition_elsewhere",
        message=text,
        path=pointer("entries", at),
        severity=Severity.WARNING,
    )
    return NormalSkill(
        contract=INDEX,
        key=f"{LISTED}{each['skillId']}",
        name=each["name"],
        version="0",
        lifecycle=each["lifecycleState"],
        description=each["description"],
        keywords=tuple(each.get("keywords", ())),
        examples=tuple(each.get("triggersOn", ())),
        metadata={
            "manifest": each.get("manifest", {}),
            "capabilityHints": list(each.get("capabilityHints", ())),
        },
        definition=each,
        findings=(*one.findings, told),
    )
