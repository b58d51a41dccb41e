"""The parts behind workflows, made when a runtime first uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_workflows.bridges import Bridges
from holon_workflows.definitions import Definitions
from holon_workflows.engine.engine import Engine
from holon_workflows.gates import Gates
from holon_workflows.kinds.all import own_kinds
from holon_workflows.records import NodeKind
from holon_workflows.schedules import Schedules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.plugins.host import PluginHost

HOOK = "holon_workflow_node_kinds"


class Parts:
    """Store, definitions, gates and engine of one runtime that is open.

    Args:
        host: The plugin's host.
    """

    def __init__(self, host: PluginHost) -> None:
        self.bench = host.workbench()
        self.host = host
        self.kinds: dict[str, NodeKind] = {}
        self.definitions = Definitions(
            self.bench, host.clock, kinds=self.kinds, output_class=self.bench.output_class
        )
        self.bridges = Bridges(self.bench, host.clock)
        self.engine = Engine(
            self.bench,
            host.clock,
            kinds=self.kinds,
            definitions=self.definitions,
            not_ready=self.bridges.not_ready,
            logger=host.logger,
        )
        self.gates = Gates(self.bench, self.engine.ledger, host.clock)
        self.schedules = Schedules(self.engine)
        # What hosts do with these from Python is an operation as well.
        self.bridges.through = self.schedules.through = self.bench.through
        own = own_kinds(self)
        self.kinds.update(_offered(host, own))
        self.kinds.update(own)


def _offered(host: PluginHost, own: dict[str, NodeKind]) -> dict[str, NodeKind]:
    """Return the kinds of other distributions; one of another's name, or of two, stays out."""
    found: dict[str, list[NodeKind]] = {}
    for name, kind in _sound(host):
        if kind.kind in own:
            host.logger.warning("%s offers the kind %s, which is not its own", name, kind.kind)
        else:
            found.setdefault(kind.kind, []).append(kind)
    for name, several in found.items():
        if len(several) > 1:
            host.logger.warning("several plugins offer the kind %s; none of them counts", name)
    return {name: several[0] for name, several in found.items() if len(several) == 1}


def _sound(host: PluginHost) -> Iterator[tuple[str, NodeKind]]:
    for offer in host.offers(HOOK):
        by = offer.provenance.distribution or offer.provenance.plugin
        if type(offer.item) is not NodeKind:
            host.logger.warning("%s offers what is no NodeKind", by)
        elif not offer.item.kind.startswith(f"{by}."):
            host.logger.warning("the kind %s of %s begins with another name", offer.item.kind, by)
        else:
            yield by, offer.item
