"""The hook of this distribution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holon_core.plugins.markers import hookspec

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_workflows.records import NodeKind


@hookspec
def holon_workflow_node_kinds(host: PluginHost) -> Iterable[NodeKind]:
    """Offer kinds of nodes, each under this distribution's name, a dot, and a word.

    Called once, when workflows are first used in a runtime. A name that two offer is refused for
    both; those of this distribution never lose. A plugin that offers some marks its
    implementation ``optionalhook=True``.
    """
    raise AssertionError
