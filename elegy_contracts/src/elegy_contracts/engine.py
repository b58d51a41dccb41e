"""Checking data against the schemas, by the fast engine where it is there; paths in every error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from elegy_contracts.finding import Finding, pointer
from elegy_contracts.shapes import schema

MAX_ERRORS = 100
MAX_MESSAGE = 300

Errors = Callable[[Any], Iterator[tuple[str, str]]]


def findings(contract: str, data: Any) -> list[Finding]:
    """Return what breaks the schema of a contract, each place with its path.

    Args:
        contract: A name of ``shapes.names()``.
        data: JSON, already strictly read.

    Raises:
        KeyError: No contract has this name.
    """
    return [
        Finding(code="schema", message=message[:MAX_MESSAGE], path=path)
        for (path, message), _ in zip(_checker(contract)(data), range(MAX_ERRORS), strict=False)
    ]


@lru_cache(maxsize=256)
def _checker(contract: str) -> Errors:
    made = schema(contract)
    try:
        return _fast(made)
    except ImportError:
        return _plain(made)


def _fast(made: dict[str, Any]) -> Errors:
    import jsonschema_rs

    validator = jsonschema_rs.validator_for(made, validate_formats=True)

    def errors(data: Any) -> Iterator[tuple[str, str]]:
        if validator.is_valid(data):
            return
        for error in validator.iter_errors(data):
            yield pointer(*error.instance_path), error.message

    return errors


def _plain(made: dict[str, Any]) -> Errors:
    from jsonschema import Draft202012Validator, FormatChecker

    from elegy_contracts.repairs import as_seconds

    formats = FormatChecker(formats=())
    formats.checks("date-time", raises=(ValueError, OverflowError))(
        lambda given: not isinstance(given, str) or as_seconds(given) is not None
    )
    validator = Draft202012Validator(made, format_checker=formats)

    def errors(data: Any) -> Iterator[tuple[str, str]]:
        for error in validator.iter_errors(data):
            yield pointer(*error.absolute_path), error.message

    return errors
