"""Configuration: ``holon.toml``, the environment, a workspace's ``[tool.holon]``, precedence."""

from typing import TYPE_CHECKING, Any

from holon_core.config.records import Config, Journal, LimitCaps, WorkspaceConfig

if TYPE_CHECKING:
    from holon_core.config.settings import SETTINGS, Setting, load
    from holon_core.config.workspace import WorkspaceConfigs, load_workspace

__all__ = [
    "SETTINGS",
    "Config",
    "Journal",
    "LimitCaps",
    "Setting",
    "WorkspaceConfig",
    "WorkspaceConfigs",
    "load",
    "load_workspace",
]


def __getattr__(name: str) -> Any:
    """Load what reads files where it is first needed: most roots and workspaces say nothing."""
    if name in ("SETTINGS", "Setting", "load"):
        from holon_core.config import settings

        return getattr(settings, name)
    if name in ("WorkspaceConfigs", "load_workspace"):
        from holon_core.config import workspace

        return getattr(workspace, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
