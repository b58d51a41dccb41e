"""Tools of other workspaces: for a caller they are not there, and nothing is told of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holon_core.catalogue.catalogue import Catalogue, Entry
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext

# The sources of workspaces: ``frozen.<workspace>`` and ``<source>.<workspace>.<name>``.
_NAMED = re.compile(r"frozen\.([^/]*)/|[^./]+\.([a-z0-9-]+-[0-9a-f]{10})\.[^/]*/")


def is_elsewhere(guard: Guard, workspace: str | None, caller: CallerContext) -> bool:
    """Tell whether what is of a workspace, or of none, is not for a caller.

    Args:
        guard: The parts.
        workspace: That of a tool; ``None`` where it is for all.
        caller: Who asks.
    """
    if workspace is None:
        return False
    if caller.workspace != workspace:
        return True
    return guard.workspaces.usable(workspace, caller.principal) is None


def is_tool_elsewhere(guard: Guard, tool_id: str, caller: CallerContext) -> bool:
    """Tell the same of a tool by its id.

    Of one that is not there its id alone decides, so that nobody learns which are.
    """
    entry = guard.catalogue.get(tool_id)
    found = named_workspace(tool_id) if entry is None else entry.tool.workspace
    return is_elsewhere(guard, found, caller)


def named_workspace(tool_id: str) -> str | None:
    """Return the workspace that an id names, whether there is such a tool or not."""
    found = _NAMED.match(tool_id)
    return None if found is None else found[1] or found[2]


def seen_workspace(guard: Guard, caller: CallerContext) -> str | None:
    """Return the workspace whose tools a caller may know beside those for all."""
    workspace = caller.workspace
    return None if is_elsewhere(guard, workspace, caller) else workspace


def seen_page(
    catalogue: Catalogue, workspace: str | None, *, after: str, limit: int
) -> list[Entry]:
    """Return a page of the entries that are for all or of a workspace, by id.

    It is full where there are enough, so that not even its length tells of others.
    """
    seen: list[Entry] = []
    found = catalogue.page(after=after, limit=limit)
    while found:
        seen += [each for each in found if each.tool.workspace in (None, workspace)]
        if len(seen) >= limit or len(found) < limit:
            break
        found = catalogue.page(after=found[-1].tool.id, limit=limit)
    return seen[:limit]
