"""What a JSON Schema engine has to offer, and which one is used."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from holon_core.records.base import Record

if TYPE_CHECKING:
    from holon_core.wire.dialects import Dialect

# Errors reported of one value or schema.
MOST_ERRORS = 20


@frozen(kw_only=True, eq=False, repr=False)
class SchemaError(Record):
    """One rule of a schema that a value breaks.

    ``path`` is a JSON pointer into the value, ``rule`` the keyword (or ``schema_limit`` where
    a budget ended the check), ``message`` names the rule and never quotes the value. The names
    of properties are no values: ``path`` holds them, and so may ``message``, whole, of a property
    that is one too many. ``schema_telling`` leaves out those that a schema marks secret.
    """

    path: str
    rule: str
    message: str


class EngineRefused(Exception):
    """The engine cannot compile a schema; ``path`` is a JSON pointer into it."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message, path)
        self.message, self.path = message, path


class Compiled(Protocol):
    """A schema, ready to check values."""

    def is_valid(self, value: Any) -> bool:
        """Tell whether the value fits."""
        ...

    def errors(self, value: Any) -> list[SchemaError]:
        """Say what is wrong with an unfit value, at most ``MOST_ERRORS`` times."""
        ...

    def first_error(self, value: Any) -> list[SchemaError]:
        """Say one thing that is wrong with an unfit value, at less cost."""
        ...


class Engine(Protocol):
    """Compiles and checks schemas without ever opening a file or a connection."""

    # Applications of a schema that a call may cost, about one second.
    budget: int
    # Whether checking remembers what it did, so that a recursion cannot multiply.
    remembers: bool
    # Whether every pattern is matched by trying, so that hostile ones have to be refused.
    backtracks: bool

    def schema_errors(self, schema: Any, dialect: Dialect) -> list[SchemaError]:
        """Check a schema against the meta-schema of its dialect."""
        ...

    def compile(self, schema: Any, dialect: Dialect) -> Compiled:
        """Make a schema ready.

        Raises:
            EngineRefused: The engine cannot use it.
        """
        ...


@cache
def engine() -> Engine:
    """Choose the engine: jsonschema-rs, or jsonschema where that cannot be imported."""
    try:
        from holon_core.wire.engine_rs import RustEngine
    except ImportError:
        from holon_core.wire.engine_py import PythonEngine

        return PythonEngine()
    return RustEngine()
