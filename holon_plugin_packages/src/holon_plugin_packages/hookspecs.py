"""The hook of this lane: readers of package formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holon_core.plugins.markers import hookspec

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_plugin_packages.records import PackageReader


@hookspec
def holon_package_readers(host: PluginHost) -> Iterable[PackageReader]:
    """Offer readers of foreign package formats.

    Called when a package is first read. A reader gets the files of a package, read once and
    judged, and makes a ``holon-plugin/v1`` manifest of them; it reads nothing else and starts
    nothing. A format that two offer is refused for both; those of this lane never lose.
    """
    raise AssertionError
