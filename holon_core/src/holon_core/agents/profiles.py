"""Agent profiles in the store, and the sessions that work under them (`rt.agents`)."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import Refused, Rejected
from holon_core.governed import Facet, operation
from holon_core.names import MAX_NAME, required_name
from holon_core.nearest import nearest
from holon_core.records.agent import AgentProfile, PlanStep, ProfileState
from holon_core.records.failure import failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.rule import glob
from holon_core.records.words import EFFECT_ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.guard.guard import Guard
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.protocol import Tables

PROFILES = "holon.agent-profiles"
ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
MAX_PATTERNS = 200
MAX_STEPS = 200


def _said(profile: object, reason: str) -> dict[str, Any]:
    """Return what storing a profile takes; what is no profile is refused by what stores it."""
    from holon_core.wire.converter import unstructure

    shown = unstructure(profile) if type(profile) is AgentProfile else {}
    return {"profile": shown, "reason": reason}


class Profiles(Facet):
    """Profiles by id (`rt.agents.profiles`). Each change is a revision in the store."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._read: dict[bytes, AgentProfile] = {}
        self.through = guard.through

    @operation("agent-profile/create", given=_said)
    def create(self, profile: AgentProfile, *, by: str, reason: str) -> AgentProfile:
        """Store a new profile.

        Args:
            profile: Its id is words of ``a-z 0-9 . _ -``.
            by: Who creates it.
            reason: Why; both are kept in evidence.

        Raises:
            Rejected: With every finding; nothing was stored.
            Refused: ``conflict``: the id is taken, by an archived one, too.
        """
        return self._put(profile, by=by, reason=reason, expected=0, verb="created")

    @operation("agent-profile/update", given=_said)
    def update(self, profile: AgentProfile, *, by: str, reason: str) -> AgentProfile:
        """Replace a profile; it counts from the next call of any session on.

        Raises:
            Rejected: With every finding.
            Refused: ``conflict``: its ``revision`` is not the stored one.
        """
        return self._put(
            profile, by=by, reason=reason, expected=profile.revision or -1, verb="updated"
        )

    @operation("agent-profile/archive", profile_id="id")
    def archive(self, profile_id: str, *, by: str, reason: str) -> AgentProfile:
        """Archive a profile: whoever works under it is ``not_allowed`` from then on.

        Raises:
            Refused: ``not_allowed``: there is none of this id.
        """
        found = self.read(profile_id)
        gone = evolve(found, state=ProfileState.ARCHIVED)
        return self._put(gone, by=by, reason=reason, expected=found.revision, verb="archived")

    def read(self, profile_id: str) -> AgentProfile:
        """Return a profile.

        Raises:
            Refused: ``not_allowed``: there is none of this id.
        """
        required_name(profile_id, "a profile's id", MAX_NAME)
        found = self._guard.store.read(lambda tables: self.stored(tables, profile_id))
        if found is None:
            near = nearest(profile_id, [each.id for each in self.list()])
            raise Refused(failure("not_allowed", f"no agent profile {profile_id}{near}"))
        return found

    def list(self, *, after: str = "", limit: int = 100) -> tuple[AgentProfile, ...]:
        """Return profiles by id, archived ones included."""
        rows = self._guard.store.read(
            lambda tables: tables.list_documents(PROFILES, after=after, limit=limit)
        )
        return tuple(self._decoded(row.body, row.revision) for row in rows)

    def refuses_skill(self, profile_id: str | None, skill: str) -> StructuredFailure | None:
        """Say why a profile does not take a skill; ``None`` where it does, or there is none."""
        if profile_id is None:
            return None
        found = self._guard.store.read(lambda tables: self.stored(tables, profile_id))
        if found is None or found.state is not ProfileState.ACTIVE:
            text = f"no active agent profile {profile_id}"
            return failure("not_allowed", text, profile=profile_id)
        if allows(found.allowed_skills, found.excluded_skills, skill):
            return None
        text = f"the profile {profile_id} does not allow the skill {skill:.200}"
        return failure("not_allowed", text, profile=profile_id)

    def stored(self, tables: Tables, profile_id: str) -> AgentProfile | None:
        """Return a profile inside a transaction."""
        row = tables.document(PROFILES, profile_id)
        return None if row is None else self._decoded(row.body, row.revision)

    def _decoded(self, body: bytes, revision: int) -> AgentProfile:
        from holon_core.wire.converter import structure
        from holon_core.wire.strict_json import parse

        found = self._read.get(body)
        if found is None or found.revision != revision:
            data: Any = parse(body)
            found = evolve(structure(data, AgentProfile), revision=revision)
            if len(self._read) > 1000:
                self._read.clear()
            self._read[body] = found
        return found

    def _put(self, profile: Any, *, by: str, reason: str, expected: int, verb: str) -> AgentProfile:
        from holon_core.agents.recording import record
        from holon_core.names import required_text
        from holon_core.wire.canonical import canonical
        from holon_core.wire.converter import unstructure

        required_name(by, "by")
        required_text(reason, "a reason")
        findings = tuple(problems(profile, self._guard))
        if has_errors(findings):
            raise Rejected(str(getattr(profile, "id", "agent profile"))[:MAX_NAME], findings)
        body = canonical(unstructure(evolve(profile, revision=0)))
        at = int(self._guard.clock.now())

        def work(tables: Tables) -> int:
            known = tables.document(PROFILES, profile.id)
            here = 0 if known is None else known.revision
            if here != expected:
                text = f"{profile.id} is at revision {here}; read it, and change that one"
                raise Refused(failure("conflict", text, revision=here))
            made = tables.put_document(PROFILES, profile.id, body, at=at)
            record(
                self._guard,
                tables,
                "agent_profile",
                profile.id,
                {"outcome": verb, "revision": made, "by": by, "reason": reason},
            )
            return int(made)

        made: AgentProfile = evolve(profile, revision=self._guard.store.transact(work, full=True))
        return made


