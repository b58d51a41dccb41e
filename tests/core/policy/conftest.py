"""Fixtures of the policy tests: tools and requests made of the few fields that matter."""

from collections.abc import Callable
from typing import Any

import pytest

from holon_core.records.caller import CallerContext
from holon_core.records.policy import PolicyRequest
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import ApprovalRequirement, Effect, Origin, Posture


def _request(
    *,
    id: str = "host.shop/refund",
    lane: str = "host",
    effects: Any = ("none",),
    approval: str = "none",
    arguments: dict[str, Any] | None = None,
    posture: str = "host_function",
    effects_used: Any = (),
    digest: str = "",
    **caller: Any,
) -> PolicyRequest:
    tool = RuntimeToolDescriptor(
        id=id,
        lane=lane,
        origin=Origin.HOST,
        posture=Posture(posture),
        version="1",
        name=id.rpartition("/")[2],
        input_schema={"type": "object"},
        effects=frozenset(Effect(effect) for effect in effects),
        approval=ApprovalRequirement(approval),
        digest=digest,
    )
    return PolicyRequest(
        tool=tool,
        caller=CallerContext(**{"principal": "ann", **caller}),
        arguments={} if arguments is None else arguments,
        posture=Posture(posture),
        effects_used=frozenset(Effect(effect) for effect in effects_used),
    )


@pytest.fixture(scope="session")
def make_request() -> Callable[..., PolicyRequest]:
    """Make a policy request of plain words."""
    return _request
