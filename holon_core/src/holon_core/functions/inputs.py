"""The input side of a function: schema, binding, and the parameters that the host fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, get_args

from attrs import NOTHING

from holon_core.functions.codec import ArgumentRefused, Codec, Convert, Unsupported
from holon_core.functions.hints import Compiler
from holon_core.functions.objects import default_of, object_schema
from holon_core.functions.parameters import MISSING_HINT, Parameter, Subject
from holon_core.functions.report import Report
from holon_core.functions.scalars import any_codec
from holon_core.records.facts import Facts

Bind = Callable[[dict[str, Any]], dict[str, Any]]


class Inputs(Facts):
    """What a function takes: from the caller by schema, from the host by type."""

    schema: dict[str, Any]
    bind: Bind
    injected: Mapping[str, type]


def _injected(parameters: Sequence[Parameter]) -> Iterator[tuple[str, type]]:
    for each in parameters:
        for hint in (each.hint, *get_args(each.hint)):
            if isinstance(hint, type) and getattr(hint, "__holon_inject__", None) is True:
                yield each.name, hint


def _path(name: str) -> str:
    return f"/parameters/{name}"


def _callers(
    subject: Subject, secrets: Mapping[str, str], report: Report
) -> tuple[list[Parameter], dict[str, type]]:
    """Split the parameters: those for the caller, and those that the host fills by type."""
    named = [each for each in subject.parameters if each.by_name]
    for missing in sorted(secrets.keys() - {each.name for each in named}):
        report.error(f"secrets names {missing}, which is no parameter", _path(missing))
    others = [each for each in named if each.name not in secrets]
    injected = dict(_injected(others))
    return [each for each in others if each.name not in injected], injected


def _refuse_unnamed(subject: Subject, report: Report, *, all_of_them: bool) -> None:
    for each in subject.parameters:
        if not each.by_name and (all_of_them or each.default is NOTHING):
            report.error(each.problem or "", _path(each.name))


def _codec(given: Parameter, compiler: Compiler, report: Report) -> Codec:
    path = _path(given.name)
    if given.problem:
        report.error(given.problem, path)
        return any_codec()
    if given.hint is MISSING_HINT:
        report.warning("no type hint: the parameter accepts any JSON", path)
        return any_codec()
    try:
        codec = compiler.codec(given.hint)
    except Unsupported as error:
        report.error(str(error), path)
        return any_codec()
    report.ignored(compiler, path)
    return codec


def _bind(loads: Sequence[tuple[str, Convert]]) -> Bind:
    if not loads:
        return dict

    def bind(arguments: dict[str, Any]) -> dict[str, Any]:
        given = dict(arguments)
        for name, load in loads:
            if name in given:
                try:
                    given[name] = load(given[name])
                except ArgumentRefused as refused:
                    raise refused.under(name) from refused.__cause__
        return given

    return bind


def read_inputs(
    subject: Subject, secrets: Mapping[str, str], said: Mapping[str, str], report: Report
) -> Inputs:
    """Derive the input side from the signature.

    Args:
        subject: The callable, taken apart.
        secrets: The parameters that the host fills from secrets.
        said: What the docstring says of each parameter.
        report: Takes what is found.
    """
    compiler = Compiler(output=False)
    _refuse_unnamed(subject, report, all_of_them=True)
    callers, injected = _callers(subject, secrets, report)
    codecs = {each.name: _codec(each, compiler, report) for each in callers}
    for each in callers:
        schema = codecs[each.name].schema
        if each.name in said:
            schema.setdefault("description", said[each.name])
        schema.update(default_of(codecs[each.name], each.default))
    schema = object_schema(
        {name: codec.schema for name, codec in codecs.items()},
        [each.name for each in callers if each.default is NOTHING],
    )
    loads = [(name, codec.load) for name, codec in codecs.items() if codec.load]
    return Inputs(schema=compiler.definitions.finish(schema), bind=_bind(loads), injected=injected)


def _disagreements(
    schema: Mapping[str, Any], subject: Subject, callers: Sequence[Parameter], hosts: frozenset[str]
) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    names = {each.name for each in callers}
    for name in properties:
        if name in hosts or (name not in names and not subject.open_keywords):
            yield name, "input_schema has this property, which is no parameter for the caller"
    for each in callers:
        if each.default is NOTHING and (each.name not in properties or each.name not in required):
            yield each.name, "the function needs this parameter and input_schema does not"


def explicit_inputs(
    subject: Subject, secrets: Mapping[str, str], given: Mapping[str, Any], report: Report
) -> Inputs:
    """Take the author's own input schema; arguments pass by name, as they are.

    Args:
        subject: The callable, taken apart.
        secrets: The parameters that the host fills from secrets.
        given: The schema; copied.
        report: Takes what is found, also where schema and signature disagree.
    """
    schema = deepcopy(dict(given))
    if schema.get("type", "object") != "object":
        report.error("input_schema has to describe an object")
    _refuse_unnamed(subject, report, all_of_them=False)
    callers, injected = _callers(subject, secrets, report)
    hosts = subject.settled | secrets.keys() | injected.keys()
    for name, problem in _disagreements(schema, subject, callers, hosts):
        report.error(problem, _path(name))
    return Inputs(schema=schema, bind=dict, injected=injected)
