"""Elegy's agent capability profiles, read onto Holon's agent profiles and written back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from elegy_contracts import UNSET, ContractError, read, write
from elegy_contracts.types.profile import AgentCapabilityProfile
from holon_core.agents.profiles import allows, refuses
from holon_core.errors import Rejected
from holon_core.ids import capability_id
from holon_core.records.agent import AgentProfile, Guardrails, ProfileState
from holon_core.records.finding import Finding, has_errors
from holon_core.records.skill import SkillEntry
from holon_core.records.words import Severity
from holon_elegy.importing import as_finding

if TYPE_CHECKING:
    from holon_core.runtime import Runtime

CONTRACT = "agent-capability-profile"
VERSION = "agent-capability-profile/v1"
# The skill by which an agent of Elegy finds others.
ROUTER = "skill-router"
_PAGE = 1000
_GLOB = frozenset("*?[")


@frozen(kw_only=True)
class ReadProfile:
    """A profile of Elegy as one of Holon's, and what of it names nothing here."""

    profile: AgentProfile
    findings: tuple[Finding, ...] = ()


@frozen(kw_only=True)
class WrittenProfile:
    """A profile of Holon's as one of Elegy's, and what of it has no place there."""

    definition: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()


def read_profile(
    runtime: Runtime,
    source: str,
    data: Any,
    *,
    known: AgentProfile | None = None,
    leave_out_unknown: bool = False,
) -> ReadProfile:
    """Read an ``agent-capability-profile/v1``; nothing is stored.

    A skill gives the tools that it has here now, each by its id, so that a later import widens no
    profile. What is excluded stays excluded, whether it is here yet or not.

    Args:
        runtime: An open runtime with this lane.
        source: The registered source whose skills and capabilities the profile names.
        data: The profile, a JSON value.
        known: The profile that it replaces: what Elegy says nothing about stays as it is there.
        leave_out_unknown: Warn of skills and capabilities that are not here, and leave them out.

    Raises:
        Rejected: It is no such profile; or it includes what is not here, or what two skills are
            called; with every finding and its path.
        Refused: ``unknown_skill``: no such source is registered.

    Source: ``agent-capability-profile/v1``.
    """
    try:
        given = read(data, contract=CONTRACT)
    except ContractError as error:
        raise Rejected(error.subject, [as_finding(each) for each in error.findings]) from None
    chosen = _Chosen(_skills(runtime, source), lenient=leave_out_unknown)
    for at, name in enumerate(given.include_skills or ()):
        chosen.skill(name, f"/includeSkills/{at}")
    if given.always_include_router is not False:
        chosen.router()
    for at, name in enumerate(given.include_capabilities or ()):
        chosen.capability(f"{source}/{capability_id(name)}", f"/includeCapabilities/{at}")
    if has_errors(chosen.findings):
        raise Rejected(given.profile_id[:200], chosen.findings)
    excluded = (f"{source}/{capability_id(each)}" for each in given.exclude_capabilities or ())
    profile = evolve(
        AgentProfile(id=given.profile_id) if known is None else known,
        allowed_tools=tuple(chosen.tools),
        excluded_tools=tuple(excluded),
        allowed_skills=tuple(chosen.skills),
        excluded_skills=(),
    )
    return ReadProfile(profile=profile, findings=tuple(chosen.findings))


def write_profile(runtime: Runtime, source: str, profile: AgentProfile) -> WrittenProfile:
    """Write what a profile allows of one source as an ``agent-capability-profile/v1``.

    Patterns and the ceiling of effects are written as the skills and capabilities that they come
    to here and now, so that whoever reads it is allowed no more.

    Args:
        runtime: An open runtime with this lane.
        source: A registered source of Elegy's.
        profile: A profile that is active.

    Raises:
        Rejected: It restricts an agent in a way that Elegy's profile cannot say: steps of a plan,
            limits of a session, a contract of its answer, or it is archived; with each path.
        Refused: ``unknown_skill``: no such source is registered.

    Source: ``agent-capability-profile/v1``.
    """
    lost = list(_lost(profile, source))
    if has_errors(lost):
        raise Rejected(profile.id, lost)
    skills = _skills(runtime, source)
    names = _Names(skills)
    router, included, capabilities, excluded = False, [], [], []
    for entry in skills:
        whole = allows(profile.allowed_skills, profile.excluded_skills, entry.skill.id)
        if whole and names.of(entry) == ROUTER:
            router = True
        elif whole:
            included.append(names.of(entry))
        for each in entry.bindings:
            tool = runtime.tools.read(each.tool)
            taken = refuses(profile, None, tool, skill=entry.skill.id) is None
            if taken and not whole:
                capabilities.append(each.capability)
            elif whole and not taken:
                excluded.append(each.capability)
    for pattern in profile.excluded_tools:
        owner, _, name = pattern.partition("/")
        if owner == source and not _GLOB & set(name):
            excluded.append(name)
    made = AgentCapabilityProfile(
        schema_version=VERSION,
        profile_id=profile.id,
        include_skills=tuple(sorted(set(included))) or UNSET,
        include_capabilities=tuple(sorted(set(capabilities))) or UNSET,
        exclude_capabilities=tuple(sorted(set(excluded))) or UNSET,
        always_include_router=router,
    )
    return WrittenProfile(definition=write(made), findings=tuple(lost))


