"""Which schema each type hint becomes, and which hints are refused."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import types
import typing
import uuid
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
)
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import annotated_types as at
import attrs
import jsonschema_rs
import pytest
from typing_extensions import NotRequired, Required, TypeAliasType
from typing_extensions import TypedDict as BackportedTypedDict

from holon_core.functions.signature import describe
from holon_core.records.words import Severity

T = TypeVar("T")
OrderId = NewType("OrderId", str)
Alias = TypeAliasType("Alias", list[int])
Endless = NewType("Endless", int)
setattr(Endless, "__supertype__", list[Endless])  # noqa: B010 - as `type Endless = list[Endless]` of Python 3.12


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(str, enum.Enum):
    FAST = "fast"


class Mixed(enum.Enum):
    TEXT = "a"
    NUMBER = 1
    NOTHING = None


class Bits(enum.Flag):
    ONE = 1


class Odd(enum.Enum):
    PAIR = (1, 2)


class Huge(enum.Enum):
    NUMBER = 2**60


class Empty(enum.Enum):
    pass


@attrs.frozen
class Item:
    """One line of an order.

    Attributes:
        sku: What is bought.
    """

    sku: str
    count: int = 1
    colour: Colour = Colour.RED
    tags: list[str] = attrs.field(factory=list, metadata={"description": "Free words."})
    _secret: int = 0
    total: int = attrs.field(init=False, default=0)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    names: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Node:
    value: int
    next: Optional["Node"] = None


@dataclasses.dataclass
class Left:
    right: Optional["Right"] = None


@dataclasses.dataclass
class Right:
    left: Left | None = None


@dataclasses.dataclass
class Segment:
    start: Point
    end: Point


@dataclasses.dataclass
class Holder:
    """Holds."""

    point: Annotated[Point, "Where it is."]


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Loose(BackportedTypedDict, total=False):
    title: Required[str]
    year: int


class Pair(NamedTuple):
    left: int
    right: str = "x"


@dataclasses.dataclass
class Box(Generic[T]):
    content: T


@dataclasses.dataclass
class Late:
    start: dataclasses.InitVar[int]


@dataclasses.dataclass
class Timed:
    wait: dt.timedelta


@dataclasses.dataclass
class Lost:
    where: "Nowhere"  # type: ignore[name-defined] # noqa: F821


class Plain:
    pass


HINTS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "None": None,
    "NoneType": type(None),
    "Any": Any,
    "object": object,
    "LiteralString": typing.LiteralString if hasattr(typing, "LiteralString") else str,
    "list": list,
    "typing.List": typing.List,  # noqa: UP006
    "list[int]": list[int],
    "typing.List[int]": typing.List[int],  # noqa: UP006
    "list[list[str]]": list[list[str]],
    "set[str]": set[str],
    "frozenset[int]": frozenset[int],
    "set": set,
    "Set[int]": AbstractSet[int],
    "MutableSet[int]": MutableSet[int],
    "tuple": tuple,
    "tuple[int, str]": tuple[int, str],
    "tuple[int, ...]": tuple[int, ...],
    "tuple[()]": tuple[()],
    "Sequence[int]": Sequence[int],
    "MutableSequence[int]": MutableSequence[int],
    "Iterable[str]": Iterable[str],
    "Collection": Collection,
    "dict": dict,
    "dict[str, int]": dict[str, int],
    "dict[str, Any]": dict[str, Any],
    "Mapping[str, list[int]]": Mapping[str, list[int]],
    "MutableMapping[str, int]": MutableMapping[str, int],
    "dict[Colour, int]": dict[Colour, int],
    "dict[OrderId, int]": dict[OrderId, int],
    "Literal texts": Literal["a", "b"],
    "Literal mixed": Literal["a", 1, True, None],  # noqa: PYI061
    "Literal of an enum": Literal[Colour.RED],
    "plain enum": Colour,
    "int enum": Level,
    "str enum": Mode,
    "mixed enum": Mixed,
    "Optional[int]": Optional[int],  # noqa: UP045
    "int | None": int | None,
    "Union[int, str]": Union[int, str],  # noqa: UP007
    "nested union": int | (str | None),
    "Annotated": Annotated[str, "Who it is for."],
    "Annotated inside": list[Annotated[int, "A count."]],
    "Annotated bounds": Annotated[int, at.Ge(0), at.Lt(10), at.MultipleOf(2)],
    "Annotated interval": Annotated[float, at.Interval(gt=0, le=1)],
    "Annotated text length": Annotated[str, at.Len(1, 5)],
    "Annotated list length": Annotated[list[int], at.MaxLen(3)],
    "Annotated mapping length": Annotated[dict[str, int], at.MinLen(1)],
    "NewType": OrderId,
    "type alias": Alias,
    "datetime": dt.datetime,
    "date": dt.date,
    "time": dt.time,
    "UUID": uuid.UUID,
    "Decimal": decimal.Decimal,
    "Path": Path,
    "PurePosixPath": pathlib.PurePosixPath,
    "attrs": Item,
    "dataclass": Point,
    "recursive dataclass": Node,
    "list of a recursive dataclass": list[Node],
    "mutually recursive": Left,
    "a class used twice": Segment,
    "a described class": Holder,
    "TypedDict": Movie,
    "TypedDict, not total": Loose,
    "NamedTuple": Pair,
}
SCHEMAS = json.loads((pathlib.Path(__file__).parent / "hint_schemas.json").read_text())

REFUSED: dict[str, tuple[Any, str]] = {
    "bytes": (bytes, "bytes is not JSON"),
    "bytearray": (list[bytearray], "bytearray is not JSON"),
    "timedelta": (dt.timedelta, "timedelta has no JSON form"),
    "complex": (complex, "complex has no JSON form"),
    "plain class": (Plain, "use an attrs class, a dataclass or a TypedDict"),
    "callable": (Callable[[int], int], "Callable"),
    "iterator": (Iterator[int], "Iterator"),
    "type variable": (T, "type variable T"),
    "generic dataclass": (Box[int], "Box"),
    "generic dataclass, bare": (Box, "field content of Box: the type variable T"),
    "int keys": (dict[int, str], "keys are not text"),
    "defaultdict": (collections.defaultdict, "defaultdict has no JSON form"),
    "Counter": (collections.Counter[str], "Counter"),
    "flag": (Bits, "Bits is a flag"),
    "enum of tuples": (Odd, "Odd has a member"),
    "enum of huge numbers": (Huge, "Huge has a member"),
    "empty enum": (Empty, "Empty has no members"),
    "literal of bytes": (Literal[b"a"], "the Literal has a member"),
    "InitVar": (Late, "start as an InitVar"),
    "field of a class": (Timed, "field wait of Timed: timedelta"),
    "unresolved field": (Lost, "a type in Lost cannot be resolved: name 'Nowhere'"),
    "endless alias": (Endless, "Endless is an alias of itself"),
    "alias of a text": (TypeAliasType("Text", "list[int]"), "'list[int]' is not resolved"),
    "NoReturn": (typing.NoReturn, "NoReturn has no JSON form"),
    "Self-made marker": (Required[int], "has no JSON form"),
}


def function_of(hint: Any, *, returns: Any = None) -> Any:
    def tool(value):
        return value

    tool.__annotations__ = {"value": hint, "return": returns}
    return tool


def test_the_table_of_schemas_covers_the_table_of_hints():
    """No hint is without its expected schema, no schema without its hint."""
    assert list(SCHEMAS) == list(HINTS)


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_becomes_its_schema(name):
    """The schema of a parameter is the one in the table, and definitions stand beside."""
    shape = describe(function_of(HINTS[name]))
    schema = shape.input_schema
    assert shape.findings == ()
    assert (schema["required"], schema["additionalProperties"]) == (["value"], False)
    expected = dict(SCHEMAS[name])
    assert schema.get("$defs", {}) == expected.pop("$defs", {})
    assert schema["properties"]["value"] == expected


@pytest.mark.parametrize("name", HINTS)
def test_every_derived_schema_is_a_valid_one(name):
    """Input and output schemas of each hint satisfy the meta-schema of 2020-12."""
    shape = describe(function_of(HINTS[name], returns=HINTS[name]))
    assert shape.findings == ()
    jsonschema_rs.meta.validate(shape.input_schema)
    jsonschema_rs.meta.validate(shape.output_schema)


@pytest.mark.parametrize("name", REFUSED)
def test_a_hint_without_a_schema_is_a_finding_at_its_parameter(name):
    """What no schema describes is refused with the parameter's path and the reason."""
    hint, reason = REFUSED[name]
    (finding,) = describe(function_of(hint)).findings
    assert (finding.code, finding.path) == ("signature_unsupported", "/parameters/value")
    assert finding.severity is Severity.ERROR
    assert reason in finding.message