def refuses(
    profile: AgentProfile,
    plan_step: str | None,
    tool: RuntimeToolDescriptor,
    *,
    skill: str | None = None,
) -> StructuredFailure | None:
    """Say why a profile, at a step of its plan, does not take a tool; ``None`` where it does.

    Args:
        profile: The profile.
        plan_step: Where its agent is.
        tool: The tool.
        skill: The skill that it came with, where it came with one.
    """
    if profile.state is not ProfileState.ACTIVE:
        return failure("not_allowed", f"the profile {profile.id} is archived", profile=profile.id)
    if not allows(profile.allowed_tools, profile.excluded_tools, tool.id):
        text = f"the profile {profile.id} does not allow {tool.id}"
        return failure("not_allowed", text, profile=profile.id)
    if skill is not None and not takes_with_skill(profile, tool.id, skill):
        text = f"the profile {profile.id} does not allow the skill {skill} of {tool.id}"
        return failure("not_allowed", text, profile=profile.id)
    ceiling = profile.guardrails.effects_ceiling
    if ceiling is not None and EFFECT_ORDER[tool.side_effect_class] > EFFECT_ORDER[ceiling]:
        text = f"the profile {profile.id} allows effects up to {ceiling}"
        return failure("not_allowed", text, profile=profile.id)
    if plan_step is None:
        return _unplanned(profile, tool)
    step = next((each for each in profile.plan_steps if each.id == plan_step), None)
    if step is None:
        text = f"the profile {profile.id} has no step {plan_step}"
        return failure("not_allowed", text, profile=profile.id)
    if not allows(step.allowed_tools, step.excluded_tools, tool.id):
        text = f"the step {plan_step} of {profile.id} does not allow {tool.id}"
        return failure("not_allowed", text, profile=profile.id, plan_step=plan_step)
    return None


def takes_with_skill(profile: AgentProfile, tool_id: str, skill: str) -> bool:
    """Tell whether a profile takes a tool that came with a skill.

    A tool that is allowed by its very id is allowed without its skill, unless that is excluded.
    """
    if allows(profile.allowed_skills, profile.excluded_skills, skill):
        return True
    return tool_id in profile.allowed_tools and allows(("*",), profile.excluded_skills, skill)


def _unplanned(profile: AgentProfile, tool: RuntimeToolDescriptor) -> StructuredFailure | None:
    """Refuse, to a session without a step, what any step of its profile restricts."""
    for step in profile.plan_steps:
        if not allows(step.allowed_tools, step.excluded_tools, tool.id):
            text = f"the step {step.id} of {profile.id} restricts {tool.id}; say which step it is"
            return failure("not_allowed", text, profile=profile.id)
    return None


def allows(allowed: tuple[str, ...], excluded: tuple[str, ...], item: str) -> bool:
    """Tell whether patterns allow an id; excluding wins."""
    return any(fnmatchcase(item, each) for each in allowed) and not any(
        fnmatchcase(item, each) for each in excluded
    )


def problems(profile: Any, guard: Guard) -> Iterator[Finding]:
    """Name everything that is wrong with a profile."""
    if type(profile) is not AgentProfile:
        yield _wrong("", "an AgentProfile is wanted")
        return
    given: Any = profile
    if not isinstance(given.id, str) or not ID.fullmatch(given.id):
        yield Finding(code="invalid_id", message="an id is of a-z 0-9 . _ -", path="/id")
    for name in ("allowed_tools", "excluded_tools", "allowed_skills", "excluded_skills"):
        yield from _patterns(getattr(given, name), f"/{name}")
    if type(given.plan_steps) is not tuple or len(given.plan_steps) > MAX_STEPS:
        yield _wrong("/plan_steps", f"steps are a tuple of at most {MAX_STEPS}")
        return
    named: set[str] = set()
    for at, step in enumerate(given.plan_steps):
        path = f"/plan_steps/{at}"
        if type(step) is not PlanStep or not str(step.id).strip():
            yield _wrong(path, "a PlanStep with an id is wanted")
            continue
        if step.id in named:
            yield Finding(code="duplicate_id", message="a step of this id", path=f"{path}/id")
        named.add(step.id)
        yield from _patterns(step.allowed_tools, f"{path}/allowed_tools")
        yield from _patterns(step.excluded_tools, f"{path}/excluded_tools")
    yield from _contract(given, guard)


def _contract(given: Any, guard: Guard) -> Iterator[Finding]:
    from holon_core.wire.schema_check import check_schema

    if given.output_class is not None and given.output_schema is not None:
        yield _wrong("/output_schema", "a contract is a class or a schema, not both")
    elif given.output_class is not None:
        try:
            guard.outputs.get(str(given.output_class))
        except Refused as refused:
            message = refused.failure.message
            yield Finding(code="unresolved_ref", message=message, path="/output_class")
    elif given.output_schema is not None:
        for each in check_schema(given.output_schema, role="input").findings:
            yield evolve(each, path=f"/output_schema{each.path}")


def _patterns(given: Any, path: str) -> Iterator[Finding]:
    good = type(given) is tuple and len(given) <= MAX_PATTERNS
    if not good or not all(isinstance(each, str) and 0 < len(each) <= 400 for each in given):
        yield _wrong(path, f"patterns are a tuple of at most {MAX_PATTERNS} texts")
        return
    for at, each in enumerate(given):
        try:
            glob(each)
        except ValueError as error:
            yield _wrong(f"{path}/{at}", str(error))


def _wrong(path: str, message: str) -> Finding:
    return Finding(code="record_invalid", message=message, path=path)
