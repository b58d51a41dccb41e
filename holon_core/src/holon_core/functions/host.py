"""Host functions in the catalogue: descriptor, executor and preview made of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.catalogue.catalogue import Entry
from holon_core.catalogue.suspicious import returns_plan, suspicious, with_hints
from holon_core.errors import JsonRefused, Misuse, Rejected
from holon_core.functions.codec import ArgumentRefused
from holon_core.functions.decorator import UNDECLARED, ToolOptions, options_from, options_of
from holon_core.functions.signature import FunctionShape, describe
from holon_core.guard.execute import failed
from holon_core.guard.secrets import reference_problem
from holon_core.ids import capability_id, id_problem
from holon_core.plugins.faults import told
from holon_core.records.failure import failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.outcome import ExecutorOutcome, completed
from holon_core.records.tool import Limits, RuntimeToolDescriptor, SecretSlot
from holon_core.records.words import LaneKind, Origin, Posture, Severity
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall

DEFINITION_DOMAIN = "holon-definition/1"


class FunctionExecutor:
    """Runs a synchronous host function in the thread it is entered in."""

    def __init__(
        self, fn: Callable[..., Any], shape: FunctionShape, secrets: Mapping[str, str]
    ) -> None:
        self._fn = fn
        self._bind = shape.bind
        self._result = shape.result
        self._injected = tuple(shape.injected)
        self._secrets = tuple(secrets)
        self._extra = bool(self._injected or self._secrets)

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Call the function with the arguments, its secrets and what is injected."""
        try:
            kwargs = self._bind(call._attempt.arguments)
        except ArgumentRefused as error:
            return refused_argument(error)
        if self._extra:
            kwargs = self._with_extra(kwargs, call)
        return completed(self._result(self._fn(**kwargs)))

    def _with_extra(self, kwargs: Mapping[str, Any], call: SealedCall) -> dict[str, Any]:
        secrets = {name: call.secret(name) for name in self._secrets}
        return {**kwargs, **secrets, **dict.fromkeys(self._injected, call)}

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show which function would be called with what."""
        name = getattr(self._fn, "__qualname__", type(self._fn).__qualname__)
        return {"function": name, "arguments": call.arguments}


class AsyncFunctionExecutor(FunctionExecutor):
    """Runs an asynchronous host function on the loop it is awaited on."""

    async def execute(self, call: SealedCall, /) -> ExecutorOutcome:  # type: ignore[override]
        """Await the function with the arguments, its secrets and what is injected."""
        try:
            kwargs = self._bind(call.arguments)
        except ArgumentRefused as error:
            return refused_argument(error)
        if self._extra:
            kwargs = self._with_extra(kwargs, call)
        return completed(self._result(await self._fn(**kwargs)))


def refused_argument(error: ArgumentRefused) -> ExecutorOutcome:
    """Answer for a value that fits the schema and still has no Python form."""
    return failed(failure("arguments_invalid", str(error)), started=False)


def entry_of(
    fn: Callable[..., Any], app: str, given: Mapping[str, Any]
) -> tuple[Entry, tuple[Finding, ...]]:
    """Make the catalogue entry of a host function.

    Args:
        fn: A function, method, callable object or partial.
        app: The application's name; the source id is ``host.<app>``.
        given: Options that replace those of the decorator, as ``holon.tool`` takes them.

    Returns:
        An entry whose descriptor carries its digest, and the warnings about it.

    Raises:
        Rejected: With every finding; nothing is registered.
        Misuse: An option is not understood.
    """
    subject = f"a function of host.{app}"
    try:
        return _made(fn, app, given)
    except (Rejected, Misuse, KeyboardInterrupt):
        raise
    except JsonRefused as error:
        finding = Finding(code="record_invalid", message=error.message, path=error.path)
        raise Rejected(subject, [finding]) from None
    except RecursionError:
        finding = Finding(code="schema_limit", message="nested deeper than can be looked at")
        raise Rejected(subject, [finding]) from None
    except BaseException as error:
        # Looking at an object runs code of its own: properties, hints, defaults.
        text = f"looking at it raised {told(error)}"
        raise Rejected(subject, [Finding(code="signature_unsupported", message=text)]) from error


def _made(
    fn: Callable[..., Any], app: str, given: Mapping[str, Any]
) -> tuple[Entry, tuple[Finding, ...]]:
    options = _options(fn, given)
    shape = describe(fn, options)
    findings = [*shape.findings, *_stated(options)]
    tool_id = f"host.{app}/{capability_id(options.id or shape.name)}"
    problem = id_problem(tool_id)
    if problem is not None:
        findings.append(Finding(code="invalid_id", message=problem, path="/id"))
    inputs = check_schema(shape.input_schema, role="input")
    outputs = check_schema(shape.output_schema, role="output")
    findings += inputs.findings + outputs.findings
    if options.isolation == "process":
        from holon_core.functions.isolated import isolation_findings

        findings += isolation_findings(fn, shape)
    if has_errors(findings):
        raise Rejected(tool_id, findings)
    assert isinstance(inputs.schema, dict), "an input schema that is no object is an error finding"
    hints, odd = suspicious(inputs.schema)
    findings += odd
    tool = _descriptor(tool_id, shape, options, inputs.schema, hints)
    findings += returns_plan(tool)
    return _entry(fn, shape, options, tool), tuple(findings)


def undeclared(how: str) -> Finding:
    """Warn that a tool cannot be called, and say how its effects are declared."""
    return Finding(
        code="effects_undeclared",
        message=f"no effects are declared, so that every call is refused; declare {how}",
        path="/effects",
        severity=Severity.WARNING,
    )


def _stated(options: ToolOptions) -> Iterator[Finding]:
    """Say what is wrong with what the author states, or left out."""
    if options.effects == UNDECLARED:
        yield undeclared("effects={…}")
    for name, reference in options.secrets.items():
        problem = reference_problem(reference)
        if problem is not None:
            yield Finding(code="record_invalid", message=problem, path=f"/secrets/{name}")


def _options(fn: Callable[..., Any], given: Mapping[str, Any]) -> ToolOptions:
    return options_from(given, options_of(fn))


def _descriptor(
    tool_id: str,
    shape: FunctionShape,
    options: ToolOptions,
    input_schema: Mapping[str, Any],
    hints: tuple[str, ...],
) -> RuntimeToolDescriptor:
    limits = Limits(timeout_s=options.timeout_s)
    if options.max_output_bytes is not None:
        limits = evolve(limits, max_output_bytes=options.max_output_bytes)
    tool = RuntimeToolDescriptor(
        id=tool_id,
        lane=LaneKind.HOST.value,
        origin=Origin.HOST,
        posture=Posture.HOST_FUNCTION,
        version=options.version,
        name=shape.name,
        title=options.title or "",
        description=shape.description,
        examples=options.examples,
        keywords=options.keywords,
        input_schema=input_schema,
        output_schema=shape.output_schema,
        effects=options.effects,
        approval=options.approval,
        risk_hints=with_hints(options.risk_hints, hints),
        secret_slots=tuple(
            SecretSlot(name=name, ref=ref) for name, ref in sorted(options.secrets.items())
        ),
        idempotent=options.idempotent,
        limits=limits,
        executor_ref=f"version:{options.version}",
    )
    return tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))


def _entry(
    fn: Callable[..., Any],
    shape: FunctionShape,
    options: ToolOptions,
    tool: RuntimeToolDescriptor,
) -> Entry:
    if options.isolation == "process":
        from holon_core.functions.isolated import IsolatedExecutor

        return Entry(tool, IsolatedExecutor(fn, shape, options), self_limiting=True)
    kind = AsyncFunctionExecutor if shape.is_async else FunctionExecutor
    executor = kind(fn, shape, options.secrets)
    return Entry(tool, executor, is_async=shape.is_async, inline=options.inline)