@pytest.mark.parametrize("name", REFUSED)
def test_a_result_without_a_schema_is_a_finding_at_the_return(name):
    """The same holds for what a function gives back."""
    hint, reason = REFUSED[name]
    (finding,) = describe(function_of(int, returns=hint)).findings
    assert finding.path == "/return"
    assert reason in finding.message


def test_metadata_that_says_nothing_is_a_warning():
    """A constraint that no schema holds is not dropped in silence."""
    shape = describe(function_of(Annotated[int, at.Predicate(bool), "A count."]))
    (finding,) = shape.findings
    assert finding.severity is Severity.WARNING
    assert finding.message == "metadata of type Predicate says nothing to a schema"
    assert shape.input_schema["properties"]["value"]["description"] == "A count."


def test_a_bound_on_another_type_than_its_own_is_a_warning():
    """Neither a length of an integer says anything, nor a class, nor a bound that is no number."""
    for hint in (
        Annotated[int, at.Len(1, 2)],
        Annotated[int, at.Ge],
        Annotated[dt.date, at.Ge(dt.date(2026, 1, 1))],
    ):
        (finding,) = describe(function_of(hint)).findings
        assert finding.severity is Severity.WARNING


def test_fields_that_a_class_sets_itself_are_in_results_only():
    """A field without a place in the constructor is no argument, but part of the result."""
    shape = describe(function_of(Item, returns=Item))
    assert "total" not in shape.input_schema["properties"]["value"]["properties"]
    assert "total" in shape.output_schema["properties"]
    assert shape.output_schema["required"] == ["sku", "count", "colour", "tags", "secret", "total"]


