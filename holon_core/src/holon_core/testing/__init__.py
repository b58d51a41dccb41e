"""The kit for those who write lanes or embed the library: fixtures, helpers, conformance suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holon_core.testing.approver import ScriptedApprover
    from holon_core.testing.bench import Lane
    from holon_core.testing.checks import CHECKS, Check, check_lane
    from holon_core.testing.clock import ManualClock
    from holon_core.testing.naming import named
    from holon_core.testing.reader import EvidenceReader
    from holon_core.testing.report import Report, Result, Verdict
    from holon_core.testing.suite import LaneSuite

_HOMES = {
    "CHECKS": "checks",
    "Check": "checks",
    "EvidenceReader": "reader",
    "Lane": "bench",
    "LaneSuite": "suite",
    "ManualClock": "clock",
    "Report": "report",
    "Result": "report",
    "ScriptedApprover": "approver",
    "Verdict": "report",
    "check_lane": "checks",
    "named": "naming",
}

__all__ = [
    "CHECKS",
    "Check",
    "EvidenceReader",
    "Lane",
    "LaneSuite",
    "ManualClock",
    "Report",
    "Result",
    "ScriptedApprover",
    "Verdict",
    "check_lane",
    "named",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
