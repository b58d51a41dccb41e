"""Whether a caller could call a tool now: the steps of the call, for their verdicts alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from holon_core.guard import call as guarded
from holon_core.guard.attempt import Attempt, Refusal
from holon_core.guard.results import blocking_of
from holon_core.guard.spending import may_cover
from holon_core.records.failure import failure
from holon_core.records.words import Decision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import BlockingReason, StructuredFailure

# What the policies of plugins may take of one request, in seconds: calls wait for the same turn.
POLICY_S = 1.0


class Judge:
    """Judges tools for one caller and one request; nothing is recorded, held or used up.

    Policy is asked without arguments. A policy, rule or lane that looks at them may say
    something else of the call itself, which is the only one to decide.
    """

    def __init__(self, guard: Guard, caller: CallerContext) -> None:
        self._guard = guard
        self._caller = caller
        self._left_s = POLICY_S
        self._behind = guard.pump.behind()
        self._ended = self._why_ended()

    def reasons(self, entry: Entry, pin: str | None) -> tuple[BlockingReason, ...]:
        """Return everything outside the request that has to change first; nothing if it may run.

        Args:
            entry: The tool.
            pin: The digest that an operator pinned it to.
        """
        return tuple(blocking_of(problem) for problem in self._problems(entry, pin))

    def _problems(self, entry: Entry, pin: str | None) -> Iterator[StructuredFailure]:
        tool = entry.tool
        if pin is not None and pin != tool.digest:
            yield failure("definition_changed", pinned=pin, found=tool.digest)
        attempt = self._attempt(entry)
        try:
            guarded.scope(self._guard, attempt)
        except Refusal as refusal:
            # What follows speaks of the workspace, so nothing can be said of it.
            yield refusal.failure
            return
        yield from self._gates(attempt)
        yield from self._policy(attempt)
        if self._ended is not None:
            yield self._ended
        if self._behind is not None:
            yield self._behind

    def _why_ended(self) -> StructuredFailure | None:
        """Say that the caller's session has ended, or that a budget of it is used up."""
        profiles = None if self._caller.profile is None else self._guard.profiles
        if profiles is None:
            return None
        attempt = Attempt("", {}, self._caller, mode="explain")
        return self._guard.store.read(lambda tables: profiles.may_start(tables, attempt))

    def _attempt(self, entry: Entry) -> Attempt:
        attempt = Attempt(entry.tool.id, {}, self._caller, mode="explain")
        attempt.entry, attempt.limits = entry, entry.tool.limits
        attempt.posture = entry.tool.posture
        attempt.arguments, attempt.canonical = {}, b"{}"
        return attempt

    def _gates(self, attempt: Attempt) -> Iterator[StructuredFailure]:
        try:
            yield from guarded.gates(self._guard, attempt)
        except Exception as error:
            # One faulty lane does not keep the other tools from being found.
            text = f"a gate of the lane {attempt.entry.tool.lane} raised {type(error).__name__}"
            yield failure("lane_protocol", text)

    def _policy(self, attempt: Attempt) -> Iterator[StructuredFailure]:
        if self._left_s <= 0:
            yield failure("policy_denied", "the policies took too long; ask for fewer tools")
            return
        began = time.monotonic()
        try:
            guarded.decide(self._guard, attempt)
        except Refusal as refusal:
            yield refusal.failure
            return
        finally:
            if self._guard.policy.needs_thread:
                self._left_s -= time.monotonic() - began
        if attempt.verdict.decision is Decision.ASK and not self._granted(attempt):
            reason = attempt.verdict.reason
            yield failure("approval_required", f"a person has to approve each call: {reason}")

    def _granted(self, attempt: Attempt) -> bool:
        now = int(self._guard.clock.now())
        return self._guard.store.read(lambda tables: may_cover(tables, attempt, now))
