"""Operations of adapters as executors of imported capabilities, posture `adapter_forwarded`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_adapters.failures import CallFailed
from holon_adapters.records import BODY
from holon_core.errors import Refused, Rejected
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.outcome import completed
from holon_core.records.words import Effect, Posture
from holon_core.skills.gates import undeclared
from holon_core.wire.canonical import digest
from holon_core.wire.schema_engine import compiled

if TYPE_CHECKING:
    from holon_adapters.compiled import Operation, Operations
    from holon_adapters.executor import AdapterExecutor
    from holon_core.guard.sealed import SealedCall
    from holon_core.plugins.documents import Documents
    from holon_core.plugins.host import PluginHost
    from holon_core.records.outcome import ExecutorOutcome

FORWARDS = "forwards"


@frozen(kw_only=True)
class Forward:
    """Which operation runs an imported capability, and who said so.

    ``provides`` names the programs that the capability would need: the operation is instead of
    them, so that nothing looks for them.
    """

    capability: str
    tool: str
    by: str
    reason: str
    proposed_by: str | None = None
    provides: tuple[str, ...] = ()
    at_unix_seconds: int


class Forwards:
    """The capabilities that operations of adapters run; bound anew at every start.

    Args:
        host: Of the lane.
        operations: What is behind the tools.
        executor: What sends their requests.
    """

    def __init__(self, host: PluginHost, operations: Operations, executor: AdapterExecutor) -> None:
        self._host = host
        self._operations = operations
        self._executor = executor

    def add(self, forward: Forward, effects: frozenset[Effect]) -> None:
        """Bind an operation to an imported capability.

        Args:
            forward: The word of the operator.
            effects: What the capability declares.

        Raises:
            Rejected: The operation is not registered, or does more than the capability declares.
            Refused: ``conflict``: something else is bound to the capability.
        """
        found = self._operations.mapped().get(forward.tool)
        if found is None:
            text = f"the adapter has no operation {forward.tool.partition('/')[2]}"
            raise Rejected("binding", [_finding(text, "/operation")])
        problem = _beyond(found.value.effects, effects)
        if problem:
            raise Rejected("binding", [_finding(problem, "/operation")])
        self._bind(forward)
        self._kept().put(forward.capability, forward)

    def remove(self, source: str) -> None:
        """Take away what runs by the operations of an adapter."""
        for each in list(self._kept()):
            if each.value.tool.startswith(f"{source}/"):
                self._host.unbind(each.id)
                self._kept().remove(each.id)

    def restore(self, source: str | None = None) -> None:
        """Bind what was bound before, at a start; what another has taken meanwhile stays so.

        Args:
            source: Only what runs by the operations of this adapter.
        """
        for each in list(self._kept()):
            if source is not None and not each.value.tool.startswith(f"{source}/"):
                continue
            try:
                self._bind(each.value)
            except (Refused, Rejected) as problem:
                self._host.logger.warning("%s is not forwarded: %s", each.id, problem)

    def _kept(self) -> Documents[Forward]:
        return self._host.documents(FORWARDS, Forward)

    def _bind(self, forward: Forward) -> None:
        found = self._operations.mapped().get(forward.tool)
        self._host.unbind(forward.capability)
        self._host.bind(
            forward.capability,
            ForwardingExecutor(self._operations, self._executor, tool=forward.tool),
            posture=Posture.ADAPTER_FORWARDED,
            self_limiting=True,
            provides=forward.provides,
            effects=() if found is None else found.value.effects,
        )


class ForwardingExecutor:
    """Runs one capability by one operation.

    Arguments that are no parameters of the operation are members of its body. The answer's body
    is the output: what a capability promises is its data, not how HTTP brought it. Secrets come
    by the capability's own slots, of the names of the operation's schemes.

    Args:
        operations: What is behind the tools.
        executor: What sends requests.
        tool: Id of the operation's tool.
    """

    def __init__(self, operations: Operations, executor: AdapterExecutor, *, tool: str) -> None:
        self._operations = operations
        self._executor = executor
        self._tool = tool

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Send the request of the operation; what keeps it from that is an outcome."""
        try:
            found, arguments = self._prepared(call)
            missing = set(found.secrets or ()) - {s.name for s in call.tool.secret_slots}
            if missing:
                text = f"the capability declares no secret {sorted(missing)[0]}, which is needed"
                raise CallFailed("secret_unresolved", text, started=False)
            outcome = self._executor.run(call, found, arguments)
        except CallFailed as problem:
            return problem.outcome()
        output: Any = outcome.output_json
        return completed(output.get(BODY, {}), outcome.evidence)

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show the request of the operation, or what keeps it from being sent.

        Raises:
            Refused: ``arguments_invalid``: they make no request.
        """
        try:
            found, arguments = self._prepared(call)
        except CallFailed as problem:
            if problem.code != "arguments_invalid":
                return {"blocked": problem.code, "reason": problem.message}
            raise Refused(failure(problem.code, problem.message, **problem.details)) from None
        return self._executor.shown(call, found, arguments)

    def _prepared(self, call: SealedCall) -> tuple[Operation, dict[str, Any]]:
        found = self._operations.current(self._tool)
        here = None if call.workspace is None else call.workspace.id
        if found.workspace not in (None, here):
            raise CallFailed("wrong_workspace", started=False)
        # Looked at again: either may have been registered anew since they were bound.
        problem = _beyond(found.effects, call.tool.effects)
        if problem:
            raise CallFailed("live_execution_blocked", problem, started=False)
        arguments = _mapped(found, call.arguments)
        schema: Any = dict(found.input_schema)
        errors = compiled(schema, digest(schema, domain="holon-schema/1")).errors(arguments)
        if errors:
            text = f"{errors[0].message} at {errors[0].path or '/'} of the operation"
            raise CallFailed("arguments_invalid", text, started=False, path=errors[0].path)
        return found, arguments


def _beyond(effects: frozenset[Effect], declared: frozenset[Effect]) -> str:
    """Say which effects of an operation a capability does not declare; nothing where it has all."""
    names = ", ".join(sorted(undeclared(effects, declared)))
    return names and f"the operation has effects that the capability does not declare: {names}"


def _mapped(found: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.property for each in found.plan.parameters}
    if found.plan.body is None or BODY in given:
        return dict(given)
    body = {name: value for name, value in given.items() if name not in names}
    made = {name: value for name, value in given.items() if name in names}
    return {**made, BODY: body} if body or found.plan.body.required else made


def _finding(message: str, path: str) -> Finding:
    return Finding(code="config_invalid", message=message, path=path)
