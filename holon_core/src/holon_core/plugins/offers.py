"""What all plugins of a runtime offer, gathered once when it opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from holon_core.records.tool import Provenance

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.plugins.loader import Found
    from holon_core.plugins.manager import Offer, PluginManager

RESERVED_SCHEMES = frozenset({"env", "file", "keyring", "secret"})


@frozen(kw_only=True)
class Offers:
    """The offers of every active plugin, each with who made it."""

    manager: PluginManager | None = None
    lanes: tuple[Offer, ...] = ()
    skill_sources: tuple[Offer, ...] = ()
    executors: tuple[Offer, ...] = ()
    reviewers: tuple[str, ...] = ()
    policies: tuple[Offer, ...] = ()
    sinks: tuple[Offer, ...] = ()
    secret_providers: tuple[Offer, ...] = ()
    services: tuple[Offer, ...] = ()
    operations: tuple[Offer, ...] = ()
    guards: tuple[str, ...] = field(default=())


def gather(
    plugins: Sequence[object],
    *,
    installed: Sequence[Found],
    host: Callable[[str], PluginHost],
) -> Offers:
    """Register plugins and ask each hook once.

    Args:
        plugins: Plugin objects that the host gave.
        installed: Plugins found by their entry points, good and bad.
        host: Makes the host that a plugin of a name sees.
    """
    if not plugins and not installed:
        return Offers()
    from holon_core.plugins.manager import PluginManager

    manager = PluginManager()
    ready = []
    for found in installed:
        if found.problem:
            manager.quarantine(found.name, found.provenance, found.problem)
        else:
            ready.append((found.plugin, found.name, found.provenance))
    for plugin in plugins:
        name = name_of(plugin)
        ready.append((plugin, name, Provenance(plugin=name)))
    manager.register_all(ready)
    policies = _named(manager, manager.offers("holon_policies", host))
    sinks = _named(manager, manager.offers("holon_evidence_sinks", host))
    providers = _schemes(manager, manager.offers("holon_secret_providers", host))
    reviewers = tuple(manager.implementers("holon_review_registration"))
    return Offers(
        manager=manager,
        lanes=tuple(manager.offers("holon_capability_lanes", host)),
        skill_sources=tuple(manager.offers("holon_skill_sources", host)),
        executors=tuple(manager.offers("holon_executors", host)),
        reviewers=reviewers,
        policies=policies,
        sinks=sinks,
        secret_providers=providers,
        services=tuple(manager.offers("holon_services", host)),
        operations=tuple(manager.offers("holon_operations", host)),
        guards=(
            *_labels("policy", policies),
            *_labels("sink", [s for s in sinks if s.item.required]),
            *_labels("secret provider", providers, lambda item: str(item.scheme)),
            *(f"reviewer {name}" for name in reviewers),
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