def test_a_recursive_result_is_an_object_at_the_top():
    """A top that would be a bare reference is opened, so that its type can be read."""
    schema = describe(function_of(int, returns=Node)).output_schema
    assert schema["type"] == "object"
    assert schema["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"] == schema["properties"]


def test_two_classes_of_one_name_have_two_definitions():
    """A definition's name is never shared by two classes."""
    other = dataclasses.make_dataclass("Node", [("children", "list[Node]")])
    other.__annotations__ = {"children": types.GenericAlias(list, (other,))}
    schema = describe(function_of(types.GenericAlias(tuple, (Node, other)))).input_schema
    assert sorted(schema["$defs"]) == ["Node", "Node_2"]
    assert "value" in schema["$defs"]["Node"]["properties"]
    assert "children" in schema["$defs"]["Node_2"]["properties"]


def test_a_local_class_may_name_itself():
    """A class inside a function resolves its own name."""

    @dataclasses.dataclass
    class Tree:
        branches: "list[Tree]"

    shape = describe(function_of(Tree))
    assert shape.findings == ()
    assert shape.bind({"value": {"branches": [{"branches": []}]}}) == {"value": Tree([Tree([])])}


def test_an_attrs_field_may_state_its_type_outside_the_annotations():
    """The old spelling of a field's type is read; without any type every JSON is accepted."""
    cls = attrs.make_class("Old", {"count": attrs.field(type=int), "rest": attrs.field()})
    schema = describe(function_of(cls)).input_schema["properties"]["value"]
    assert schema["properties"] == {"count": {"type": "integer"}, "rest": {}}
