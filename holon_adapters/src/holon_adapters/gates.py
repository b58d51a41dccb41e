"""What keeps a call of an adapter from running: its workspace, its binding, its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_adapters.failures import CallFailed
from holon_adapters.lane import SOURCE
from holon_adapters.request.building import BadArgument
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_adapters.compiled import Operation, Operations
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.gate import GateCall

UNBOUND = "no operator has bound this adapter; adapter/bind names its origin and secrets"


class Gate:
    """The one gate of the lane.

    Args:
        operations: What is behind the tools.
    """

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def __call__(self, call: GateCall) -> Iterator[StructuredFailure]:
        """Yield everything that blocks a call."""
        if not call.tool.id.startswith(f"{SOURCE}."):
            return
        try:
            found = self._operations.of(call.tool)
        except CallFailed as problem:
            yield failure(problem.code, problem.message)
            return
        if found.workspace is not None:
            here = None if call.workspace is None else call.workspace.id
            if here != found.workspace:
                text = "the adapter is registered for another workspace"
                yield failure("wrong_workspace", text)
        if found.binding is None:
            yield failure("live_execution_blocked", UNBOUND)
        elif found.secrets is None:
            yield _unbound_secrets(found)
        yield from _unsendable(found, call)


def _unbound_secrets(found: Operation) -> StructuredFailure:
    ways = " or ".join(" with ".join(each) for each in found.plan.security)
    text = f"the binding has no secret for {ways[:300]}; bind the adapter with it"
    return failure("secret_unresolved", text)


def _unsendable(found: Operation, call: GateCall) -> Iterator[StructuredFailure]:
    # Discovery asks without arguments; where some are required there is nothing to look at.
    if not call.arguments and call.tool.input_schema.get("required"):
        return
    try:
        found.request(call.arguments, "")
    except BadArgument as problem:
        path = f"/{problem.property}" if problem.property else ""
        text = f"{problem.message} at {path or '/'}"
        yield failure("arguments_invalid", text, path=path, rule="request")
