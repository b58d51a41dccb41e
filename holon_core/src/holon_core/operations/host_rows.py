"""Operations on what the host set up: workspaces and plugins."""

from __future__ import annotations

from typing import Any

from holon_core.operations.answers import answer, listed, page, paged, schema_of, to_json
from holon_core.operations.door import Door, Params, not_allowed
from holon_core.operations.schemas import AFTER_ID, LIMIT, REASON, params, text
from holon_core.operations.tool_rows import READS, WRITES
from holon_core.records.operation import Operation
from holon_core.records.plugin_state import PluginState
from holon_core.records.words import Authority
from holon_core.records.workspace import Workspace

_WORKSPACE = schema_of(Workspace)


def open_workspace(door: Door, given: Params) -> Any:
    """Open a folder as a workspace."""
    return to_json(
        door.runtime.workspaces.open(
            given["path"],
            name=given.get("name", ""),
            principals=given.get("principals", ()),
        )
    )


def list_workspaces(door: Door, given: Params) -> Any:
    """Answer a page of workspaces; a caller's own where it sees no others."""
    limit = given.get("limit", 50)
    found = door.runtime.workspaces.list(after=given.get("after", ""), limit=limit)
    return paged("workspaces", found, limit, visible=lambda each: _visible(door, each))


def read_workspace(door: Door, given: Params) -> Any:
    """Answer one workspace."""
    if door.sees_all or given["workspace_id"] == door.caller.workspace:
        return to_json(door.runtime.workspaces.read(given["workspace_id"]))
    raise not_allowed("a caller sees its own workspace")


def _visible(door: Door, workspace: Workspace) -> bool:
    return door.sees_all or workspace.id == door.caller.workspace


def list_plugins(door: Door, _: Params) -> Any:
    """Answer every plugin, and the guards that are missing."""
    plugins = door.runtime.plugins
    return {
        "plugins": to_json(plugins.list()),
        "missing_guards": list(missing := plugins.missing_guards()),
        "remedies": {guard: plugins.remedy(guard) for guard in missing},
        "unmatched": list(plugins.unmatched()),
        "loading": plugins.loading,
    }


def retire_guard(door: Door, given: Params) -> Any:
    """Let calls go on without a guard."""
    by = door.caller.principal
    door.runtime.plugins.retire(given["guard"], by=by, reason=given["reason"])
    return {"retired": given["guard"]}


ROWS = (
    Operation(
        noun="workspace",
        verb="open",
        request=params(
            ("path",),
            path=text("An existing folder; links in it are resolved once.", limit=4096),
            name=text("A name for people; the folder's where left out."),
            principals={
                "type": "array",
                "items": text("A principal."),
                "maxItems": 1000,
                "description": "Who may use it; everybody where left out.",
            },
        ),
        response=_WORKSPACE,
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=open_workspace,
        positional=("path",),
        doc="Open a folder as a workspace, or answer the one that it already is.",
    ),
    Operation(
        noun="workspace",
        verb="list",
        request=params(after=AFTER_ID, limit=LIMIT),
        response=page("workspaces", _WORKSPACE),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_workspaces,
        listing="workspaces",
        columns=("id", "name", "root_path", "opened_at_unix_seconds"),
        doc="List workspaces by id. A caller sees the one of its session.",
    ),
    Operation(
        noun="workspace",
        verb="read",
        request=params(("workspace_id",), workspace_id=text("Id of the workspace.")),
        response=_WORKSPACE,
        authority=Authority.CALLER,
        effects=READS,
        handler=read_workspace,
        positional=("workspace_id",),
        doc="Read one workspace. A caller reads the one of its session.",
    ),
    Operation(
        noun="plugin",
        verb="list",
        request=params(),
        response=answer(
            plugins=listed(schema_of(PluginState)),
            missing_guards=listed({"type": "string"}),
            remedies={"type": "object", "additionalProperties": {"type": "string"}},
            unmatched=listed({"type": "string"}),
            loading={"type": "string"},
        ),
        authority=Authority.OPERATOR,
        effects=READS,
        handler=list_plugins,
        listing="plugins",
        columns=("name", "distribution", "version", "active", "problems"),
        doc=(
            "List plugins, active and quarantined with the reason, and the guards that belong to "
            "this storage root, or are required, and are missing: each of them denies every call; "
            "`remedies` says what lifts it. `loading` says which installed plugins were looked "
            "at, `unmatched` what the setting `plugins` names and is not installed."
        ),
    ),
    Operation(
        noun="plugin",
        verb="retire",
        request=params(
            ("guard", "reason"), guard=text("Name of the missing guard."), reason=REASON
        ),
        response=answer(retired={"type": "string"}),
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=retire_guard,
        positional=("guard",),
        doc="Let calls go on without a guard that belonged to this storage root.",
    ),
)
