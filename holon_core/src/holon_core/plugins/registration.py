"""pluggy's manager, which looks for implementations no further than for its own mark."""

from __future__ import annotations

from typing import Any

import pluggy

from holon_core.plugins.markers import PROJECT

# Where pluggy's marker leaves its options on a function.
_MARK = f"{PROJECT}_impl"


class Registration(pluggy.PluginManager):
    """Keeps specifications and checks signatures; see ``PluginManager``.

    By itself pluggy looks at every attribute without running it, which costs more than all the
    rest of loading a plugin.
    """

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """Return the options of an implementation; ``None`` for any other attribute."""
        return options_of(plugin, name)


def options_of(plugin: object, attribute: str) -> dict[str, Any] | None:
    """Return the options that the marker left on an attribute, if it is an implementation."""
    options = getattr(getattr(plugin, attribute, None), _MARK, None)
    return options if isinstance(options, dict) else None
