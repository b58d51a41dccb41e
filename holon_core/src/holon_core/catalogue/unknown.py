"""The failure for an id that nothing has, with the ids that may have been meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.errors import StoreError
from holon_core.nearest import nearest
from holon_core.records.failure import failure
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from holon_core.catalogue.catalogue import Catalogue
    from holon_core.records.failure import StructuredFailure

MAX_SHOWN = 100
# Of a large catalogue only these are compared: the host's own, the first, those of the source.
MAX_OWN = 500
MAX_STORED = 50
MAX_PAGES = 20
MOST = 3


def unknown_tool(
    catalogue: Catalogue, tool_id: str, workspace: str | None, *, sees_all: bool = False
) -> StructuredFailure:
    """Name the id that was asked for, and up to three that are near it.

    Args:
        catalogue: Where it is not.
        tool_id: What was asked for; of it at most 100 characters are shown, escaped.
        workspace: Whose tools may be named beside those for all.
        sees_all: Those of every workspace may.
    """
    seen = None if sees_all else frozenset({None, workspace})
    shown = escape_unseen(tool_id[:MAX_SHOWN]) + ("…" if len(tool_id) > MAX_SHOWN else "")
    return failure("unknown_tool", f"no tool {shown}{_suggested(catalogue, tool_id, seen)}")


def _suggested(catalogue: Catalogue, tool_id: str, seen: frozenset[str | None] | None) -> str:
    ids = sorted(catalogue.own())[:MAX_OWN]
    source, _, name = tool_id[:MAX_SHOWN].rpartition("/")
    try:
        for after in ("", f"{source}/") if source else ("",):
            ids += _page(catalogue, after, seen)
    except StoreError:
        # A damaged entry is told where it is asked for.
        pass
    ids = list(dict.fromkeys(ids))
    same_name = [each for each in ids if each.rpartition("/")[2] == name][:MOST]
    if same_name:
        return f"; did you mean {' or '.join(same_name)}?"
    return nearest(tool_id[:MAX_SHOWN], ids, most=MOST)


def _page(catalogue: Catalogue, after: str, seen: frozenset[str | None] | None) -> list[str]:
    """Return the ids after one, without those of workspaces that are not seen."""
    ids: list[str] = []
    for _ in range(MAX_PAGES):
        found = catalogue.page(after=after, limit=MAX_STORED)
        ids += [each.tool.id for each in found if seen is None or each.tool.workspace in seen]
        if len(ids) >= MAX_STORED or len(found) < MAX_STORED:
            break
        after = found[-1].tool.id
    return ids[:MAX_STORED]
