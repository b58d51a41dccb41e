"""The JSON Schema engine where jsonschema-rs cannot be imported: jsonschema, offline."""

from __future__ import annotations

from copy import deepcopy
from itertools import islice
from json import dumps
from typing import TYPE_CHECKING, Any

from jsonschema import FormatChecker, validators
from jsonschema.exceptions import SchemaError as MetaSchemaError
from referencing import Registry

from holon_core.wire.dialects import subschemas
from holon_core.wire.engine import MOST_ERRORS, Compiled, EngineRefused, SchemaError
from holon_core.wire.faults import pointer
from holon_core.wire.formats import CHECKS
from holon_core.wire.patterns import for_python
from holon_core.wire.schema_graph import SchemaGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

    from holon_core.wire.dialects import Dialect
    from holon_core.wire.schema_graph import Node

# Empty: a reference that is not in the document is never looked for.
_REGISTRY: Registry[Any] = Registry()


class PythonEngine:
    """jsonschema with exactly the asserted formats, ECMA-262 patterns and an empty registry."""

    budget = 200_000
    remembers = False
    backtracks = True

    def schema_errors(self, schema: Any, dialect: Dialect) -> list[SchemaError]:
        """See ``Engine``."""
        kind = _kind(dialect)
        checker = kind(kind.META_SCHEMA, format_checker=_CHECKER)
        return _reported(checker.iter_errors(schema))

    def compile(self, schema: Any, dialect: Dialect) -> Compiled:
        """See ``Engine``."""
        kind: Any = _kind(dialect)
        try:
            kind.check_schema(schema, format_checker=_CHECKER)
        except MetaSchemaError as error:
            raise EngineRefused(_message(error), pointer(error.path)) from None
        prepared = deepcopy(schema)
        graph = SchemaGraph(prepared, dialect)
        for problem in graph.problems:
            raise EngineRefused(problem.message, problem.path)
        for node in graph.nodes.values():
            _prepare(node, dialect)
        return _PythonCompiled(kind(prepared, registry=_REGISTRY, format_checker=_CHECKER))


class _PythonCompiled:
    def __init__(self, validator: Validator) -> None:
        self.is_valid = validator.is_valid
        self._validator = validator

    def errors(self, value: Any) -> list[SchemaError]:
        return _reported(self._validator.iter_errors(value))

    def first_error(self, value: Any) -> list[SchemaError]:
        return _reported(islice(self._validator.iter_errors(value), 1))


def _kind(dialect: Dialect) -> type[Validator]:
    kind: type[Validator] = validators.validator_for({"$schema": dialect.uri})
    return kind


def _checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, check in CHECKS.items():
        checker.checks(name)(_on_strings(check))
    return checker


def _on_strings(check: Callable[[str], bool]) -> Callable[[object], bool]:
    return lambda value: not isinstance(value, str) or check(value)


def _prepare(node: Node, dialect: Dialect) -> None:
    """Put one schema into the form that Python's engine understands in full."""
    schema = node.schema
    try:
        if "pattern" in schema:
            schema["pattern"] = for_python(schema["pattern"])
        held = schema.get("patternProperties")
        if held is not None:
            schema["patternProperties"] = {for_python(name): held[name] for name in held}
    except ValueError as error:
        raise EngineRefused(f"not a usable pattern: {error}", node.pointer) from None
    for step, inner, _ in subschemas(schema, dialect):
        # The engine loses the place of what plain false refuses.
        if inner is False and len(step) == 2:
            schema[str(step[0])][step[1]] = {"not": {}}
    if "dependencies" in schema and "dependentSchemas" in dialect.keywords:
        schema["allOf"] = [*schema.get("allOf", ()), _split(schema["dependencies"])]


def _split(dependencies: dict[str, Any]) -> dict[str, Any]:
    names = {key: held for key, held in dependencies.items() if isinstance(held, list)}
    schemas = {key: held for key, held in dependencies.items() if key not in names}
    return {"dependentRequired": names, "dependentSchemas": schemas}


def _reported(errors: Iterable[ValidationError]) -> list[SchemaError]:
    return [_error(error) for error in islice(errors, MOST_ERRORS)]


def _error(error: ValidationError) -> SchemaError:
    rule = "falseSchema" if _is_false(error) else str(error.validator)
    return SchemaError(path=pointer(error.absolute_path), rule=rule, message=_message(error))


def _message(error: ValidationError | MetaSchemaError) -> str:
    """Say what was asked for; the engine's own text quotes the value."""
    if _is_false(error):
        return "nothing is allowed here"
    asked = dumps(error.validator_value, ensure_ascii=False)
    return (
        f"the value breaks {error.validator}: {asked if len(asked) <= 250 else asked[:250] + '…'}"
    )


def _is_false(error: ValidationError | MetaSchemaError) -> bool:
    return not error.validator or (error.validator == "not" and error.validator_value == {})


_CHECKER = _checker()
