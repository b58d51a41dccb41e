"""Operations on imported skills: sources, definitions, approvals of postures, loading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.operations.answers import answer, listed, page, paged, schema_of, to_json
from holon_core.operations.door import Door, Params
from holon_core.operations.schemas import AFTER_ID, LIMIT, MAX_TOOL_ID, REASON, params, text
from holon_core.operations.tool_rows import READS, WRITES
from holon_core.records.operation import Operation
from holon_core.records.skill import (
    PostureApproval,
    SkillEntry,
    SkillLifecycle,
    SkillSourceDescriptor,
    SkillSourceKind,
)
from holon_core.records.words import Authority, Posture

if TYPE_CHECKING:
    from holon_core.records.failure import StructuredFailure

_SOURCE = schema_of(SkillSourceDescriptor)
_APPROVAL = schema_of(PostureApproval)
_STRING = {"type": "string"}
_SUMMARY = answer(
    id=_STRING,
    source=_STRING,
    version=_STRING,
    name=_STRING,
    description=_STRING,
    lifecycle=schema_of(SkillLifecycle),
    capabilities=listed(_STRING),
    context_loadable={"type": "boolean"},
    digest=_STRING,
    revision={"type": "integer"},
)
# Characters of instructions that go into a context.
MAX_LOADED = 64 * 1024
_SKILL_ID = text("Id of a skill, or of one of its tools.", limit=MAX_TOOL_ID)
_SOURCE_ID = text("Id of the source.")
_POSTURE = {
    "type": "string",
    "enum": [each.value for each in Posture if each is not Posture.DRY_RUN],
    "description": "Under which authority it may run.",
}


def register_source(door: Door, given: Params) -> Any:
    """Register a source of skills."""
    source = SkillSourceDescriptor(
        id=given["source"], kind=SkillSourceKind(given["kind"]), title=given.get("title", "")
    )
    return {"source": to_json(source), "is_new": door.runtime.skills.register_source(source)}


def list_sources(door: Door, given: Params) -> Any:
    """Answer a page of sources."""
    limit = given.get("limit", 50)
    found = door.runtime.skills.sources(after=given.get("after", ""), limit=limit)
    return paged("sources", found, limit)


def read_source(door: Door, given: Params) -> Any:
    """Answer one source."""
    return to_json(door.runtime.skills.source(given["source"]))


def remove_source(door: Door, given: Params) -> Any:
    """Remove a source with all that came from it."""
    return {"removed": list(door.runtime.skills.remove_source(given["source"]))}


def list_skills(door: Door, given: Params) -> Any:
    """Answer a page of skills."""
    limit = given.get("limit", 50)
    found = door.runtime.skills.list(
        source=given.get("source"), after=given.get("after", ""), limit=limit
    )
    last = found[-1].skill.id if len(found) == limit else None
    shown = [each for each in found if _refused(door, each.skill.id) is None]
    return {"skills": [_summary(each) for each in shown], "next_after": last}


def _refused(door: Door, skill: str) -> StructuredFailure | None:
    """Say why the caller's profile does not take a skill; operators and approvers see all."""
    if door.sees_all:
        return None
    return door.runtime.agents.profiles.refuses_skill(door.caller.profile, skill)


def _taken(door: Door, named: str, *, loads: bool) -> SkillEntry:
    """Return a skill that the caller's profile takes, by its id or that of one of its tools.

    Raises:
        Refused: ``not_allowed``: what is not allowed is not told of; ``unknown_skill``.
    """
    profiles = door.runtime.agents.profiles
    try:
        entry, unknown = door.runtime.skills.read(named), None
    except Refused as refused:
        entry, unknown = None, refused
    skill = named if entry is None else entry.skill.id
    # An operator who works under a profile reads everything, and loads what the profile takes.
    problem = profiles.refuses_skill(door.caller.profile, skill) if loads else _refused(door, skill)
    if problem is not None:
        raise Refused(problem)
    if entry is None:
        assert unknown is not None, "it is either there or not"
        raise unknown
    return entry


def _summary(entry: SkillEntry) -> dict[str, Any]:
    skill = entry.skill
    return {
        "id": skill.id,
        "source": skill.source,
        "version": skill.version,
        "name": skill.name,
        "description": skill.description,
        "lifecycle": skill.lifecycle.value,
        "capabilities": [binding.tool for binding in entry.bindings],
        "context_loadable": bool(skill.instructions),
        "digest": skill.digest,
        "revision": entry.revision,
    }


def read_skill(door: Door, given: Params) -> Any:
    """Answer one skill with its bindings, findings and approvals."""
    skills = door.runtime.skills
    entry = _taken(door, given["skill"], loads=False)
    return {**to_json(entry), "approvals": to_json(skills.approvals(entry.skill.id))}


def approve_execution(door: Door, given: Params) -> Any:
    """Let capabilities run under a posture."""
    made = door.runtime.skills.approve_execution(
        given["skill"],
        posture=Posture(given["posture"]),
        by=door.caller.principal,
        reason=given["reason"],
    )
    return {"approvals": to_json(made)}


def revoke_execution(door: Door, given: Params) -> Any:
    """Take approvals of postures back."""
    posture = given.get("posture")
    gone = door.runtime.skills.revoke_execution(
        given["skill"],
        posture=None if posture is None else Posture(posture),
        by=door.caller.principal,
        reason=given["reason"],
    )
    return {"revoked": list(gone)}


