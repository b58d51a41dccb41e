"""Why a tool of the catalogue can't run here: which lane or distribution is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holon_core.records.failure import failure
from holon_core.records.lane import executor_of
from holon_core.records.words import LaneKind, Origin

if TYPE_CHECKING:
    from holon_core.plugins.lanes import Joined
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.tool import RuntimeToolDescriptor

# Which distribution brings a reserved kind; the others are named by what defines their tools.
PROVIDERS = {
    LaneKind.ELEGY.value: "holon-elegy",
    LaneKind.PLUGIN_PACKAGE.value: "holon-plugin-packages",
    LaneKind.MCP.value: "holon-mcp",
    LaneKind.SCRIPT_ARTIFACT.value: "holon-script-tools",
    LaneKind.RUST_CODE_TOOL.value: "holon-rust-tools",
    LaneKind.ADAPTER.value: "holon-adapters",
}


def blocker(
    joined: Joined,
    active: frozenset[str],
    bound: Callable[[str], object | None] = lambda _: None,
    left_out: Callable[[str], str] = lambda _: "",
) -> Callable[[RuntimeToolDescriptor], StructuredFailure | None]:
    """Return what says of a stored tool why it can't run here; ``None`` where it can.

    Args:
        joined: The lanes of this runtime.
        active: Distributions that have an active plugin.
        bound: Says which executor the host or an adapter bound to a tool.
        left_out: Says why plugins of a distribution were not looked at; empty where they were.
    """

    def why(tool: RuntimeToolDescriptor) -> StructuredFailure | None:
        if tool.lane in joined.refused:
            return failure("host_unsupported", joined.refused[tool.lane], lane=tool.lane)
        provider = PROVIDERS.get(tool.lane, tool.provenance.distribution)
        if tool.lane not in joined.lanes:
            what = _lift(provider, left_out(provider))
            text = f"the lane {tool.lane} is not active here; {what}, or see the list of plugins"
            return failure(
                "dependency_missing", text, lane=tool.lane, distribution=provider or None
            )
        source = tool.id.partition("/")[0]
        if executor_of(joined.executors, source) is not None or bound(tool.id) is not None:
            return None
        brought_by = tool.provenance.distribution
        if tool.origin is Origin.IMPORTED_STATE:
            text = f"no host or adapter bound an executor to {tool.id}"
            return failure("executor_unbound", text, tool=tool.id)
        if not brought_by or brought_by in active:
            return failure("unsupported_capability", _unrun(tool))
        what = _lift(brought_by, left_out(brought_by))
        text = f"{brought_by} is not active here; {what}, or see the list of plugins"
        return failure("dependency_missing", text, distribution=brought_by)

    return why


def _lift(distribution: str, left_out: str) -> str:
    if not distribution:
        return "install the distribution that brings it"
    if left_out:
        return f"{left_out}: let it in, or install {distribution} where it is not"
    return f"install {distribution}"


def _unrun(tool: RuntimeToolDescriptor) -> str:
    brought_by = tool.provenance.distribution or tool.provenance.plugin
    whose = f"{brought_by} offers nothing for" if brought_by else "nothing is offered for"
    source = tool.id.partition("/")[0]
    return f"nothing on this host executes it: {whose} the source {source}, or it was refused"
