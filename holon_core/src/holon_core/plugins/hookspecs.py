"""Hook specifications: what a plugin may offer, one documented function each (section 5)."""

from __future__ import annotations

from collections.abc import Iterable

from holon_core.plugins.host import PluginHost
from holon_core.plugins.markers import hookspec
from holon_core.records.policy import Policy
from holon_core.records.secret import SecretProvider
from holon_core.records.sink import EvidenceSink


@hookspec
def holon_policies(host: PluginHost) -> Iterable[Policy]:
    """Offer policies, each asked about every call.

    Called once, when a runtime opens. All answers of all plugins count: the strictest verdict
    wins, and a policy of a plugin can only tighten. The policies of one call run together on
    a guard thread within 1 s; late, raising or answering anything but a ``Verdict`` is deny.
    A plugin that ever offered one belongs to the storage root: where it is absent later, every
    call is denied until an operator retires it.
    """
    raise AssertionError


@hookspec
def holon_evidence_sinks(host: PluginHost) -> Iterable[EvidenceSink]:
    """Offer sinks that get every evidence record at least once, in chain order.

    Called once, when a runtime opens. Sinks are written to from a background thread, from a
    cursor in the store; one that fails is retried and reported and never blocks a call. One
    marked required that is more than 1,000 records or 60 s behind makes calls
    ``evidence_unavailable``.
    """
    raise AssertionError


@hookspec
def holon_secret_providers(host: PluginHost) -> Iterable[SecretProvider]:
    """Offer resolvers of secret references, each for one scheme.

    Called once, when a runtime opens. A scheme that two plugins offer is refused for both;
    ``env``, ``file`` and ``keyring`` are reserved. Values are fetched only when a call
    executes, and never enter evidence, results or models.
    """
    raise AssertionError
