"""The parameters of a callable: names, resolved hints, and what binds them."""

from __future__ import annotations

import functools
import inspect
from typing import Any, get_args, get_type_hints

from attrs import NOTHING

from holon_core.functions.codec import Unsupported
from holon_core.records.facts import Facts

MISSING_HINT = object()


class Parameter(Facts):
    """One parameter; ``problem`` says why it cannot be described.

    ``default`` is what the function sees where nothing is passed, empty for ``*args``;
    NOTHING where something has to be passed.
    """

    name: str
    default: Any
    hint: Any = MISSING_HINT
    problem: str | None = None
    by_name: bool = True


class Subject(Facts):
    """A callable taken apart: what the schemas need to know of it."""

    function: Any
    name: str
    doc: str | None
    parameters: tuple[Parameter, ...] = ()
    returns: Any = MISSING_HINT
    returns_problem: str | None = None
    open_keywords: bool = False
    settled: frozenset[str] = frozenset()
    is_async: bool = False
    problems: tuple[str, ...] = ()


def underlying(fn: Any) -> Any:
    """Find the plain function behind partials, methods, callable objects and wrappers."""
    while True:
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif inspect.isroutine(fn) or isinstance(fn, type):
            return inspect.unwrap(fn)
        else:
            fn = type(fn).__call__


def _is_async(fn: Any) -> bool:
    """Tell whether calling it gives something to await."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)


def _bound(fn: Any) -> frozenset[str]:
    """Name the parameters that a partial has settled: they are the host's, not the caller's."""
    return frozenset(fn.keywords) if isinstance(fn, functools.partial) else frozenset()


def _resolve(annotation: Any, function: Any) -> Any:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation

    # A holder without defaults: Python 3.10 would make a default of None an Optional.
    def holder() -> None: ...

    holder.__annotations__ = {"it": annotation}
    names = getattr(function, "__globals__", {})
    try:
        return get_type_hints(holder, globalns=names, include_extras=True)["it"]
    except Exception as error:
        raise Unsupported(f"the annotation cannot be resolved: {error}") from error


_UNNAMED: dict[Any, tuple[Any, str]] = {
    inspect.Parameter.VAR_POSITIONAL: ((), "*args cannot be described; take a list"),
    inspect.Parameter.VAR_KEYWORD: (
        {},
        "**kwargs cannot be described; name the parameters, or give input_schema",
    ),
    inspect.Parameter.POSITIONAL_ONLY: (
        NOTHING,
        "a positional-only parameter cannot be passed by name; drop the slash",
    ),
}


def _parameter(given: inspect.Parameter, function: Any) -> Parameter:
    name, empty = given.name, inspect.Parameter.empty
    default = NOTHING if given.default is empty else given.default
    if given.kind in _UNNAMED:
        without, problem = _UNNAMED[given.kind]
        default = without if default is NOTHING else default
        return Parameter(name=name, default=default, problem=problem, by_name=False)
    if given.annotation is empty:
        return Parameter(name=name, default=default)
    try:
        return Parameter(name=name, hint=_resolve(given.annotation, function), default=default)
    except Unsupported as error:
        return Parameter(name=name, default=default, problem=str(error))


def _problems(fn: Any, function: Any, first: inspect.Parameter | None) -> tuple[str, ...]:
    found = []
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        found.append("a generator has no single result; return a list")
    unbound = first is not None and first.name in ("self", "cls") and fn is function
    if unbound and first is not None and first.annotation is inspect.Parameter.empty:
        found.append("a method without its object; register the bound method")
    return tuple(found)


def _doc(fn: Any, function: Any) -> str | None:
    text: str | None = getattr(function, "__doc__", None)
    return text or (None if inspect.isroutine(fn) else type(fn).__doc__)


def _unreadable(fn: Any, problem: str) -> Subject:
    name = getattr(fn, "__name__", type(fn).__name__)
    return Subject(function=fn, name=name, doc=None, problems=(problem,))


def read_subject(fn: Any) -> Subject:
    """Take a callable apart, whichever kind it is.

    Returns:
        Its parts; what cannot be described is a problem of the whole or of a parameter.
    """
    if not callable(fn):
        text = f"{type(fn).__name__} is no function; register the function itself"
        return _unreadable(fn, text)
    if isinstance(fn, type):
        return _unreadable(fn, "a class is no function; register a function that makes one")
    function = underlying(fn)
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError, NameError) as error:
        return _unreadable(function, f"its signature cannot be read: {error}")
    settled = _bound(fn)
    given = [each for each in signature.parameters.values() if each.name not in settled]
    returns, problem = _returns(signature, function)
    is_object = not inspect.isroutine(fn) and not isinstance(fn, functools.partial)
    return Subject(
        function=function,
        name=type(fn).__name__ if is_object else function.__name__,
        doc=_doc(fn if is_object else function, function),
        parameters=tuple(_parameter(each, function) for each in given),
        returns=returns,
        returns_problem=problem,
        open_keywords=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in given),
        settled=settled,
        is_async=_is_async(fn),
        problems=_problems(fn, function, given[0] if given else None),
    )


def _returns(signature: inspect.Signature, function: Any) -> tuple[Any, str | None]:
    if signature.return_annotation is inspect.Signature.empty:
        return MISSING_HINT, None
    try:
        return _resolve(signature.return_annotation, function), None
    except Unsupported as error:
        return MISSING_HINT, str(error)