def load_skill(door: Door, given: Params) -> Any:
    """Answer what an agent may load into its context."""
    skills, name, by = door.runtime.skills, given.get("resource"), door.caller.principal
    skill_id = _taken(door, given["skill"], loads=True).skill.id
    if name is None:
        entry = skills.load(skill_id, by=by)
        text = entry.skill.instructions
    else:
        entry, text = skills.load_resource(skill_id, name, by=by)
    skill = entry.skill
    return {
        "skill": skill.id,
        "name": skill.name,
        "version": skill.version,
        "digest": skill.digest,
        "source": skill.source,
        "source_kind": skills.source(skill.source).kind.value,
        "is_untrusted": True,
        "instructions": text[:MAX_LOADED] if name is None else "",
        "resource": name,
        "content": None if name is None else text[:MAX_LOADED],
        "is_cut": len(text) > MAX_LOADED,
        "resources": list(skills.resources(entry)),
        "tools": [binding.tool for binding in entry.bindings],
    }


ROWS = (
    Operation(
        noun="skill-source",
        verb="register",
        request=params(
            ("source", "kind"),
            source=text("Its id: the providing distribution's name, a dot, a name of its own."),
            kind={
                "type": "string",
                "enum": [SkillSourceKind.ELEGY_V2.value, SkillSourceKind.PLUGIN_PACKAGE.value],
                "description": "What its definitions are.",
            },
            title=text("A title for people."),
        ),
        response=answer(source=_SOURCE, is_new={"type": "boolean"}),
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=register_source,
        positional=("source",),
        doc="Register a source of skills; imports name it. The same one again changes nothing.",
    ),
    Operation(
        noun="skill-source",
        verb="list",
        request=params(after=AFTER_ID, limit=LIMIT),
        response=page("sources", _SOURCE),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_sources,
        listing="sources",
        columns=("id", "kind", "origin", "title"),
        doc="List sources of skills and tool definitions by id: registered ones, and plugins' own.",
    ),
    Operation(
        noun="skill-source",
        verb="read",
        request=params(("source",), source=_SOURCE_ID),
        response=_SOURCE,
        authority=Authority.CALLER,
        effects=READS,
        handler=read_source,
        positional=("source",),
        doc="Read one source.",
    ),
    Operation(
        noun="skill-source",
        verb="remove",
        request=params(("source",), source=_SOURCE_ID),
        response=answer(removed=listed(_STRING)),
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=remove_source,
        positional=("source",),
        doc=(
            "Remove a registered source with its skills, tools and approvals of postures. "
            "`removed` names the tools; earlier revisions stay in the store."
        ),
    ),
    Operation(
        noun="skill",
        verb="list",
        request=params(source=text("Only skills of this source."), after=AFTER_ID, limit=LIMIT),
        response=page("skills", _SUMMARY),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_skills,
        listing="skills",
        columns=("id", "version", "lifecycle", "capabilities", "description"),
        doc="List imported skills by id.",
    ),
    Operation(
        noun="skill",
        verb="read",
        request=params(("skill",), skill=_SKILL_ID),
        response=answer(
            **schema_of(SkillEntry)["properties"],
            approvals=listed(_APPROVAL),
        ),
        authority=Authority.CALLER,
        effects=READS,
        handler=read_skill,
        positional=("skill",),
        doc=(
            "Read one skill: its definition, how each capability is bound, what was found at its "
            "import, and which postures are approved."
        ),
    ),
    Operation(
        noun="skill",
        verb="approve-execution",
        request=params(
            ("skill", "posture", "reason"), skill=_SKILL_ID, posture=_POSTURE, reason=REASON
        ),
        response=answer(approvals=listed(_APPROVAL)),
        authority=Authority.APPROVER,
        effects=WRITES,
        handler=approve_execution,
        listing="approvals",
        columns=("tool", "posture", "tool_digest", "by"),
        positional=("skill",),
        doc=(
            "Let an imported capability, or all of a skill, run under a posture. It holds for the "
            "present definition alone, and is one gate among several: see runtime-tool/explain."
        ),
    ),
    Operation(
        noun="skill",
        verb="revoke-execution",
        request=params(("skill", "reason"), skill=_SKILL_ID, posture=_POSTURE, reason=REASON),
        response=answer(revoked=listed(_STRING)),
        authority=Authority.APPROVER,
        effects=WRITES,
        handler=revoke_execution,
        positional=("skill",),
        doc="Take approvals of postures back: of one posture, or of all where none is named.",
    ),
    Operation(
        noun="runtime-skill",
        verb="load",
        request=params(
            ("skill",),
            skill=_SKILL_ID,
            resource=text("Instead of the instructions a file of the skill.", limit=1000),
        ),
        response=answer(
            skill=_STRING,
            name=_STRING,
            version=_STRING,
            digest=_STRING,
            source=_STRING,
            source_kind=_STRING,
            is_untrusted={"type": "boolean"},
            instructions=_STRING,
            resource={"type": ["string", "null"]},
            content={"type": ["string", "null"]},
            is_cut={"type": "boolean"},
            resources=listed(_STRING),
            tools=listed(_STRING),
        ),
        authority=Authority.CALLER,
        effects=READS,
        handler=load_skill,
        positional=("skill", "resource"),
        doc=(
            "Load the instructions of a skill into a context, or a file that came with it: at "
            "most 64 KiB of characters, with where they come from, and recorded. They are the "
            "untrusted text of whoever wrote the skill, give no authority, and let nothing run "
            "that could not run before."
        ),
    ),
)
