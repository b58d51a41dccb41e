"""Sessions of agents in the store: counters, guardrails, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.agents.profiles import Profiles, refuses
from holon_core.agents.recording import record
from holon_core.errors import Refused
from holon_core.governed import Facet, operation
from holon_core.guard.outputs import accept, chain_of
from holon_core.names import MAX_NAME, required_text
from holon_core.records.agent import AgentProfile, AgentSession, AgentSessionState, ProfileState
from holon_core.records.failure import failure
from holon_core.records.output import OutputClass, OutputFacts
from holon_core.records.words import HeldState
from holon_core.wire.canonical import digest

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.approval import HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.output import OutputResult
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.protocol import Tables

SESSIONS = "holon.agent-sessions"
OWN_CLASS = "agent-profile."
MAX_HELD = 1000


def _finished(answer: object, **_: object) -> dict[str, Any]:
    from holon_core.agents.output_side import said

    return {"answer": said(answer)}


def _closed(**_: object) -> dict[str, Any]:
    return {}


class Sessions(Facet):
    """Sessions of agents (`rt.agents.sessions`); also what the guard asks about profiles.

    A session belongs to a principal, a workspace, a profile and a run.
    """

    def __init__(self, guard: Guard, profiles: Profiles) -> None:
        self._guard = guard
        self._profiles = profiles
        self.through = guard.through

    def open(self, caller: CallerContext) -> AgentSession:
        """Return the session of a caller, made where there is none.

        Raises:
            Refused: ``not_allowed``: the caller has no profile, or one that does not exist.
        """
        return self._guard.store.transact(lambda tables: self._opened(tables, caller))

    def read(self, session_id: str) -> AgentSession:
        """Return a session.

        Raises:
            Refused: ``not_allowed``: there is none of this id.
        """
        required_text(session_id, "a session's id", MAX_NAME)
        found = self._guard.store.read(lambda tables: _stored(tables, session_id))
        if found is None:
            raise Refused(failure("not_allowed", f"no agent session {session_id:.100}"))
        return found

    def list(self, *, after: str = "", limit: int = 100) -> tuple[AgentSession, ...]:
        """Return sessions by id."""
        rows = self._guard.store.read(
            lambda tables: tables.list_documents(SESSIONS, after=after, limit=limit)
        )
        return tuple(_decoded(row.body) for row in rows)

    def waiting(self, session: AgentSession) -> tuple[HeldCall, ...]:
        """Return the calls of a session that wait for a person."""
        held = self._guard.store.read(
            lambda t: t.list_held(state=HeldState.HELD, after="", limit=MAX_HELD)
        )
        return tuple(each for each in held if session_id(each.caller) == session.id)

    @operation("agent-session/finish", given=_finished)
    def finish(
        self, caller: CallerContext, answer: object, *, facts: OutputFacts | None = None
    ) -> OutputResult:
        """End a session by its answer; see ``Session.finish``."""
        profile = self._profile_of(caller)
        if not profile.has_contract:
            text = f"the profile {profile.id} has no output contract; close the session instead"
            raise Refused(failure("not_allowed", text))
        self.open(caller)
        class_id = profile.output_class or own_class_id(profile)
        return accept(
            self._guard,
            caller,
            class_id,
            answer,
            facts=facts or OutputFacts(),
            within=lambda tables, output_id: self._finished(tables, caller, output_id),
        )

    def _finished(
        self, tables: Tables, caller: CallerContext, output_id: str
    ) -> StructuredFailure | None:
        """End a session by an output that is kept in the same transaction; say if it has ended."""
        session = _stored(tables, session_id(caller))
        assert session is not None, "it was opened before"
        if session.state is not AgentSessionState.OPEN:
            return _ended(session)
        self._close(tables, caller, session, AgentSessionState.FINISHED, output=output_id)
        return None

    @operation("agent-session/close", given=_closed)
    def close(self, caller: CallerContext, *, forced: bool = False) -> AgentSession:
        """End a session without an answer, where its profile has no contract or an operator asks.

        Raises:
            Refused: ``not_allowed``: the profile has an output contract.
        """
        if self._profile_of(caller).has_contract and not forced:
            text = "the profile has an output contract: the session ends by its answer alone"
            raise Refused(failure("not_allowed", text))
        self.open(caller)
        return self._end(caller, AgentSessionState.CLOSED)

    def own_class(self, class_id: str) -> OutputClass | None:
        """Return the class that stands for the output schema of a profile, if it names one."""
        if not class_id.startswith(OWN_CLASS):
            return None
        profile = self._guard.store.read(
            lambda tables: self._profiles.stored(tables, class_id[len(OWN_CLASS) :])
        )
        if profile is None or profile.output_schema is None:
            return None
        from holon_core.wire.schema_check import check_schema

        schema: Any = check_schema(profile.output_schema, role="input").schema
        return OutputClass(
            id=class_id,
            version=str(profile.revision),
            schema=schema,
            producer="agent",
            consumers=("host",),
        )

    def admits(
        self, caller: CallerContext, tool: RuntimeToolDescriptor
    ) -> StructuredFailure | None:
        """Step 2 of a call: say what the caller's profile refuses."""
        if caller.profile is None:
            return None
        wanted = caller.profile
        profile = self._guard.store.read(lambda tables: self._profiles.stored(tables, wanted))
        if profile is None:
            text = f"no agent profile {wanted}"
            return failure("not_allowed", text, profile=wanted)
        return refuses(profile, caller.plan_step, tool)

    def may_act(self, caller: CallerContext) -> StructuredFailure | None:
        """Say that a caller's profile is missing or archived, or that its session has ended."""
        return self._guard.store.read(lambda tables: self._acts(tables, caller))

    def _acts(self, tables: Tables, caller: CallerContext) -> StructuredFailure | None:
        profile = self._profiles.stored(tables, caller.profile or "")
        if profile is None or profile.state is not ProfileState.ACTIVE:
            text = f"no active agent profile {caller.profile}"
            return failure("not_allowed", text, profile=caller.profile)
        session = _stored(tables, session_id(caller))
        ended = session is not None and session.state is not AgentSessionState.OPEN
        return _ended(session) if session is not None and ended else None

    def may_start(self, tables: Tables, attempt: Attempt) -> StructuredFailure | None:
        """Say which limit of its run is reached, inside the transaction that would accept it."""
        caller = attempt.caller
        profile = self._profiles.stored(tables, caller.profile or "")
        if profile is None:
            return failure("not_allowed", f"no agent profile {caller.profile}")
        session = _stored(tables, session_id(caller))
        if session is None:
            return _over(profile, "max_calls", 0)
        if session.state is not AgentSessionState.OPEN:
            return _ended(session)
        lasted = int(self._guard.clock.now()) - session.opened_at_unix_seconds
        return (
            _over(profile, "max_calls", session.calls)
            or _over(profile, "max_duration_s", lasted)
            or _over(profile, "max_output_bytes", session.output_bytes + session.reserved_bytes)
        )

    def started(self, tables: Tables, attempt: Attempt) -> None:
        """Inside the transaction that accepts a call: count it, and reserve what it may give."""
        session = self._opened(tables, attempt.caller)
        profile = self._profiles.stored(tables, session.profile)
        most = None if profile is None else profile.guardrails.max_output_bytes
        reserved = 0
        attempt.reserved_bytes = None
        if most is not None:
            left = most - session.output_bytes - session.reserved_bytes
            if left < attempt.limits.max_output_bytes:
                attempt.limits = evolve(attempt.limits, max_output_bytes=max(left, 1))
                attempt.budgeted = True
            reserved = attempt.reserved_bytes = attempt.limits.max_output_bytes
        made = evolve(
            session, calls=session.calls + 1, reserved_bytes=session.reserved_bytes + reserved
        )
        _put(tables, made, self._now())

    def ended(self, tables: Tables, attempt: Attempt, output_bytes: int) -> None:
        """Inside the transaction that closes a call: count what it gave."""
        session = _stored(tables, session_id(attempt.caller))
        reserved = attempt.reserved_bytes or 0
        if session is not None and (output_bytes or reserved):
            made = evolve(
                session,
                output_bytes=session.output_bytes + output_bytes,
                reserved_bytes=max(0, session.reserved_bytes - reserved),
            )
            _put(tables, made, self._now())

    def _now(self) -> int:
        return int(self._guard.clock.now())

    def _profile_of(self, caller: CallerContext) -> AgentProfile:
        if caller.profile is None:
            raise Refused(failure("not_allowed", "the session has no profile; open it with one"))
        return self._profiles.read(caller.profile)

    def _opened(self, tables: Tables, caller: CallerContext) -> AgentSession:
        known = _stored(tables, session_id(caller))
        if known is not None:
            if known.plan_step != caller.plan_step and known.state is AgentSessionState.OPEN:
                known = evolve(known, plan_step=caller.plan_step)
                _put(tables, known, self._now())
            return known
        if caller.profile is None:
            raise Refused(failure("not_allowed", "the session has no profile; open it with one"))
        problem = self._acts(tables, caller)
        if problem is not None:
            raise Refused(problem)
        made = AgentSession(
            id=session_id(caller),
            principal=caller.principal,
            workspace=caller.workspace,
            profile=caller.profile,
            run=caller.run or "",
            plan_step=caller.plan_step,
            opened_at_unix_seconds=self._now(),
        )
        _put(tables, made, self._now())
        self._record(tables, caller, made)
        return made

    def _end(self, caller: CallerContext, state: AgentSessionState) -> AgentSession:
        def work(tables: Tables) -> AgentSession:
            session = _stored(tables, session_id(caller))
            assert session is not None, "it was opened before"
            if session.state is not AgentSessionState.OPEN:
                raise Refused(_ended(session))
            return self._close(tables, caller, session, state)

        return self._guard.store.transact(work)

    def _close(
        self,
        tables: Tables,
        caller: CallerContext,
        session: AgentSession,
        state: AgentSessionState,
        *,
        output: str | None = None,
    ) -> AgentSession:
        outputs = (*session.outputs, *([] if output is None else [output]))
        made = evolve(session, state=state, ended_at_unix_seconds=self._now(), outputs=outputs)
        _put(tables, made, self._now())
        self._record(tables, caller, made)
        return made

    def _record(self, tables: Tables, caller: CallerContext, session: AgentSession) -> None:
        facts = {"outcome": session.state.value, "outputs": list(session.outputs)}
        record(
            self._guard,
            tables,
            "agent_session",
            session.id,
            facts,
            caller=caller,
            chain=chain_of(self._guard, caller),
        )


