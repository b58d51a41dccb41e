"""Readers of package formats, each a module; in the order in which a format is chosen."""

from __future__ import annotations

from holon_plugin_packages.records import PackageReader


def own_readers() -> tuple[PackageReader, ...]:
    """Return the readers of this lane, the lowest rank first."""
    from holon_plugin_packages.readers import holon

    found = (*holon.READERS,)
    return tuple(sorted(found, key=lambda each: each.rank))
