"""Operations on Elegy's agent capability profiles: import, export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.schemas import REASON, params, text, whole
from holon_core.records.agent import AgentProfile
from holon_core.records.finding import Finding
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect
from holon_elegy.profiles import read_profile, write_profile

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params

NOUN = "agent-capability-profile"
SOURCE = text("Id of a registered source of kind elegy_v2: whose skills the profile names.")
FINDINGS = listed(schema_of(Finding))


def import_profile(door: Door, given: Params) -> Any:
    """Store a profile of Elegy's as an agent profile: a new one, or in place of a revision."""
    profiles, revision = door.runtime.agents.profiles, given.get("revision")
    known = None
    if revision is not None:
        known = profiles.read(str(given["definition"].get("profileId", "")))
    found = read_profile(
        door.runtime,
        given["source"],
        given["definition"],
        known=known,
        leave_out_unknown=given.get("leave_out_unknown", False),
    )
    by, reason = door.caller.principal, given["reason"]
    if revision is None:
        made = profiles.create(found.profile, by=by, reason=reason)
    else:
        made = profiles.update(evolve(found.profile, revision=revision), by=by, reason=reason)
    return {"profile": to_json(made), "findings": to_json(found.findings)}


def export_profile(door: Door, given: Params) -> Any:
    """Write what an agent profile allows of a source, as Elegy says it."""
    profile = door.runtime.agents.profiles.read(given["id"])
    written = write_profile(door.runtime, given["source"], profile)
    return {"definition": written.definition, "findings": to_json(written.findings)}


def rows() -> list[Operation]:
    """Return the rows on agent capability profiles."""
    return [
        Operation(
            noun=NOUN,
            verb="import",
            request=params(
                ("source", "definition", "reason"),
                source=SOURCE,
                definition={"type": "object", "description": "An agent-capability-profile/v1."},
                reason=REASON,
                revision=whole("The revision of the agent profile that it replaces.", least=1),
                leave_out_unknown={
                    "type": "boolean",
                    "description": "Leave out what is not imported here, in place of refusing it.",
                },
            ),
            response=answer(profile=schema_of(AgentProfile), findings=FINDINGS),
            authority=Authority.OPERATOR,
            effects=frozenset({Effect.HOST_STATE_WRITE}),
            handler=import_profile,
            doc=(
                "Store a profile of Elegy's as an agent profile of the same id. Its skills and "
                "capabilities become the tools that they are here now. Replacing one keeps the "
                "steps, limits and output contract that it has here."
            ),
        ),
        Operation(
            noun=NOUN,
            verb="export",
            request=params(("id", "source"), id=text("Id of the agent profile."), source=SOURCE),
            response=answer(definition={"type": "object"}, findings=FINDINGS),
            authority=Authority.OPERATOR,
            effects=frozenset({Effect.HOST_STATE_READ}),
            handler=export_profile,
            positional=("id",),
            doc=(
                "Write what an agent profile allows of a source as an agent-capability-profile/v1. "
                "Refused where it restricts an agent in a way that Elegy cannot say."
            ),
        ),
    ]
