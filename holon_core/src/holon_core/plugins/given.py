"""Plugin objects that a host gives itself: their names, and which of them are installed, too."""

from __future__ import annotations

import re
from types import ModuleType
from typing import TYPE_CHECKING

from holon_core.plugins.first_party import FIRST_PARTY
from holon_core.records.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNUSABLE = r"[^A-Za-z0-9._-]+"


class Given(Facts):
    """One plugin object of a host's; ``distribution`` is its own where that is this project's."""

    plugin: object
    name: str
    distribution: str

    def is_of(self, distribution: str) -> bool:
        """Tell whether a distribution may be the one that it is of."""
        # What this project publishes under its own name, no other distribution brings.
        return self.distribution in ("", distribution)

    def is_loaded_by(self, value: str, distribution: str) -> bool:
        """Tell whether an entry point of a distribution is this module itself."""
        if not isinstance(self.plugin, ModuleType):
            return False
        return self.plugin.__name__ == value.strip() and self.is_of(distribution)


def given(plugins: Iterable[object]) -> list[Given]:
    """Look at the plugin objects that a host gives; the same one given twice is one.

    A module of a first-party lane has the name of its entry point, so that its documents and
    settings are the same ones whichever way it came in.
    """
    distinct = {id(plugin): plugin for plugin in plugins}
    return [
        Given(plugin=plugin, name=_name(plugin), distribution=_own_distribution(plugin))
        for plugin in distinct.values()
    ]


def _name(plugin: object) -> str:
    """Return the name of a plugin object: its own, its module's or its class's."""
    try:
        name = getattr(plugin, "name", None) or getattr(plugin, "__name__", None)
    except KeyboardInterrupt:
        raise
    except BaseException:
        name = None
    if not isinstance(name, str):
        kind = type(plugin)
        name = f"{kind.__module__}.{kind.__qualname__}"
    return re.sub(_UNUSABLE, "-", name)[-100:].strip(".-_") or "plugin"


def _own_distribution(plugin: object) -> str:
    """Return the distribution of this project that a given module is of, if any."""
    if not isinstance(plugin, ModuleType):
        return ""
    from holon_core.plugins.metadata import normal

    name = normal(plugin.__name__.partition(".")[0])
    return name if name in FIRST_PARTY else ""
