"""The shape of a host function: its schemas, and the conversions made ready once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from copy import deepcopy
from typing import Any, get_args, get_origin

from holon_core.functions.codec import Codec, Convert, Unsupported, plain
from holon_core.functions.decorator import ToolOptions, options_of
from holon_core.functions.hints import Compiler
from holon_core.functions.inputs import Bind, Inputs, explicit_inputs, read_inputs
from holon_core.functions.objects import object_schema
from holon_core.functions.parameters import MISSING_HINT, Subject, read_subject
from holon_core.functions.report import Report
from holon_core.records.facts import Facts
from holon_core.records.finding import Finding


class FunctionShape(Facts):
    """What a host function takes and gives, and how its values cross over.

    ``bind`` makes keyword arguments of arguments that fit ``input_schema``, without those that
    the host fills; it raises ``ArgumentRefused``. ``result`` makes the output object of what
    the function returned; it raises ``TypeError`` where that has no JSON form. ``injected``
    are the parameters that the host fills by type. An error among ``findings`` means that
    the function cannot be registered, and the other fields are then good for display only.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    is_async: bool
    bind: Bind
    result: Callable[[Any], dict[str, Any]]
    injected: Mapping[str, type]
    findings: tuple[Finding, ...]


_ENDLESS = "the result contains itself, or is nested too deeply"


def _as_object(write: Convert) -> Convert:
    def result(value: Any) -> Any:
        try:
            return write(value)
        except RecursionError:
            raise TypeError(_ENDLESS) from None

    return result


def _wrapped(write: Convert) -> Convert:
    def result(value: Any) -> Any:
        try:
            return {"result": write(value)}
        except RecursionError:
            raise TypeError(_ENDLESS) from None

    return result


def _returned(subject: Subject) -> tuple[Any, bool]:
    """Give the type of the result, and whether the annotation says that it is awaited."""
    awaited = get_origin(subject.returns) in (Awaitable, Coroutine)
    return (get_args(subject.returns)[-1], True) if awaited else (subject.returns, False)


def _codec(hint: Any, compiler: Compiler, report: Report) -> Codec | None:
    try:
        codec = compiler.codec(hint)
    except Unsupported as error:
        report.error(str(error), "/return")
        return None
    report.ignored(compiler, "/return")
    return codec


def _output(hint: Any, report: Report) -> tuple[dict[str, Any], Convert, bool]:
    """Derive the output schema, the conversion, and whether an object comes out by itself."""
    compiler = Compiler(output=True)
    codec = None if hint is MISSING_HINT else _codec(hint, compiler, report)
    if codec is None:
        return {"type": "object"}, plain, False
    if codec.is_object:
        return compiler.definitions.finish(codec.schema), codec.to_json, True
    wrapped = object_schema({"result": codec.schema}, ["result"])
    return compiler.definitions.finish(wrapped), codec.to_json, False


def _result(
    hint: Any, explicit: Mapping[str, Any] | None, report: Report
) -> tuple[dict[str, Any], Convert]:
    if explicit is None:
        schema, write, is_object = _output(hint, report)
        return schema, _as_object(write) if is_object else _wrapped(write)
    if explicit.get("type", "object") != "object":
        report.error("output_schema has to describe an object", "/return")
    # The derived schema is replaced; what it found fault with still has no conversion.
    return deepcopy(dict(explicit)), _as_object(_output(hint, report)[1])


def _inputs(
    subject: Subject, options: ToolOptions, said: Mapping[str, str], report: Report
) -> Inputs:
    if options.input_schema is None:
        return read_inputs(subject, options.secrets, said, report)
    return explicit_inputs(subject, options.secrets, options.input_schema, report)


def _documented(subject: Subject) -> tuple[str, Mapping[str, str]]:
    """Return what the docstring says of the function, and of each parameter."""
    if not subject.doc:
        return "", {}
    from holon_core.functions.docstrings import parse_docstring

    document = parse_docstring(subject.doc)
    return document.description, document.parameters


def describe(fn: Callable[..., Any], options: ToolOptions | None = None) -> FunctionShape:
    """Derive the shape of a function from its signature, docstring and options.

    All work on types is done here, at registration; ``bind`` and ``result`` are ready.

    Args:
        fn: A function, bound method, callable object or partial; synchronous or not.
        options: What its author stated; by default what the function itself carries.

    Returns:
        The shape. What cannot be described is an error among its findings, with the path of
        the parameter; nothing is raised for it.

    Source: design, sections 4 ("Decided where cases leave two rules open") and 9.
    """
    options = options or options_of(fn) or ToolOptions()
    subject = read_subject(fn)
    report = Report()
    for problem in subject.problems:
        report.error(problem)
    if options.name is None and subject.name == "<lambda>":
        report.error("a lambda has no name; give it one with name=…")
    description, said = _documented(subject)
    inputs = _inputs(subject, options, said, report)
    if subject.returns_problem:
        report.error(subject.returns_problem, "/return")
    hint, awaited = _returned(subject)
    output_schema, result = _result(hint, options.output_schema, report)
    return FunctionShape(
        name=options.name or subject.name,
        description=options.description or description,
        input_schema=inputs.schema,
        output_schema=output_schema,
        is_async=awaited or subject.is_async,
        bind=inputs.bind,
        result=result,
        injected=inputs.injected,
        findings=report.findings,
    )
