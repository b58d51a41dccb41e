"""Portable Elegy contracts: types, schemas, validation, canonical form, argument templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elegy_contracts.finding import ContractError, Finding, Severity
    from elegy_contracts.model import UNSET, Unset
    from elegy_contracts.portable import host_only
    from elegy_contracts.reading import Reading, examine, read, write
    from elegy_contracts.recognising import recognise
    from elegy_contracts.shapes import names, schema
    from elegy_contracts.strict import canonical, parse
    from elegy_contracts.templates import Invocation, TemplateError, render

# Name to module: loaded when first asked for, so that importing the package costs next to nothing.
_HOMES = {
    "ContractError": "finding",
    "Finding": "finding",
    "Invocation": "templates",
    "Reading": "reading",
    "Severity": "finding",
    "TemplateError": "templates",
    "UNSET": "model",
    "Unset": "model",
    "canonical": "strict",
    "examine": "reading",
    "host_only": "portable",
    "names": "shapes",
    "parse": "strict",
    "read": "reading",
    "recognise": "recognising",
    "render": "templates",
    "schema": "shapes",
    "write": "reading",
}

__all__ = [
    "ContractError",
    "Finding",
    "Invocation",
    "Reading",
    "Severity",
    "TemplateError",
    "UNSET",
    "Unset",
    "canonical",
    "examine",
    "host_only",
    "names",
    "parse",
    "read",
    "recognise",
    "render",
    "schema",
    "write",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
