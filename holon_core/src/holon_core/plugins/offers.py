"""What all plugins of a runtime offer, gathered once when it opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from holon_core.records.tool import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.clock import Clock
    from holon_core.plugins.host import PluginHost
    from holon_core.plugins.manager import Offer, PluginManager

RESERVED_SCHEMES = frozenset({"env", "file", "keyring", "secret"})


@frozen(kw_only=True)
class Offers:
    """The offers of every active plugin, each with who made it."""

    manager: PluginManager | None = None
    policies: tuple[Offer, ...] = ()
    sinks: tuple[Offer, ...] = ()
    secret_providers: tuple[Offer, ...] = ()
    guards: tuple[str, ...] = field(default=())


def gather(
    plugins: Sequence[object],
    *,
    root: Path | None,
    clock: Clock,
    tables: Mapping[str, Mapping[str, Any]],
) -> Offers:
    """Register plugins and ask each hook once.

    Args:
        plugins: Plugin objects that the host gave.
        root: The storage root; ``None`` in memory.
        clock: The runtime's clock.
        tables: The plugins' own tables of ``holon.toml``, by name.
    """
    if not plugins:
        return Offers()
    from holon_core.plugins.host import Host
    from holon_core.plugins.manager import PluginManager

    manager = PluginManager()
    for plugin in plugins:
        manager.register(plugin, name_of(plugin), Provenance(plugin=name_of(plugin)))

    def host(name: str) -> PluginHost:
        return Host(name, root, clock, tables.get(name, {}))

    policies = _named(manager, manager.offers("holon_policies", host))
    sinks = _named(manager, manager.offers("holon_evidence_sinks", host))
    providers = _schemes(manager, manager.offers("holon_secret_providers", host))
    return Offers(
        manager=manager,
        policies=policies,
        sinks=sinks,
        secret_providers=providers,
        guards=(
            *_labels("policy", policies),
            *_labels("sink", [s for s in sinks if s.item.required]),
            *_labels("secret provider", providers, lambda item: str(item.scheme)),
        ),
    )


def name_of(plugin: object) -> str:
    """Return the name of a plugin object: its own, its module's or its class's."""
    name = getattr(plugin, "name", None) or getattr(plugin, "__name__", None)
    if isinstance(name, str):
        return name
    kind = type(plugin)
    return f"{kind.__module__}.{kind.__qualname__}"


def _named(manager: PluginManager, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Keep offers that carry a name; the others are reported."""
    kept = []
    for offer in offers:
        try:
            good = isinstance(offer.item.name, str) and bool(offer.item.name)
        except Exception:
            good = False
        if good:
            kept.append(offer)
        else:
            text = f"it offered {type(offer.item).__name__}, which has no name"
            manager.report(offer.provenance.plugin, offer.provenance, text)
    return tuple(kept)


def _schemes(manager: PluginManager, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Keep providers of schemes that are free and offered once."""
    by_scheme: dict[str, list[Offer]] = {}
    for offer in offers:
        by_scheme.setdefault(str(getattr(offer.item, "scheme", "")), []).append(offer)
    kept = []
    for scheme, rivals in sorted(by_scheme.items()):
        if len(rivals) == 1 and scheme and scheme not in RESERVED_SCHEMES:
            kept.append(rivals[0])
            continue
        for offer in rivals:
            text = f"its secret scheme {scheme!r} is reserved or offered twice"
            manager.report(offer.provenance.plugin, offer.provenance, text)
    return tuple(kept)


def _labels(
    kind: str,
    offers: Sequence[Offer],
    label: Callable[[Any], str] = lambda item: str(item.name),
) -> list[str]:
    owner = [o.provenance.distribution or o.provenance.plugin for o in offers]
    return [f"{kind} {who}/{label(o.item)}" for who, o in zip(owner, offers, strict=True)]
