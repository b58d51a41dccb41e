"""Held calls made of the few fields that matter to a view."""

from collections.abc import Callable
from typing import Any

import pytest

from holon_core.guard.approval_view import build_view
from holon_core.records.approval import ApprovalRecord, HeldCall
from holon_core.records.approval_view import ApprovalView
from holon_core.records.caller import CallerContext
from holon_core.records.words import ApprovalState, HeldState

NOW = 1_700_000_000


def held_call(
    arguments: dict[str, Any],
    *,
    tool: dict[str, Any] | None = None,
    preview: dict[str, Any] | None = None,
    key: str | None = None,
    **caller: Any,
) -> HeldCall:
    """Make a held call of plain words."""
    return HeldCall(
        call_id="c1",
        approval_id="a1",
        state=HeldState.HELD,
        caller=CallerContext(**{"principal": "ann", "workspace": "w1", **caller}),
        tool={
            "id": "acme.mail/send",
            "lane": "adapter",
            "origin": "plugin",
            "posture": "adapter_live",
            "version": "3",
            "name": "send",
            "description": "Send a mail.",
            "input_schema": {"type": "object"},
            "effects": ["network_write"],
            "side_effect_class": "network_write",
            "approval": "required",
            "provenance": {"distribution": "acme-mail", "version": "3.1", "plugin": "mail"},
            **(tool or {}),
        },
        arguments=arguments,
        preview=preview,
        idempotency_key=key,
        held_at_unix_seconds=NOW - 60,
    )


def pending(**changed: Any) -> ApprovalRecord:
    """Make the approval that it waits for."""
    usual = {
        "id": "a1",
        "state": ApprovalState.PENDING,
        "tool": "acme.mail/send",
        "definition": "d" * 64,
        "fingerprint": "f" * 64,
        "arguments_digest": "e" * 64,
        "workspace": "w1",
        "principal": "ann",
        "requested_at_unix_seconds": NOW - 60,
        "expires_at_unix_seconds": NOW + 540,
    }
    return ApprovalRecord(**{**usual, **changed})


View = Callable[..., ApprovalView]


@pytest.fixture(scope="session")
def view() -> View:
    """Build the view of a held call with these arguments."""

    def build(
        arguments: dict[str, Any],
        *,
        last: dict[str, Any] | None = None,
        now: int = NOW,
        operator: str | None = None,
        **held: Any,
    ) -> ApprovalView:
        call = held_call(arguments, **held)
        return build_view(call, pending(), last_arguments=last, now=now, operator=operator)

    return build
