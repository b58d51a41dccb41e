"""Ids as people type them: a tool of the caller's own workspace without the workspace's id."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holon_cli.host import Host


def whole_id(tool_id: str, host: Host) -> str:
    """Return the id that is meant.

    What a workspace registered is ``<lane>.<workspace>.<name>/<tool>``; in that workspace
    ``<lane>.<name>/<tool>`` means it, where no tool has that id itself.

    Args:
        tool_id: As it was typed.
        host: Whose caller's workspace counts, and no other.
    """
    from holon_core.errors import HolonError

    workspace = host.caller.workspace
    lane, dot, rest = tool_id.partition(".")
    if workspace is None or not dot or "/" not in rest:
        return tool_id
    for each in (tool_id, f"{lane}.{workspace}.{rest}"):
        try:
            return host.runtime.tools.read(each).id
        except HolonError:
            # The guarded call says, and records, that no such tool is there.
            continue
    return tool_id
