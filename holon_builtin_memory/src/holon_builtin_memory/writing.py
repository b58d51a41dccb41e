"""write-workspace-memory and the request for its approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_builtin_memory.answers import memory
from holon_builtin_memory.lane import WRITE
from holon_builtin_memory.refusals import Refused, refuse
from holon_builtin_memory.tool import MemoryTool, workspace_of
from holon_core.errors import Refused as Unaskable
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.guard.sealed import SealedCall

_GATE_RESULT = 500


class WriteMemory(MemoryTool):
    """Adds one memory. What the program made of it is kept in evidence."""

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Add it."""
        workspace = workspace_of(call)
        _refuse_registered(call)
        run = self.program.runner(call)
        if call.arguments.get("tags") and "tags" not in self.program.extensions(run, workspace):
            text = "the configured memory command keeps no tags; write without them"
            raise refuse("unsupported_capability", text, started=False)
        data = self.program.ask(
            run, workspace, _options(call.arguments), text=call.arguments["content"]
        )
        written = {"action": data["action"], "gate_result": data["gateResult"][:_GATE_RESULT]}
        call.draft("elegy-memory", {"memory": data["memory"]["id"], **written})
        if data["action"] == "rejected":
            text = f"the memory's own gate refused: {written['gate_result']}"
            raise refuse("tool_failed", text)
        return {**written, "memory": memory(data["memory"])}

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show also the program and what it is given.

        Raises:
            Refused: ``secret_in_content``: nobody is asked about it, and nothing holds it.
        """
        place = _place_of_secret(call)
        if place is not None:
            raise Unaskable(failure("secret_in_content", path=place))
        shown = {**super().preview(call)}
        options, content = _options(call.arguments), call.arguments["content"]
        shown["argv"] = self.program.argv(workspace_of(call), options, content)
        return shown


class RequestApproval(MemoryTool):
    """Creates, or finds, the pending approval of a write; it starts no program."""

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Ask for it."""
        workspace_of(call)
        _refuse_registered(call)
        answer = call.request_approval(WRITE, call.arguments)
        if answer.failure is None:
            return {"state": "approved", "approval": None, "tool": WRITE}
        pending = answer.failure.details.get("pending")
        if pending is None:
            raise Refused(answer.failure, started=False)
        return {"state": "pending", "approval": pending, "tool": WRITE}


def _refuse_registered(call: SealedCall) -> None:
    """Keep every registered secret out of the store, those that nobody fetched yet too.

    Raises:
        Refused: ``secret_in_content``; ``secret_unresolved`` where nobody can tell. Nothing ran.
    """
    unknown = call.know_secrets()
    if unknown is not None:
        raise Refused(unknown, started=False)
    place = _place_of_secret(call)
    if place is not None:
        raise refuse("secret_in_content", started=False, path=place)


def _place_of_secret(call: SealedCall) -> str | None:
    for name in ("content", "tags"):
        value = call.arguments.get(name)
        if any(map(call.holds_secret, [value] if isinstance(value, str) else value or [])):
            return f"/{name}"
    return None


def _options(arguments: Mapping[str, Any]) -> list[str]:
    options = [
        "add",
        f"--type={arguments.get('type', 'observation')}",
        f"--importance={arguments.get('importance', 0.5)}",
        f"--provenance={arguments.get('provenance', 'agent-observed')}",
    ]
    return options + [f"--tag={tag}" for tag in arguments.get("tags", ())]
