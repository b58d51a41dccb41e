"""What a package's capability needs besides the gates of every imported capability."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.words import Posture
from holon_plugin_packages.checking import LIVE_LANES
from holon_plugin_packages.importing import package_of

if TYPE_CHECKING:
    from holon_core.records.gate import GateCall
    from holon_plugin_packages.packages import Packages

SHOWN = 5


class PackageGate:
    """Blocks what changed since it was registered, and every lane that does not run here.

    Args:
        packages: The packages of one runtime.
    """

    def __init__(self, packages: Packages) -> None:
        self._packages = packages

    def __call__(self, call: GateCall) -> Iterator[StructuredFailure]:
        """Name what blocks a call."""
        name = package_of(call.tool.id)
        package = self._packages.find(name)
        if package is None or package.digest != call.tool.executor_ref:
            text = f"the package {name} is not registered as it was imported; import it again"
            yield failure("definition_changed", text, package=name)
            return
        changed = self._packages.changed(package)
        if changed:
            shown = ", ".join(changed[:SHOWN])
            text = f"files of the package {name} changed since it was registered: {shown}"
            yield failure("definition_changed", text, package=name, files=changed[:SHOWN])
        plan = self._packages.plan(package, call.tool.id)
        lane = "" if plan is None else plan.get("lane", "")
        live = call.posture is Posture.PLUGIN_PACKAGE_LIVE
        if plan is None or (live and lane not in LIVE_LANES):
            text = f"the lane {lane or 'of nothing'} does not run here; cli and subprocess do"
            yield failure("live_execution_blocked", text, lane=lane)
