"""What all plugins of a runtime offer, gathered once when it opens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from holon_core.errors import Rejected
from holon_core.plugins.faults import kind_of, told
from holon_core.plugins.first_party import FIRST_PARTY
from holon_core.plugins.given import Given, given
from holon_core.plugins.services import SERVICE_NAME
from holon_core.records.facts import Facts
from holon_core.records.finding import Finding
from holon_core.records.tool import Provenance

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.plugins.loader import Found
    from holon_core.plugins.manager import Candidate, Offer, PluginManager

RESERVED_SCHEMES = frozenset({"env", "file", "keyring", "secret"})


class Offers(Facts):
    """The offers of every active plugin, each with who made it.

    ``guards`` are the labels of those that belong to a storage root from now on; ``failed``
    those of plugins that tried to offer one and could not, which count as missing.
    """

    manager: PluginManager | None = None
    lanes: tuple[Offer, ...] = ()
    skill_sources: tuple[Offer, ...] = ()
    executors: tuple[Offer, ...] = ()
    policies: tuple[Offer, ...] = ()
    sinks: tuple[Offer, ...] = ()
    secret_providers: tuple[Offer, ...] = ()
    services: tuple[Offer, ...] = ()
    operations: tuple[Offer, ...] = ()
    output_classes: tuple[Offer, ...] = ()
    frozen_kinds: tuple[Offer, ...] = ()
    dialects: tuple[Offer, ...] = ()
    embedders: tuple[Offer, ...] = ()
    guards: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


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

    Raises:
        Rejected: A plugin object that the host gave cannot be registered.
    """
    if not plugins and not installed:
        return Offers()
    from holon_core.plugins.manager import Candidate, PluginManager

    manager = PluginManager()
    candidates = []
    for found in installed:
        if found.problem:
            manager.quarantine(found.name, found.provenance, found.problem)
        else:
            each = Candidate(plugin=found.plugin, name=found.name, provenance=found.provenance)
            candidates.append(each)
    mine = _given(given(plugins), candidates)
    more = [each for each in mine if not any(each is other for other in candidates)]
    manager.register_all([*candidates, *more])
    _refuse_broken(manager, mine)
    guarding = _Guarding(manager, host)
    policies = guarding.of("holon_policies", "policy", _policy)
    sinks = guarding.of("holon_evidence_sinks", "sink", _sink)
    offered = guarding.of("holon_secret_providers", "secret provider", _provider)
    providers = _schemes(manager, offered)
    reviewing = set(manager.implementers("holon_review_registration"))
    reviewers = [owner_of(origin) for name, origin in manager.names() if name in reviewing]
    return Offers(
        manager=manager,
        lanes=tuple(manager.offers("holon_capability_lanes", host)),
        skill_sources=tuple(manager.offers("holon_skill_sources", host)),
        executors=tuple(manager.offers("holon_executors", host)),
        policies=policies,
        sinks=sinks,
        secret_providers=providers,
        services=tuple(manager.offers("holon_services", host)),
        operations=tuple(manager.offers("holon_operations", host)),
        dialects=tuple(manager.offers("holon_dialects", host)),
        output_classes=tuple(manager.offers("holon_output_classes", host)),
        frozen_kinds=tuple(manager.offers("holon_frozen_tool_kinds", host)),
        embedders=tuple(manager.offers("holon_embedders", host)),
        guards=(
            *_labels("policy", policies),
            *_labels("sink", [s for s in sinks if s.item.required]),
            *_labels("secret provider", providers, lambda item: str(item.scheme)),
            *(f"reviewer {owner}" for owner in reviewers),
        ),
        failed=tuple(sorted(guarding.failed)),
    )


class _Guarding:
    """Asks the hooks that bring guards; one that cannot be had says no, as one that raises does."""

    def __init__(self, manager: PluginManager, host: Callable[[str], PluginHost]) -> None:
        self._manager = manager
        self._host = host
        self.failed: set[str] = set()

    def of(self, hook: str, kind: str, check: Callable[[Any], str]) -> tuple[Offer, ...]:
        """Return the good offers of a hook; whoever made others, or raised, is in ``failed``."""
        offered = self._manager.offers(hook, self._host)
        kept = _kept(self._manager, offered, check)
        good = set(map(id, kept))
        lost = [each.provenance for each in offered if id(each) not in good]
        failed = self._manager.failed
        lost += [origin for name, origin in self._manager.names() if (hook, name) in failed]
        self.failed |= {f"{kind} {owner_of(origin)}" for origin in lost}
        return kept


def _given(plugins: Sequence[Given], installed: Sequence[Candidate]) -> list[Candidate]:
    """Return what the host gave; of what is installed as well, the one that is installed."""
    from holon_core.plugins.manager import Candidate

    names = [each.name for each in plugins]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Rejected("plugins", [_broken(name, "several have this name") for name in twice])
    return [
        _installed_too(each, installed)
        or Candidate(
            plugin=each.plugin,
            name=each.name,
            provenance=Provenance(distribution=each.distribution, plugin=each.name),
        )
        for each in plugins
    ]


