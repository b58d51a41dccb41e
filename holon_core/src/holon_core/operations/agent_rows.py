"""Operations on agents: their profiles, and the sessions that work under them."""

from __future__ import annotations

from typing import Any

from holon_core.operations.answers import answer, listed, page, paged, schema_of, to_json
from holon_core.operations.door import Door, Params, not_allowed
from holon_core.operations.schemas import AFTER_ID, LIMIT, REASON, params, text
from holon_core.operations.tool_rows import READS, WRITES
from holon_core.records.agent import AgentProfile, AgentSession
from holon_core.records.operation import Operation
from holon_core.records.output import OutputResult
from holon_core.records.words import Authority

PROFILE = "agent-profile"
SESSION = "agent-session"
_ID = text("Id of the profile.")
_SESSION_ID = text("Id of the session.")
_GIVEN = {
    "type": "object",
    "description": "The profile: its fields as `agent-profile/read` shows them; all but `id` may "
    "be left out. To update, with the `revision` that was read.",
}
_ONE = answer(profile=schema_of(AgentProfile))
_STATE = answer(session=schema_of(AgentSession))


def _profile(given: Params) -> AgentProfile:
    from holon_core.wire.converter import structure

    return structure(dict(given["profile"]), AgentProfile)


def create_profile(door: Door, given: Params) -> Any:
    """Store a new profile."""
    made = door.runtime.agents.profiles.create(
        _profile(given), by=door.caller.principal, reason=given["reason"]
    )
    return {"profile": to_json(made)}


def update_profile(door: Door, given: Params) -> Any:
    """Replace a profile."""
    made = door.runtime.agents.profiles.update(
        _profile(given), by=door.caller.principal, reason=given["reason"]
    )
    return {"profile": to_json(made)}


def archive_profile(door: Door, given: Params) -> Any:
    """Archive a profile."""
    made = door.runtime.agents.profiles.archive(
        given["id"], by=door.caller.principal, reason=given["reason"]
    )
    return {"profile": to_json(made)}


def read_profile(door: Door, given: Params) -> Any:
    """Answer one profile."""
    return {"profile": to_json(door.runtime.agents.profiles.read(given["id"]))}


def list_profiles(door: Door, given: Params) -> Any:
    """Answer a page of profiles."""
    limit = given.get("limit", 50)
    found = door.runtime.agents.profiles.list(after=given.get("after", ""), limit=limit)
    return paged("profiles", found, limit)


def open_session(door: Door, _: Params) -> Any:
    """Open, or find, the caller's session."""
    return {"session": to_json(door.runtime.agents.sessions.open(door.caller))}


def _own(door: Door, session_id: str) -> AgentSession:
    found = door.runtime.agents.sessions.read(session_id)
    if not door.sees_all and not door.owns(principal=found.principal, workspace=found.workspace):
        # As of one that is not there: whose it is concerns nobody else.
        raise not_allowed(f"no agent session {session_id:.100}")
    return found


def read_session(door: Door, given: Params) -> Any:
    """Answer one session, and what waits in it."""
    found = _own(door, given["id"])
    waiting = door.runtime.agents.sessions.waiting(found)
    return {"session": to_json(found), "waiting": [each.call_id for each in waiting]}


def list_sessions(door: Door, given: Params) -> Any:
    """Answer a page of sessions: one's own, or as an operator anybody's."""
    limit = given.get("limit", 50)
    found = door.runtime.agents.sessions.list(after=given.get("after", ""), limit=limit)
    last = found[-1].id if len(found) == limit else None
    shown = [
        each
        for each in found
        if door.sees_all or door.owns(principal=each.principal, workspace=each.workspace)
    ]
    return {"sessions": to_json(shown), "next_after": last}


def finish_session(door: Door, given: Params) -> Any:
    """End the caller's session by its answer."""
    return to_json(door.session.finish(given["answer"]))


def close_session(door: Door, _: Params) -> Any:
    """End the caller's session without an answer."""
    forced = door.may(Authority.OPERATOR)
    return {"session": to_json(door.runtime.agents.sessions.close(door.caller, forced=forced))}


ROWS = (
    Operation(
        noun=PROFILE,
        verb="create",
        request=params(("profile", "reason"), profile=_GIVEN, reason=REASON),
        response=_ONE,
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=create_profile,
        positional=("profile",),
        doc="Store a new agent profile: role, tools, plan steps, guardrails, output contract.",
    ),
    Operation(
        noun=PROFILE,
        verb="read",
        request=params(("id",), id=_ID),
        response=_ONE,
        authority=Authority.CALLER,
        effects=READS,
        handler=read_profile,
        positional=("id",),
        doc="Read one agent profile.",
    ),
    Operation(
        noun=PROFILE,
        verb="list",
        request=params(after=AFTER_ID, limit=LIMIT),
        response=page("profiles", schema_of(AgentProfile)),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_profiles,
        listing="profiles",
        columns=("id", "role", "state", "description"),
        doc="List agent profiles by id, archived ones included.",
    ),
    Operation(
        noun=PROFILE,
        verb="update",
        request=params(("profile", "reason"), profile=_GIVEN, reason=REASON),
        response=_ONE,
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=update_profile,
        positional=("profile",),
        doc="Replace an agent profile, based on the revision that was read.",
    ),
    Operation(
        noun=PROFILE,
        verb="archive",
        request=params(("id", "reason"), id=_ID, reason=REASON),
        response=_ONE,
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=archive_profile,
        positional=("id",),
        doc="Archive an agent profile: whoever works under it is `not_allowed` from then on.",
    ),
    Operation(
        noun=SESSION,
        verb="open",
        request=params(),
        response=_STATE,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=open_session,
        doc="Open the session of this caller, its profile and run, or find the one there is.",
    ),
    Operation(
        noun=SESSION,
        verb="read",
        request=params(("id",), id=_SESSION_ID),
        response=answer(session=schema_of(AgentSession), waiting=listed({"type": "string"})),
        authority=Authority.CALLER,
        effects=READS,
        handler=read_session,
        positional=("id",),
        doc="Read a session: state, plan step, counters, outputs, and the calls that wait in it.",
    ),
    Operation(
        noun=SESSION,
        verb="list",
        request=params(after=AFTER_ID, limit=LIMIT),
        response=page("sessions", schema_of(AgentSession)),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_sessions,
        listing="sessions",
        columns=("id", "principal", "profile", "state", "calls"),
        doc=(
            "List sessions by id: the caller's own; of everybody for operators and approvers. A "
            "page may hold fewer than `limit`; only `next_after` null ends the list."
        ),
    ),
    Operation(
        noun=SESSION,
        verb="finish",
        request=params(
            ("answer",),
            answer={
                "type": ["object", "string"],
                "description": "A JSON object, or text that holds exactly one.",
            },
        ),
        response=schema_of(OutputResult),
        authority=Authority.CALLER,
        effects=WRITES,
        handler=finish_session,
        positional=("answer",),
        doc=(
            "End the caller's session by its answer, which has to pass the output contract of its "
            "profile. A refusal is a result, too, and leaves the session open."
        ),
    ),
    Operation(
        noun=SESSION,
        verb="close",
        request=params(),
        response=_STATE,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=close_session,
        doc=(
            "End the caller's session without an answer; of a profile with an output contract "
            "only for an operator."
        ),
    ),
)