def session_id(caller: CallerContext) -> str:
    """Return the id of a caller's session: of whom, where, as what, and in which run."""
    of = [caller.principal, caller.workspace, caller.profile, caller.run]
    return f"s{digest(of, domain='holon-agent-session/1')[:40]}"


def own_class_id(profile: AgentProfile) -> str:
    """Return the id of the class that stands for a profile's output schema."""
    return f"{OWN_CLASS}{profile.id}"


def _over(profile: AgentProfile, name: str, used: int) -> StructuredFailure | None:
    most = getattr(profile.guardrails, name)
    if most is None or used < most:
        return None
    text = f"{name} of the profile {profile.id} is {most}, and it is used up"
    return failure("budget_exceeded", text, limit=name, allowed=most, used=used)


def _ended(session: AgentSession) -> StructuredFailure:
    return failure("not_allowed", f"the agent's session is {session.state}", session=session.id)


def _stored(tables: Tables, doc_id: str) -> AgentSession | None:
    row = tables.document(SESSIONS, doc_id)
    return None if row is None else _decoded(row.body)


def _decoded(body: bytes) -> AgentSession:
    from holon_core.wire.converter import structure
    from holon_core.wire.strict_json import parse

    data: Any = parse(body)
    return structure(data, AgentSession)


def _put(tables: Tables, session: AgentSession, at: int) -> None:
    from holon_core.wire.canonical import canonical
    from holon_core.wire.converter import unstructure

    tables.put_document(SESSIONS, session.id, canonical(unstructure(session)), at=at)