def _installed_too(each: Given, installed: Sequence[Candidate]) -> Candidate | None:
    return next(
        (
            other
            for other in installed
            if other.plugin is each.plugin and each.is_of(other.provenance.distribution)
        ),
        None,
    )


def _refuse_broken(manager: PluginManager, given: Sequence[Candidate]) -> None:
    """Refuse to go on without what the program itself gave: it may be a guard."""
    active = dict(manager.names())
    lost = {(each.name, each.provenance) for each in given if each.name not in active}
    findings = [
        _broken(each.name, finding.message)
        for each in manager.quarantined
        if (each.name, each.provenance) in lost
        for finding in each.findings
    ]
    if findings:
        raise Rejected("plugins", findings)


def _broken(name: str, problem: str) -> Finding:
    return Finding(code="plugin_broken", message=f"{name}: {problem}")


def _kept(
    manager: PluginManager, offers: Sequence[Offer], check: Callable[[Any], str]
) -> tuple[Offer, ...]:
    """Keep offers of use; the others are reported, whatever they do when looked at."""
    kept = []
    for offer in offers:
        try:
            problem = check(offer.item)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"it raised {told(error)} when it was read"
        if problem:
            text = f"it offered {kind_of(offer.item)}: {problem}"
            manager.report(offer.provenance.plugin, offer.provenance, text)
        else:
            kept.append(offer)
    return tuple(kept)


def _policy(item: Any) -> str:
    return _unnamed(item) or ("" if callable(item.evaluate) else "it has no evaluate")


def _sink(item: Any) -> str:
    if not isinstance(item.required, bool):
        return "required is true or false"
    return _unnamed(item)


def _provider(item: Any) -> str:
    if not isinstance(item.scheme, str) or not re.fullmatch(r"[a-z][a-z0-9+.-]*", item.scheme):
        return "it has no scheme"
    return ""


def _unnamed(item: Any) -> str:
    return "" if isinstance(item.name, str) and item.name else "it has no name"


def _schemes(manager: PluginManager, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Keep providers of schemes that are not reserved and offered once."""
    named = []
    for offer in offers:
        scheme = f"secret scheme {offer.item.scheme}"
        if offer.item.scheme in RESERVED_SCHEMES:
            text = f"it offered {kind_of(offer.item)}: the {scheme} is reserved"
            manager.report(offer.provenance.plugin, offer.provenance, text)
        else:
            named.append((scheme, offer))
    return tuple(single(manager, named).values())


def services_of(offers: Offers) -> dict[str, Any]:
    """Return the services by name; bad and clashing offers are reported."""
    if offers.manager is None:
        return {}
    kept = _kept(offers.manager, offers.services, _service)
    named = [(f"service {offer.item[0]}", offer) for offer in kept]
    return {o.item[0]: o.item[1] for o in single(offers.manager, named).values()}


def _service(item: Any) -> str:
    if type(item) is not tuple or len(item) != 2:
        return "a service is a pair of name and object"
    good = type(item[0]) is str and re.fullmatch(SERVICE_NAME, item[0])
    return "" if good else "a service's name is of a-z 0-9 _ . -"


def single(manager: PluginManager, named: Sequence[tuple[str, Offer]]) -> dict[str, Offer]:
    """Keep what is offered once, sorted by name; of rivals, only one of this project's.

    Args:
        manager: Gets the reports about what was refused.
        named: Offers, each under the name that it may not share.
    """
    by_name: dict[str, list[Offer]] = {}
    for name, offer in named:
        by_name.setdefault(name, []).append(offer)
    kept = {}
    for name, rivals in sorted(by_name.items()):
        own = [offer for offer in rivals if is_first_party(offer.provenance)]
        winner = rivals[0] if len(rivals) == 1 else own[0] if len(own) == 1 else None
        if winner is not None:
            kept[name] = winner
        owners = ", ".join(sorted({owner_of(offer.provenance) for offer in rivals}))
        for offer in rivals:
            if offer is not winner:
                text = f"the {name} is offered more than once, by {owners}"
                manager.report(offer.provenance.plugin, offer.provenance, text)
    return kept


def owner_of(provenance: Provenance) -> str:
    """Return whom an offer is by: a distribution, or the name of a plugin that a host gave."""
    return provenance.distribution or provenance.plugin


def is_first_party(provenance: Provenance) -> bool:
    """Tell whether this project itself publishes what made an offer."""
    return provenance.distribution in FIRST_PARTY


def _labels(
    kind: str,
    offers: Sequence[Offer],
    label: Callable[[Any], str] = lambda item: str(item.name),
) -> list[str]:
    return [f"{kind} {owner_of(offer.provenance)}/{label(offer.item)}" for offer in offers]
