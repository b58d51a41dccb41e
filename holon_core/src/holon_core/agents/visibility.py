"""Which tools a caller may show its model: the verdicts of a call, taken without arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.guard import call as guarded
from holon_core.guard.attempt import Attempt, Refusal
from holon_core.guard.elsewhere import is_elsewhere
from holon_core.records.words import Decision, Effect

if TYPE_CHECKING:
    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext


class Viewer:
    """Tells for one caller, at one moment, which tools are shown.

    A tool is left out where nothing but a change outside the request would let it run; one that
    asks for an approval is shown. Nothing is recorded, held or used up.
    """

    def __init__(self, guard: Guard, caller: CallerContext) -> None:
        self._guard = guard
        self._caller = caller
        run = caller.run
        self._used: frozenset[Effect] = frozenset()
        if run is not None:
            self._used = frozenset(map(Effect, guard.store.read(lambda t: t.run_effects(run))))
        workspace = caller.workspace
        found = None
        if workspace is not None:
            found = guard.workspaces.usable(workspace, caller.principal)
        # Of a caller whose workspace is not its own, or whose session is over, nothing may run.
        self.lost = (workspace is not None and found is None) or self._ended()
        self._in_place = found is not None and guard.workspaces.intact(found)

    def _ended(self) -> bool:
        """Tell whether the caller's session has ended, or a budget of it is used up."""
        profiles = None if self._caller.profile is None else self._guard.profiles
        if profiles is None:
            return False
        attempt = Attempt("", {}, self._caller, mode="explain")
        return (
            self._guard.store.read(lambda tables: profiles.may_start(tables, attempt)) is not None
        )

    def shows(self, entry: Entry) -> bool:
        """Tell whether a tool is shown."""
        tool, guard = entry.tool, self._guard
        if tool.workspace is not None and is_elsewhere(guard, tool.workspace, self._caller):
            return False
        if self.lost or not tool.projectable or entry.executor is None:
            return False
        if Effect.UNKNOWN in tool.effects or (entry.needs_workspace and not self._in_place):
            return False
        if guard.catalogue.pin_of(tool.id) not in (None, tool.digest):
            return False
        if guard.admits(self._caller, tool) is not None:
            return False
        if tool.lane in guard.gates or not entry.gateless:
            return self._passes(entry)
        verdict = guard.policy.recall(tool, self._caller, tool.posture, self._used)
        if verdict is None:
            return self._passes(entry)
        return verdict.decision is not Decision.DENY

    def _passes(self, entry: Entry) -> bool:
        guard = self._guard
        attempt = Attempt(entry.tool.id, {}, self._caller, mode="explain")
        attempt.entry, attempt.limits = entry, entry.tool.limits
        attempt.posture = entry.tool.posture
        attempt.arguments, attempt.canonical = {}, b"{}"
        try:
            guarded.scope(guard, attempt)
            if any(True for _ in guarded.gates(guard, attempt)):
                return False
            guarded.decide(guard, attempt)
        except Refusal:
            return False
        return attempt.verdict.decision is not Decision.DENY
