"""For any type that a hint can state: JSON, Python and the schema agree with one another."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import keyword
import uuid
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import GenericAlias
from typing import Any, Literal, NamedTuple, TypedDict, Union

import attrs
import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from holon_core.functions.codec import ArgumentRefused
from holon_core.functions.hints import Compiler
from holon_core.functions.signature import describe


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Kind(NamedTuple):
    """A hint, a strategy of its values, and the kinds of JSON that they become."""

    hint: Any
    values: st.SearchStrategy[Any]
    json_kinds: frozenset[str]


def kind(hint: Any, values: st.SearchStrategy[Any], *names: str) -> Kind:
    return Kind(hint, values, frozenset(names))


def generic(of: Any, arguments: Any) -> Any:
    return of[arguments]


texts = st.text(max_size=5)
integers = st.integers(-(2**53) + 1, 2**53 - 1)
fractions = st.floats(-1e9, 1e9).filter(lambda number: not number.is_integer())
zones = st.integers(-1439, 1439).map(lambda m: dt.timezone(dt.timedelta(minutes=m)))
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3) | st.sampled_from(
    [decimal.Decimal("1E+20"), decimal.Decimal("-0"), decimal.Decimal("1E-20")]
)
scalars = st.sampled_from(
    [
        kind(str, texts, "text"),
        kind(int, integers, "number"),
        kind(float, fractions, "number"),
        kind(bool, st.booleans(), "boolean"),
        kind(None, st.none(), "null"),
        kind(Colour, st.sampled_from(Colour), "text"),
        kind(Level, st.sampled_from(Level), "number"),
        kind(Literal["a", 7, True], st.sampled_from(["a", 7, True]), "text", "number", "boolean"),
        kind(dt.date, st.dates(), "text"),
        kind(dt.datetime, st.datetimes(timezones=zones), "text"),
        kind(dt.time, st.times(timezones=zones), "text"),
        kind(uuid.UUID, st.uuids(), "text"),
        kind(decimal.Decimal, decimals, "text"),
        kind(
            PurePosixPath, st.lists(st.sampled_from("abc")).map(lambda p: PurePosixPath(*p)), "text"
        ),
    ]
)
names = st.from_regex("[a-z][a-z0-9]{0,3}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name) and name not in ("self", "cls")
)


def _sets(inner: Kind) -> Kind:
    return kind(
        GenericAlias(frozenset, (inner.hint,)), st.frozensets(inner.values, max_size=3), "array"
    )


def _hashable(inner: Kind) -> bool:
    return inner.json_kinds <= {"text", "number", "boolean", "null"}


def _lists(inner: Kind) -> Kind:
    return kind(GenericAlias(list, (inner.hint,)), st.lists(inner.values, max_size=3), "array")


def _sequences(inner: Kind) -> Kind:
    return kind(generic(Sequence, inner.hint), st.lists(inner.values, max_size=3), "array")


def _tuples(inner: Kind) -> Kind:
    return kind(
        GenericAlias(tuple, (inner.hint, ...)),
        st.lists(inner.values, max_size=3).map(tuple),
        "array",
    )


def _pairs(inner: list[Kind]) -> Kind:
    hint = GenericAlias(tuple, tuple(each.hint for each in inner))
    return kind(hint, st.tuples(*(each.values for each in inner)), "array")


def _mappings(inner: Kind) -> Kind:
    return kind(
        generic(Mapping, (str, inner.hint)),
        st.dictionaries(texts, inner.values, max_size=3),
        "object",
    )


def _dataclasses(inner: dict[str, Kind]) -> Kind:
    made = dataclasses.make_dataclass("Data", [(name, each.hint) for name, each in inner.items()])
    return kind(made, st.builds(made, **{n: each.values for n, each in inner.items()}), "object")


def _attrs_classes(inner: dict[str, Kind]) -> Kind:
    made = attrs.make_class("Made", {n: attrs.field(type=e.hint) for n, e in inner.items()})
    return kind(made, st.builds(made, **{n: each.values for n, each in inner.items()}), "object")


def _typed_dicts(inner: dict[str, Kind]) -> Kind:
    made = TypedDict("Made", {name: each.hint for name, each in inner.items()})  # type: ignore[misc]
    return kind(made, st.fixed_dictionaries({n: e.values for n, e in inner.items()}), "object")


def _unions(members: list[Kind]) -> Kind:
    hint = generic(Union, tuple(each.hint for each in members))
    together = frozenset().union(*(each.json_kinds for each in members))
    return Kind(hint, st.one_of(*(each.values for each in members)), together)


def _disjoint(members: list[Kind]) -> bool:
    named = [name for each in members for name in each.json_kinds]
    return len(named) == len(set(named))


def _more(inner: st.SearchStrategy[Kind], unions: Any) -> st.SearchStrategy[Kind]:
    fields = st.dictionaries(names, inner, min_size=1, max_size=3)
    return st.one_of(
        inner.map(_lists),
        inner.map(_sequences),
        inner.filter(_hashable).map(_sets),
        inner.map(_tuples),
        st.lists(inner, max_size=3).map(_pairs),
        inner.map(_mappings),
        fields.map(_dataclasses),
        fields.map(_attrs_classes),
        fields.map(_typed_dicts),
        st.lists(inner, min_size=2, max_size=3).filter(unions).map(_unions),
    )


clear_kinds = st.recursive(scalars, lambda inner: _more(inner, _disjoint), max_leaves=6)
all_kinds = st.recursive(scalars, lambda inner: _more(inner, bool), max_leaves=6)
document = st.recursive(
    st.none() | st.booleans() | integers | fractions | texts | st.sampled_from(["red", "a", 1, 7]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | texts, inner, max_size=3),
    max_leaves=8,
)


def function_of(hint: Any) -> Any:
    def tool(value):
        return value

    tool.__annotations__ = {"value": hint, "return": hint}
    return tool


def validator(schema: Any) -> Any:
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def same(left: Any, right: Any) -> bool:
    """Compare JSON values, with True and 1 apart."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@given(st.data())
