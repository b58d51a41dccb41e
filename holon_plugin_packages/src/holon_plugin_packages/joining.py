"""The readers of this lane and of plugins, as one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_plugin_packages.readers import own_readers
from holon_plugin_packages.records import PackageReader

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost

HOOK = "holon_package_readers"


def joined_readers(host: PluginHost) -> tuple[PackageReader, ...]:
    """Return all readers by rank; a format that two plugins offer is left out for both."""
    own = {each.format: each for each in own_readers()}
    taken: dict[str, list[PackageReader]] = {}
    for offer in host.offers(HOOK):
        if isinstance(offer.item, PackageReader) and offer.item.format not in own:
            taken.setdefault(offer.item.format, []).append(offer.item)
    for name, several in taken.items():
        if len(several) == 1:
            own[name] = several[0]
        else:
            host.logger.warning("%d plugins read the package format %s", len(several), name)
    return tuple(sorted(own.values(), key=lambda each: (each.rank, each.format)))