def _skills(runtime: Runtime, source: str) -> list[SkillEntry]:
    runtime.skills.source(source)
    found: list[SkillEntry] = []
    after = ""
    while True:
        batch = runtime.skills.list(source=source, after=after, limit=_PAGE)
        found += batch
        if len(batch) < _PAGE:
            return found
        after = batch[-1].skill.id


class _Names:
    """What profiles call skills: their own name, or with its namespace where two have one name."""

    def __init__(self, skills: list[SkillEntry]) -> None:
        self._by: dict[str, list[SkillEntry]] = {}
        for entry in skills:
            for name in {_key(entry), _short(entry)}:
                self._by.setdefault(name, []).append(entry)

    def named(self, name: str) -> list[SkillEntry]:
        """Return the skills of this name."""
        return self._by.get(name, [])

    def of(self, entry: SkillEntry) -> str:
        """Return the shortest name that is this skill's alone."""
        short = _short(entry)
        return short if len(self._by[short]) == 1 else _key(entry)


def _key(entry: SkillEntry) -> str:
    return entry.skill.id.partition("/")[2]


def _short(entry: SkillEntry) -> str:
    identity = entry.skill.definition.get("identity")
    name = identity.get("name") if isinstance(identity, Mapping) else None
    return name if isinstance(name, str) else _key(entry)


class _Chosen:
    """What the includes of a profile come to, and what they do not."""

    def __init__(self, skills: list[SkillEntry], *, lenient: bool) -> None:
        self._names = _Names(skills)
        self._known = {each.tool for entry in skills for each in entry.bindings}
        self._missing = Severity.WARNING if lenient else Severity.ERROR
        self.skills: dict[str, None] = {}
        self.tools: dict[str, None] = {}
        self.findings: list[Finding] = []

    def skill(self, name: str, path: str) -> None:
        """Take a skill, and all tools that it has here."""
        found = self._names.named(name)
        if len(found) > 1:
            keys = ", ".join(_key(each) for each in found)
            self._tell("duplicate_id", f"{name} may be {keys}", path, Severity.ERROR)
        elif found:
            self._take(found[0])
        else:
            self._tell("unresolved_ref", f"no skill {name} is imported", path, self._missing)

    def router(self) -> None:
        """Take the router where there is one; an agent without it only finds less."""
        found = self._names.named(ROUTER)
        if len(found) == 1:
            self._take(found[0])
            return
        text = f"no one skill {ROUTER} is imported, so there is no router"
        self._tell("unresolved_ref", text, "/alwaysIncludeRouter", Severity.WARNING)

    def capability(self, tool: str, path: str) -> None:
        """Take one capability."""
        if tool in self._known:
            self.tools[tool] = None
        else:
            self._tell("unresolved_ref", f"no tool {tool} is imported", path, self._missing)

    def _take(self, entry: SkillEntry) -> None:
        self.skills[entry.skill.id] = None
        self.tools.update(dict.fromkeys(each.tool for each in entry.bindings))

    def _tell(self, code: str, message: str, path: str, severity: Severity) -> None:
        found = Finding(code=code, message=message[:1000], path=path, severity=severity)
        self.findings.append(found)


def _lost(profile: AgentProfile, source: str) -> Iterator[Finding]:
    """Name what Elegy's profile cannot say: an error where it restricts, else a warning."""
    limits = evolve(profile.guardrails, effects_ceiling=None)
    restricts = {
        "/plan_steps": bool(profile.plan_steps),
        "/guardrails": limits != Guardrails(),
        "/output_class": profile.output_class is not None,
        "/output_schema": profile.output_schema is not None,
        "/state": profile.state is not ProfileState.ACTIVE,
    }
    for path, is_lost in restricts.items():
        if is_lost:
            text = "Elegy's profile cannot say it, and without it would allow more"
            yield Finding(code="not_portable", message=text, path=path)
    for name in ("role", "description", "instructions_ref"):
        if getattr(profile, name):
            yield _only_here(f"/{name}", "it has no place in Elegy's profile")
    for at, pattern in enumerate(profile.allowed_tools):
        if pattern.partition("/")[0] != source:
            text = f"only tools of {source} are written"
            yield _only_here(f"/allowed_tools/{at}", text)


def _only_here(path: str, message: str) -> Finding:
    code, severity = "not_portable", Severity.WARNING
    return Finding(code=code, message=message, path=path, severity=severity)