def test_what_a_function_returns_comes_back_as_the_same_value(data):
    """A value's JSON fits both schemas, binds to an equal value, and that gives the same JSON."""
    given_kind = data.draw(clear_kinds)
    value = data.draw(given_kind.values)
    shape = describe(function_of(given_kind.hint))
    assert shape.findings == ()

    output = shape.result(value)
    validator(shape.output_schema).validate(output)
    wrapped = shape.output_schema.get("properties", {}).keys() == {"result"}
    sent = output["result"] if wrapped else output
    arguments = {"value": sent}
    validator(shape.input_schema).validate(arguments)
    bound = shape.bind(arguments)

    assert bound == {"value": value}
    assert type(bound["value"]) is type(value)
    assert same(shape.result(bound["value"]), output)


def codec_and_json(data: st.DataObject) -> tuple[Any, Any, Any]:
    """Draw a type's codec and schema, and JSON that fits it, nearly fits it, or does not."""
    given_kind = data.draw(all_kinds)
    compiler = Compiler(output=False)
    codec = compiler.codec(given_kind.hint)
    fitting = given_kind.values.map(codec.to_json)
    near = st.tuples(fitting, document).map(lambda both: mixed(*both))
    sent = data.draw(fitting | near | document)
    return codec, compiler.definitions.finish({"properties": {"it": codec.schema}}), sent


def mixed(fitting: Any, other: Any) -> Any:
    """Put something else into the first place of a value that fits."""
    if isinstance(fitting, list) and fitting:
        return [mixed(fitting[0], other), *fitting[1:]]
    if isinstance(fitting, dict) and fitting:
        first, *rest = fitting
        return {first: mixed(fitting[first], other), **{name: fitting[name] for name in rest}}
    return other


@given(st.data())
def test_the_test_that_picks_a_member_agrees_with_the_schema(data):
    """A union's choice and the schema engine accept the same JSON."""
    codec, schema, sent = codec_and_json(data)
    assert codec.match(sent) is validator(schema).is_valid({"it": sent})


@given(st.data())
def test_a_value_is_never_coerced(data):
    """Whatever is sent is refused, or bound to what gives exactly the same JSON back."""
    codec, _, sent = codec_and_json(data)
    try:
        bound = codec.load(sent) if codec.load else sent
    except ArgumentRefused:
        assert not codec.match(sent)
        return
    assert unordered(codec.to_json(bound)) == unordered(sent)


def unordered(value: Any) -> str:
    """Write a JSON value so that neither a set's order nor a path's spelling counts."""
    if isinstance(value, list):
        return json.dumps(sorted(map(unordered, value)))
    if isinstance(value, dict):
        return json.dumps({key: unordered(item) for key, item in value.items()}, sort_keys=True)
    return json.dumps(str(PurePosixPath(value)) if isinstance(value, str) else value)
