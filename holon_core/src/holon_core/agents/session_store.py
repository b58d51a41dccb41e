"""Sessions of agents as documents: their ids, their stored form, and what refuses in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.records.agent import AgentProfile, AgentSession
from holon_core.records.failure import failure
from holon_core.wire.canonical import digest

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.store.protocol import Tables

SESSIONS = "holon.agent-sessions"
OWN_CLASS = "agent-profile."
# A blocked call did nothing and is not counted as one, but an agent tries no tool without end.
BLOCKED_PER_CALL = 10


def session_id(caller: CallerContext) -> str:
    """Return the id of a caller's session: of whom, where, as what, and in which run.

    Callers without a run are one: what each of them does adds up in the same session.
    """
    of = [caller.principal, caller.workspace, caller.profile, caller.run]
    return f"s{digest(of, domain='holon-agent-session/1')[:40]}"


def own_class_id(profile: AgentProfile) -> str:
    """Return the id of the class that stands for a profile's output schema."""
    return f"{OWN_CLASS}{profile.id}"


def stored(tables: Tables, doc_id: str) -> AgentSession | None:
    """Return a session inside a transaction."""
    row = tables.document(SESSIONS, doc_id)
    return None if row is None else decoded(row.body)


def decoded(body: bytes) -> AgentSession:
    """Read the stored form of a session."""
    from holon_core.wire.converter import structure
    from holon_core.wire.strict_json import parse

    data: Any = parse(body)
    return structure(data, AgentSession)


def put(tables: Tables, session: AgentSession, at: int) -> None:
    """Store a session inside a transaction."""
    from holon_core.wire.canonical import canonical
    from holon_core.wire.converter import unstructure

    tables.put_document(SESSIONS, session.id, canonical(unstructure(session)), at=at)


def after_end(session: AgentSession) -> StructuredFailure:
    """Refuse what comes after the end of a session."""
    text = f"the agent's session is {session.state}; another run begins another"
    return failure("not_allowed", text, session=session.id)


def used_up(profile: AgentProfile, session: AgentSession, now: float) -> StructuredFailure | None:
    """Say which limit of its profile a session has reached; ``None`` where it may go on."""
    lasted = int(now - _opened(session))
    return (
        over(profile, "max_calls", session.calls)
        or _blocked(profile, session)
        or over(profile, "max_duration_s", lasted)
        or over(profile, "max_output_bytes", session.output_bytes + session.reserved_bytes)
    )


def over(profile: AgentProfile, name: str, used: int) -> StructuredFailure | None:
    """Refuse where a guardrail is used up."""
    most = getattr(profile.guardrails, name)
    if most is None or used < most:
        return None
    text = f"{name} of the profile {profile.id} is {most}, and it is used up"
    return failure("budget_exceeded", text, limit=name, allowed=most, used=used)


def _blocked(profile: AgentProfile, session: AgentSession) -> StructuredFailure | None:
    calls = profile.guardrails.max_calls
    if calls is None or session.blocked_calls < calls * BLOCKED_PER_CALL:
        return None
    most = calls * BLOCKED_PER_CALL
    text = (
        f"{session.blocked_calls} calls of this session were blocked by their tools, and with "
        f"max_calls {calls} of the profile {profile.id} at most {most} are tried"
    )
    return failure(
        "budget_exceeded", text, limit="max_calls", allowed=most, used=session.blocked_calls
    )


def left_s(profile: AgentProfile, session: AgentSession, now: float) -> float | None:
    """Return how long a session may go on, in seconds; ``None`` where that is not limited."""
    most = profile.guardrails.max_duration_s
    if most is None:
        return None
    return max(_opened(session) + most - now, 0.001)


def _opened(session: AgentSession) -> float:
    return session.opened_at_unix_seconds + session.opened_at_fraction
