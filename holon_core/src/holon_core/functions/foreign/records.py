"""What an adapter says of one tool of another framework, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from holon_core.functions.codec import ArgumentRefused
from holon_core.functions.host import refused_argument
from holon_core.guard.execute import failed
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.outcome import ExecutorOutcome, completed
from holon_core.records.words import ApprovalRequirement

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

RESULT = "result"


class ToolSaidNo(Exception):
    """A foreign tool reported a failure in its framework's own way; the text is the tool's."""


@frozen(kw_only=True, eq=False)
class ForeignTool:
    """One tool of another framework.

    ``invoke`` takes a sealed call and returns what the tool returned, or an awaitable of it
    where ``is_async``; it raises ``ArgumentRefused`` for arguments that the framework's own
    validation refuses before anything runs, and ``ToolSaidNo`` for a reported failure.
    ``returns`` is the JSON Schema of what it returns, where the framework states one.
    """

    framework: str
    name: str
    description: str
    input_schema: Mapping[str, Any]
    returns: Mapping[str, Any] | None = None
    is_async: bool
    invoke: Callable[[SealedCall], Any]
    approval: ApprovalRequirement = ApprovalRequirement.NONE
    timeout_s: float | None = None
    findings: tuple[Finding, ...] = field(factory=tuple)

    @property
    def bare(self) -> bool:
        """Whether the result is an object by itself, which needs no wrapping."""
        return self.returns is not None and self.returns.get("type") == "object"

    def output_schema(self) -> dict[str, Any]:
        """Return the schema of the output: the result's own, or an object that wraps it."""
        if self.returns is not None and self.bare:
            return dict(self.returns)
        inner = dict(self.returns or {})
        # References reach from the root of the document, so what they name moves along.
        shared: dict[str, Any] = {
            key: inner.pop(key) for key in ("$defs", "definitions") if key in inner
        }
        return {
            "type": "object",
            "properties": {RESULT: inner},
            "required": [RESULT],
            "additionalProperties": False,
            **shared,
        }


class ForeignExecutor:
    """Runs a synchronous foreign tool in the thread it is entered in."""

    def __init__(self, tool: ForeignTool) -> None:
        self._tool = tool

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Hand the arguments to the tool, and its answer on."""
        try:
            return self._answer(self._tool.invoke(call))
        except (ArgumentRefused, ToolSaidNo) as error:
            return _refused(error)

    def _answer(self, value: object) -> ExecutorOutcome:
        from pydantic_core import to_jsonable_python

        # Every framework here brings pydantic; what it cannot write has no JSON form.
        plain = to_jsonable_python(value)
        return completed(plain if self._tool.bare else {RESULT: plain})

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show which tool of which framework would be called with what."""
        tool = self._tool
        return {"framework": tool.framework, "tool": tool.name, "arguments": call.arguments}


class AsyncForeignExecutor(ForeignExecutor):
    """Runs an asynchronous foreign tool on the loop it is awaited on."""

    async def execute(self, call: SealedCall, /) -> ExecutorOutcome:  # type: ignore[override]
        """Hand the arguments to the tool, await it, and hand its answer on."""
        try:
            return self._answer(await self._tool.invoke(call))
        except (ArgumentRefused, ToolSaidNo) as error:
            return _refused(error)


def _refused(error: ArgumentRefused | ToolSaidNo) -> ExecutorOutcome:
    if isinstance(error, ArgumentRefused):
        return refused_argument(error)
    return failed(failure("tool_failed", str(error) or None))


def refused_by_pydantic(error: Any) -> ArgumentRefused:
    """Turn a validation error of pydantic into a refusal with the first path, without values."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    refused = ArgumentRefused(str(first["msg"]))
    for step in reversed(first["loc"]):
        refused = refused.under(step)
    return refused
