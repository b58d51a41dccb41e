"""Readers of package formats, each a module; in the order in which a format is chosen."""

from __future__ import annotations

from holon_plugin_packages.records import PackageReader


def own_readers() -> tuple[PackageReader, ...]:
    """Return the readers of this lane, the lowest rank first."""
    from holon_plugin_packages.readers import (
        agent_plugins,
        agent_skill,
        elegy,
        elegy_package,
        holon,
        plugins,
        servers,
    )

    modules = (holon, elegy_package, elegy, agent_plugins, plugins, servers, agent_skill)
    found = [each for module in modules for each in module.READERS]
    return tuple(sorted(found, key=lambda each: each.rank))
