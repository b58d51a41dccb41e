"""A plugin object under a name: as it would be known if its distribution were installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

PREFIX = "holon_"


def named(plugin: object, name: str) -> Any:
    """Give a plugin object the name by which ids have to begin.

    A runtime knows an installed plugin by its distribution. One that is handed over as an object
    is known by its own ``name``, else by its module's or class's, which is seldom what its
    source ids begin with.

    Args:
        plugin: A module or object with hook implementations.
        name: A distribution's name, or another that ids may begin with.

    Returns:
        An object with the hooks of the plugin, for ``Runtime.in_memory(plugins=[…])``.
    """
    hooks = {key: getattr(plugin, key) for key in dir(plugin) if key.startswith(PREFIX)}
    return SimpleNamespace(name=name, **hooks)
