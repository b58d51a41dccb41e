"""The JSON Schema engine that decides: jsonschema-rs, offline."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import jsonschema_rs

from holon_core.wire.engine import MOST_ERRORS, Compiled, EngineRefused, SchemaError
from holon_core.wire.faults import pointer
from holon_core.wire.format_names import UNASSERTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holon_core.wire.dialects import Dialect

_MASK = "the value"
_BACKTRACKS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)
_LEFT_ALONE = dict.fromkeys(UNASSERTED, lambda _: True)
_Kind = jsonschema_rs.ValidationErrorKind
_LIMITS = (_Kind.BacktrackLimitExceeded, _Kind.RegexEngineFailure)
# Their messages name the properties that are too many.
_NAMING = (_Kind.AdditionalProperties, _Kind.UnevaluatedProperties)
_MOST = 300


class RustEngine:
    """jsonschema-rs with formats asserted, patterns bounded and retrieval refused."""

    budget = 40_000_000
    remembers = True
    backtracks = False

    def schema_errors(self, schema: Any, dialect: Dialect) -> list[SchemaError]:
        """See ``Engine``."""
        return _reported(_meta_schema(dialect.uri).iter_errors(schema))

    def compile(self, schema: Any, dialect: Dialect) -> Compiled:
        """See ``Engine``."""
        if isinstance(schema, dict) and "$schema" not in schema:
            schema = {"$schema": dialect.uri, **schema}
        try:
            return _RustCompiled(
                jsonschema_rs.validator_for(
                    schema,
                    validate_formats=True,
                    formats=_LEFT_ALONE,
                    retriever=_refuse,
                    mask=_MASK,
                    pattern_options=_BACKTRACKS,
                )
            )
        except jsonschema_rs.ValidationError as error:
            raise EngineRefused(_short(error.message), pointer(error.instance_path)) from None


class _RustCompiled:
    def __init__(self, validator: jsonschema_rs.Validator) -> None:
        self.is_valid = validator.is_valid
        self._validator = validator

    def errors(self, value: Any) -> list[SchemaError]:
        return _reported(self._validator.iter_errors(value))

    def first_error(self, value: Any) -> list[SchemaError]:
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return _reported([error])
        return []


@cache
def _meta_schema(uri: str) -> jsonschema_rs.Validator:
    uri += "#" if uri.startswith("http:") else ""
    schema = {"$schema": uri, "$ref": uri}
    return jsonschema_rs.validator_for(
        schema, offline=True, mask=_MASK, validate_formats=True, formats=_LEFT_ALONE
    )


def _refuse(uri: str) -> NoReturn:
    raise LookupError(uri)


def _reported(errors: Iterable[jsonschema_rs.ValidationError]) -> list[SchemaError]:
    return [_error(error) for error in islice(errors, MOST_ERRORS)]


def _error(error: jsonschema_rs.ValidationError) -> SchemaError:
    path = pointer(error.instance_path)
    if isinstance(error.kind, _LIMITS):
        message = "the pattern takes too long on this value"
        return SchemaError(path=path, rule="schema_limit", message=message)
    return SchemaError(path=path, rule=error.kind.name, message=_message(error))


def _message(error: jsonschema_rs.ValidationError) -> str:
    """Take the engine's words, unless they quote a name where nobody looks for one."""
    if isinstance(error.kind, _Kind.PropertyNames):
        return f"the name of a property breaks {error.kind.error.kind.name}"
    if isinstance(error.kind, _NAMING) and len(error.message) > _MOST:
        # Without the names: a part of one could be taken for no secret.
        return error.message.partition(" (")[0]
    return _short(error.message)


def _short(message: str) -> str:
    return message if len(message) <= _MOST else message[:_MOST] + "…"
