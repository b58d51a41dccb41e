"""Where a caller stands: whether its workspace is its own, and whether it may still do anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.errors import Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure


def misplaced(guard: Guard, caller: CallerContext) -> StructuredFailure | None:
    """Say that a caller's workspace does not exist or excludes it; ``None`` where neither is so."""
    if caller.workspace is None:
        return None
    found = guard.workspaces.usable(caller.workspace, caller.principal)
    return failure("wrong_workspace") if found is None else None


def unfit(guard: Guard, caller: CallerContext) -> StructuredFailure | None:
    """Say why a caller may do nothing: its workspace, its profile, or its session has ended."""
    problem = misplaced(guard, caller)
    if problem is not None or caller.profile is None:
        return problem
    profiles = guard.profiles
    return None if profiles is None else profiles.may_act(caller)


def require_fit(guard: Guard, caller: CallerContext) -> None:
    """Refuse a caller who may do nothing.

    Raises:
        Refused: ``wrong_workspace`` or ``not_allowed``.
    """
    problem = unfit(guard, caller)
    if problem is not None:
        raise Refused(problem)
