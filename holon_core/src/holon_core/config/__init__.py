"""Configuration: ``holon.toml``, the environment, a workspace's ``[tool.holon]``, precedence."""

from holon_core.config.workspace import LimitCaps, WorkspaceConfig

__all__ = ["LimitCaps", "WorkspaceConfig"]
