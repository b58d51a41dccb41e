"""Sessions of agents in the store: counters, guardrails, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.agents.profiles import Profiles, refuses
from holon_core.agents.recording import record
from holon_core.agents.session_store import (
    OWN_CLASS,
    SESSIONS,
    after_end,
    decoded,
    left_s,
    over,
    own_class_id,
    put,
    session_id,
    stored,
    used_up,
)
from holon_core.errors import Refused
from holon_core.governed import Facet, operation
from holon_core.guard.outputs import accept, chain_of
from holon_core.names import MAX_NAME, required_text
from holon_core.records.agent import AgentProfile, AgentSession, AgentSessionState, ProfileState
from holon_core.records.failure import failure
from holon_core.records.output import OutputClass, OutputFacts
from holon_core.records.tool import MAX_TIMEOUT_S
from holon_core.records.words import HeldState, Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.guard.attempt import Attempt
    from holon_core.guard.guard import Guard
    from holon_core.records.approval import HeldCall
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.output import OutputResult
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.store.protocol import Tables

# Held calls are read so many at a time.
PAGE = 1000
# Accepted outputs that one session keeps the ids of.
MAX_OUTPUTS = 1000


def _finished(answer: object, **_: object) -> dict[str, Any]:
    from holon_core.agents.output_side import said

    return {"answer": said(answer)}


def _closed(**_: object) -> dict[str, Any]:
    return {}


class Sessions(Facet):
    """Sessions of agents (`rt.agents.sessions`); also what the guard asks about profiles.

    A session belongs to a principal, a workspace, a profile and a run; callers without a run share
    one. ``back`` gives what maps an answer in a dialect's response format back to its class.
    """

    def __init__(
        self,
        guard: Guard,
        profiles: Profiles,
        back: Callable[[str, str], Callable[[Any], Any]],
    ) -> None:
        self._guard = guard
        self._profiles = profiles
        self._back = back
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
        found = self._guard.store.read(lambda tables: stored(tables, session_id))
        if found is None:
            raise Refused(failure("not_allowed", f"no agent session {session_id:.100}"))
        return found

    def list(self, *, after: str = "", limit: int = 100) -> tuple[AgentSession, ...]:
        """Return sessions by id."""
        rows = self._guard.store.read(
            lambda tables: tables.list_documents(SESSIONS, after=after, limit=limit)
        )
        return tuple(decoded(row.body) for row in rows)

    def waiting(self, session: AgentSession) -> tuple[HeldCall, ...]:
        """Return the calls of a session that wait for a person."""
        found: list[HeldCall] = []
        after, more = "", True
        while more:
            page = self._guard.store.read(
                lambda t, after=after: t.list_held(  # type: ignore[misc]
                    state=HeldState.HELD, after=after, limit=PAGE
                )
            )
            found += [each for each in page if session_id(each.caller) == session.id]
            more = len(page) == PAGE
            after = page[-1].call_id if page else ""
        return tuple(found)

    @operation("agent-session/finish", given=_finished)
    def finish(
        self,
        caller: CallerContext,
        answer: object,
        *,
        facts: OutputFacts | None = None,
        dialect: str | None = None,
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
            back=None if dialect is None else self._back(class_id, dialect),
            within=lambda tables, output_id: self._finished(tables, caller, output_id),
        )

    def _finished(
        self, tables: Tables, caller: CallerContext, output_id: str
    ) -> StructuredFailure | None:
        """End a session by an output that is kept in the same transaction; say if it has ended."""
        session = stored(tables, session_id(caller))
        assert session is not None, "it was opened before"
        if session.state is not AgentSessionState.OPEN:
            return after_end(session)
        self._close(tables, caller, session, AgentSessionState.FINISHED, output=output_id)
        return None

    def keep_output(
        self, tables: Tables, caller: CallerContext, output_id: str
    ) -> StructuredFailure | None:
        """Inside the transaction that keeps an accepted output: note it, or say why not."""
        session = self._opened(tables, caller)
        if session.state is not AgentSessionState.OPEN:
            return after_end(session)
        if len(session.outputs) >= MAX_OUTPUTS:
            text = f"a session keeps at most {MAX_OUTPUTS} accepted outputs"
            return failure("budget_exceeded", text, limit="outputs", allowed=MAX_OUTPUTS)
        put(tables, evolve(session, outputs=(*session.outputs, output_id)), self._now())
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
        imported = profile.restricts_skills and tool.origin is Origin.IMPORTED_STATE
        skill = self._guard.skill_of(tool.id) if imported else None
        return refuses(profile, caller.plan_step, tool, skill=skill)

    def may_act(self, caller: CallerContext) -> StructuredFailure | None:
        """Say that a caller's profile is missing or archived, or that its session has ended."""
        return self._guard.store.read(lambda tables: self._acts(tables, caller))

    def _acts(self, tables: Tables, caller: CallerContext) -> StructuredFailure | None:
        profile = self._profiles.stored(tables, caller.profile or "")
        if profile is None or profile.state is not ProfileState.ACTIVE:
            text = f"no active agent profile {caller.profile}"
            return failure("not_allowed", text, profile=caller.profile)
        session = stored(tables, session_id(caller))
        if session is None or session.state is AgentSessionState.OPEN:
            return None
        return after_end(session)

    def may_start(self, tables: Tables, attempt: Attempt) -> StructuredFailure | None:
        """Say which limit of its run is reached, inside the transaction that would accept it."""
        caller = attempt.caller
        profile = self._profiles.stored(tables, caller.profile or "")
        if profile is None:
            return failure("not_allowed", f"no agent profile {caller.profile}")
        session = stored(tables, session_id(caller))
        if session is None:
            return over(profile, "max_calls", 0)
        if session.state is not AgentSessionState.OPEN:
            return after_end(session)
        return used_up(profile, session, self._guard.clock.now())

    def started(self, tables: Tables, attempt: Attempt) -> None:
        """Inside the transaction that accepts a call: count it, and bound it by what is left."""
        # A held call keeps the step at which it was asked; its session has gone on meanwhile.
        session = self._opened(tables, attempt.caller, moves=attempt.mode != "release")
        profile = self._profiles.stored(tables, session.profile)
        reserved = 0
        if profile is not None:
            self._bound_time(profile, session, attempt)
            reserved = self._reserve(profile, session, attempt)
        made = evolve(
            session, calls=session.calls + 1, reserved_bytes=session.reserved_bytes + reserved
        )
        put(tables, made, self._now())

    def _bound_time(self, profile: AgentProfile, session: AgentSession, attempt: Attempt) -> None:
        """Let a call run no longer than its session may."""
        left, own = left_s(profile, session, self._guard.clock.now()), attempt.limits.timeout_s
        attempt.left_s = None if left is None or (own is not None and own < left) else left
        if attempt.left_s is not None and attempt.left_s <= MAX_TIMEOUT_S:
            attempt.limits = evolve(attempt.limits, timeout_s=attempt.left_s)

    def _reserve(self, profile: AgentProfile, session: AgentSession, attempt: Attempt) -> int:
        """Let a call give no more than its session may, and keep that for it; return how much."""
        most = profile.guardrails.max_output_bytes
        attempt.reserved_bytes = None
        if most is None:
            return 0
        left = most - session.output_bytes - session.reserved_bytes
        if left < attempt.limits.max_output_bytes:
            attempt.limits = evolve(attempt.limits, max_output_bytes=max(left, 1))
            attempt.budgeted = True
        attempt.reserved_bytes = attempt.limits.max_output_bytes
        return attempt.reserved_bytes

    def ended(self, tables: Tables, attempt: Attempt, output_bytes: int, *, ran: bool) -> None:
        """Inside the transaction that closes a call: count what it gave, or that nothing ran."""
        session = stored(tables, session_id(attempt.caller))
        reserved = attempt.reserved_bytes or 0
        if session is None or (ran and not output_bytes and not reserved):
            return
        made = evolve(
            session,
            calls=session.calls - (not ran),
            blocked_calls=session.blocked_calls + (not ran),
            output_bytes=session.output_bytes + output_bytes,
            reserved_bytes=max(0, session.reserved_bytes - reserved),
        )
        put(tables, made, self._now())

    def _now(self) -> int:
        return int(self._guard.clock.now())

    def _profile_of(self, caller: CallerContext) -> AgentProfile:
        if caller.profile is None:
            raise Refused(failure("not_allowed", "the session has no profile; open it with one"))
        return self._profiles.read(caller.profile)

    def _opened(self, tables: Tables, caller: CallerContext, *, moves: bool = True) -> AgentSession:
        known = stored(tables, session_id(caller))
        if known is not None:
            moved = moves and known.plan_step != caller.plan_step
            if moved and known.state is AgentSessionState.OPEN:
                known = evolve(known, plan_step=caller.plan_step)
                put(tables, known, self._now())
            return known
        if caller.profile is None:
            raise Refused(failure("not_allowed", "the session has no profile; open it with one"))
        problem = self._acts(tables, caller)
        if problem is not None:
            raise Refused(problem)
        now = self._guard.clock.now()
        made = AgentSession(
            id=session_id(caller),
            principal=caller.principal,
            workspace=caller.workspace,
            profile=caller.profile,
            run=caller.run or "",
            plan_step=caller.plan_step,
            opened_at_unix_seconds=int(now),
            opened_at_fraction=now - int(now),
        )
        put(tables, made, self._now())
        self._record(tables, caller, made)
        return made

    def _end(self, caller: CallerContext, state: AgentSessionState) -> AgentSession:
        def work(tables: Tables) -> AgentSession:
            session = stored(tables, session_id(caller))
            assert session is not None, "it was opened before"
            if session.state is not AgentSessionState.OPEN:
                raise Refused(after_end(session))
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
        put(tables, made, self._now())
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
