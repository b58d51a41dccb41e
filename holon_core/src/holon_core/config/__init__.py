"""Configuration: ``holon.toml``, the environment, a workspace's ``[tool.holon]``, precedence."""

from holon_core.config.settings import SETTINGS, Config, Journal, Setting, load
from holon_core.config.workspace import (
    LimitCaps,
    WorkspaceConfig,
    WorkspaceConfigs,
    load_workspace,
)

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
