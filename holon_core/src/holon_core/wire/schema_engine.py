"""Checking values against schemas: one validator a schema, kept by digest, within a budget."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from holon_core.wire.dialects import dialect_of
from holon_core.wire.engine import EngineRefused, SchemaError, engine
from holon_core.wire.schema_cost import cost, measure
from holon_core.wire.schema_graph import SchemaGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_core.wire.engine import Engine

# Below this many applications along one path the size of a call's value bounds the cost.
_LIGHT = 500
# What saying where a value is wrong may cost; an engine builds far more then.
_ALL_ERRORS, _FIRST_ERROR = 5_000, 200_000
_KEPT = 4_096

_OVER = SchemaError(
    path="", rule="schema_limit", message="checking a value of this size costs more than the budget"
)
_SOMEWHERE = SchemaError(
    path="", rule="schema", message="the value does not fit; finding the place costs too much"
)


class SchemaValidator:
    """Checks values against one admitted schema.

    Values have to be normalised (``values.normalise``): engines are native code and trust
    that a value is JSON and at most 128 deep.
    """

    def __init__(self, schema: Any, *, engine: Engine) -> None:
        dialect = dialect_of(schema)
        if dialect is None:
            raise EngineRefused("unknown dialect", "/$schema")
        graph = SchemaGraph(schema, dialect)
        self._engine = engine
        self._cost = cost(graph)
        self._longest = _longest(graph) if engine.backtracks else None
        self._light = engine.remembers and self._cost.paths <= _LIGHT
        self._compiled = engine.compile(schema, dialect)

    def is_valid(self, value: Any) -> bool:
        """Tell whether a value fits; one that costs more than the budget does not."""
        return (self._light or self._affordable(value)) and self._compiled.is_valid(value)

    @property
    def verdict(self) -> Callable[[Any], bool]:
        """``is_valid`` without a step between, where its cost needs no looking at."""
        return self._compiled.is_valid if self._light else self.is_valid

    def errors(self, value: Any) -> tuple[SchemaError, ...]:
        """Say what is wrong with a value: nothing, or at most 20 errors.

        Where the place is too costly to find, one error of rule ``schema`` says that the value
        does not fit; where the check itself is, one of rule ``schema_limit``.
        """
        if self._light:
            if self._compiled.is_valid(value):
                return ()
        elif not self._affordable(value):
            return (_OVER,)
        elif self._compiled.is_valid(value):
            return ()
        return tuple(self._explain(value)) or (_SOMEWHERE,)

    def _affordable(self, value: Any) -> bool:
        nodes, depth = measure(value)
        if self._longest is not None and _longest_string(value) > self._longest:
            return False
        multiplied = 1 if self._engine.remembers else _power(self._cost.branching, depth)
        return nodes * self._cost.paths * multiplied <= self._engine.budget

    def _explain(self, value: Any) -> list[SchemaError]:
        nodes, depth = measure(value)
        each = self._cost.paths * _power(self._cost.branching, depth)
        if nodes * each <= _ALL_ERRORS:
            return self._compiled.errors(value)
        return self._compiled.first_error(value) if nodes * each <= _FIRST_ERROR else []


class _Cache:
    """The validators used last, by schema digest."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, SchemaValidator] = OrderedDict()
        self._lock = Lock()

    def get(self, digest: str) -> SchemaValidator | None:
        with self._lock:
            found = self._held.get(digest)
            if found is not None:
                self._held.move_to_end(digest)
            return found

    def keep(self, digest: str, validator: SchemaValidator) -> None:
        with self._lock:
            self._held[digest] = validator
            if len(self._held) > _KEPT:
                self._held.popitem(last=False)


_CACHE = _Cache()


def compiled(schema: Any, schema_digest: str) -> SchemaValidator:
    """Get the validator of an admitted schema, made at first use and kept by digest.

    Args:
        schema: What ``check_schema`` returned without errors.
        schema_digest: Its digest; two schemas must never share one.

    Raises:
        EngineRefused: The schema was never admitted.
    """
    found = _CACHE.get(schema_digest)
    if found is None:
        found = SchemaValidator(schema, engine=engine())
        _CACHE.keep(schema_digest, found)
    return found


def _power(base: int, exponent: int) -> int:
    return 1 if base <= 1 else base ** min(exponent, 64)


def _longest(graph: SchemaGraph) -> int | None:
    patterns = [p for node in graph.nodes.values() for p in _patterns(node.schema)]
    if not patterns:
        return None
    from holon_core.wire.patterns import longest_text

    return min(map(longest_text, patterns))


def _patterns(schema: dict[str, Any]) -> list[str]:
    return [
        *([schema["pattern"]] if "pattern" in schema else []),
        *schema.get("patternProperties", ()),
    ]


def _longest_string(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return max(map(_longest_string, (*value, *value.values())), default=0)
    return max(map(_longest_string, value), default=0) if isinstance(value, list) else 0
