"""Holon governs what AI agents may do: one door for every call, with policy and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holon_core.errors import (
        CallFailed,
        HolonError,
        JsonRefused,
        Misuse,
        Refused,
        Rejected,
        RuntimeNotOpen,
        StoreError,
        StructuredFailureKind,
        UsedAfterFork,
        WorkspaceInsideRoot,
    )
    from holon_core.functions.decorator import tool
    from holon_core.guard.sealed import SealedCall
    from holon_core.plugins.markers import hookimpl
    from holon_core.records.policy import PolicyRequest, Verdict
    from holon_core.records.result import ToolResult
    from holon_core.records.words import Decision, Effect, Status
    from holon_core.runtime import Runtime
    from holon_core.session import Session

# Name to module: loaded when first asked for, so that importing the library costs next to nothing.
_HOMES = {
    "CallFailed": "errors",
    "Decision": "records.words",
    "Effect": "records.words",
    "HolonError": "errors",
    "JsonRefused": "errors",
    "Misuse": "errors",
    "PolicyRequest": "records.policy",
    "Refused": "errors",
    "Rejected": "errors",
    "Runtime": "runtime",
    "RuntimeNotOpen": "errors",
    "SealedCall": "guard.sealed",
    "Session": "session",
    "Status": "records.words",
    "StoreError": "errors",
    "StructuredFailureKind": "errors",
    "ToolResult": "records.result",
    "UsedAfterFork": "errors",
    "Verdict": "records.policy",
    "WorkspaceInsideRoot": "errors",
    "hookimpl": "plugins.markers",
    "tool": "functions.decorator",
}

__all__ = [
    "CallFailed",
    "Decision",
    "Effect",
    "HolonError",
    "JsonRefused",
    "Misuse",
    "PolicyRequest",
    "Refused",
    "Rejected",
    "Runtime",
    "RuntimeNotOpen",
    "SealedCall",
    "Session",
    "Status",
    "StoreError",
    "StructuredFailureKind",
    "ToolResult",
    "UsedAfterFork",
    "Verdict",
    "WorkspaceInsideRoot",
    "hookimpl",
    "tool",
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
