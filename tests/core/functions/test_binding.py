"""How arguments become Python values, and what is refused on the way."""

import dataclasses
import datetime as dt
import enum
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import attrs
import pytest

from holon_core.functions.codec import ArgumentRefused
from holon_core.functions.signature import describe
from support import label

UTC = dt.timezone.utc


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@attrs.frozen
class Order:
    number: int = attrs.field(validator=attrs.validators.ge(1))
    placed: dt.date
    _note: str = ""


@dataclasses.dataclass
class Cat:
    lives: int


@dataclasses.dataclass
class Dog:
    name: str
    lives: int = 1


class Movie(TypedDict):
    title: str
    shown: dt.date


class Pair(NamedTuple):
    left: int
    right: str = "x"


def bind(hint: Any, sent: Any) -> Any:
    def function(value): ...

    function.__annotations__ = {"value": hint}
    shape = describe(function)
    assert shape.findings == ()
    return shape.bind({"value": sent})["value"]


@pytest.mark.parametrize(
    ("hint", "sent", "bound"),
    [
        (dt.date, "2026-01-31", dt.date(2026, 1, 31)),
        (dt.datetime, "2026-01-31T09:30:00Z", dt.datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        (
            dt.datetime,
            "2026-01-31t09:30:00.1200000z",
            dt.datetime(2026, 1, 31, 9, 30, 0, 120000, tzinfo=UTC),
        ),
        (
            dt.datetime,
            "2026-01-31T09:30:00-01:30",
            dt.datetime(2026, 1, 31, 9, 30, tzinfo=dt.timezone(-dt.timedelta(minutes=90))),
        ),
        (dt.time, "09:30:00Z", dt.time(9, 30, tzinfo=UTC)),
        (uuid.UUID, "00000000-0000-0000-0000-00000000000A", uuid.UUID(int=10)),
        (Decimal, "-1.50", Decimal("-1.50")),
        (Path, "a/b", Path("a/b")),
        (Colour, "red", Colour.RED),
        (Level, 1, Level.LOW),
        (Literal[Colour.RED, 3], "red", Colour.RED),
        (set[int], [1, 2], {1, 2}),
        (tuple[int, Colour], [1, "red"], (1, Colour.RED)),
        (dict[Colour, dt.date], {"red": "2026-01-31"}, {Colour.RED: dt.date(2026, 1, 31)}),
        (
            Order,
            {"number": 1, "placed": "2026-01-31", "note": "n"},
            Order(1, dt.date(2026, 1, 31), "n"),
        ),
        (
            Movie,
            {"title": "M", "shown": "2026-01-31"},
            Movie(title="M", shown=dt.date(2026, 1, 31)),
        ),
        (Pair, {"left": 1}, Pair(1)),
        (float, 1, 1),
    ],
    ids=label,
)
def test_an_argument_becomes_the_value_of_its_type(hint, sent, bound):
    """Each type is made from its JSON form, and is of exactly that type."""
    made = bind(hint, sent)
    assert made == bound
    assert type(made) is type(bound)


@pytest.mark.parametrize(
    ("hint", "sent", "bound"),
    [
        (Cat | Dog, {"lives": 1}, Cat(1)),
        (Cat | Dog, {"name": "d", "lives": 1}, Dog("d", 1)),
        (Dog | Cat, {"name": "d"}, Dog("d")),
        (list[Cat] | list[Dog], [{"name": "d"}], [Dog("d")]),
        (dt.date | str, "2026-01-31", dt.date(2026, 1, 31)),
        (dt.date | str, "2026-02-31", "2026-02-31"),
        (str | dt.date, "2026-01-31", "2026-01-31"),
        (Level | bool, True, True),
        (Level | bool, 1, Level.LOW),
        (uuid.UUID | int | None, 1, 1),
        (Order | None, None, None),
        (tuple[Colour, int] | list[int], [1, 2], [1, 2]),
        (dict[str, Colour] | Cat, {"lives": 1}, Cat(1)),
        (int | str, "1", "1"),
    ],
    ids=label,
)
def test_the_member_of_a_union_that_fits_exactly_is_taken(hint, sent, bound):
    """The first member whose schema holds makes the value; none is tried by coercing."""
    made = bind(hint, sent)
    assert made == bound
    assert type(made) is type(bound)


@pytest.mark.parametrize(
    ("hint", "sent", "path", "text"),
    [
        (dt.date, "2026-02-31", "/value", "not a date of the calendar"),
        (dt.date, "20260131", "/value", "not a date as RFC 3339 writes it"),
        (dt.date, "2026-01-31\n", "/value", "not a date"),
        (dt.date, 20260131, "/value", "a text is needed"),
        (dt.datetime, "2026-01-31T09:30:00", "/value", "not a date and time with its offset"),
        (dt.datetime, "2026-01-31T23:59:60Z", "/value", "not a time that Python can hold"),
        (dt.datetime, "2026-01-31T09:30:00+24:00", "/value", "not a time that Python can hold"),
        (dt.datetime, "2026-01-31T09:30:00.0000001Z", "/value", "finer than microseconds"),
        (uuid.UUID, "{00000000-0000-0000-0000-00000000000a}", "/value", "not a UUID"),
        (Decimal, "1e9", "/value", "not a decimal number"),
        (Decimal, "NaN", "/value", "not a decimal number"),
        (Decimal, "1\n", "/value", "not a decimal number"),
        (Colour, "blue", "/value", "not one of the values of Colour"),
        (Colour, ["red"], "/value", "not one of the values of Colour"),
        (Level, True, "/value", "not one of the values of Level"),
        (list[dt.date], ["2026-01-31", "x"], "/value/1", "not a date"),
        (list[dt.date], "x", "/value", "an array is needed"),
        (set[Any], [1, True], "/value", "two items that Python holds for equal"),
        (set[Path], ["a", "./a"], "/value", "two items that Python holds for equal"),
        (set[Any], [[1]], "/value", "an item that a set cannot hold"),
        (tuple[int, Colour], [1, "blue"], "/value/1", "not one of the values"),
        (tuple[int, Colour], [1], "/value", "an array of 2 items is needed"),
        (dict[str, dt.date], {"a/b": "x"}, "/value/a~1b", "not a date"),
        (dict[str, dt.date], [], "/value", "an object is needed"),
        (dict[Colour, int], {"blue": 1}, "/value/blue", "not one of the values"),
        (dict[Path, int], {"a": 1, "./a": 2}, "/value", "two keys that Python holds for equal"),
        (Order, {"number": 1, "placed": "x"}, "/value/placed", "not a date"),
        (Order, {"number": 1, "at~": 1}, "/value/at~0", "Order has no such field"),
        (Order, {"number": 1}, "/value", "Order refuses the values (TypeError)"),
        (Order, {"number": 0, "placed": "2026-01-31"}, "/value", "Order refuses the values (Value"),
        (Order, 3, "/value", "an object is needed for Order"),
        (list[Order], [{"number": 1, "placed": "x"}], "/value/0/placed", "not a date"),
        (dt.date | int, True, "/value", "fits no member of the union"),
        (Cat | Dog, {"lives": 1, "age": 2}, "/value", "fits no member of the union"),
    ],
    ids=label,
)
def test_a_value_that_the_type_cannot_hold_is_refused_at_its_path(hint, sent, path, text):
    """What passes a schema but not Python, and what never passed, is refused without its value."""
    with pytest.raises(ArgumentRefused) as caught:
        bind(hint, sent)
    assert caught.value.path == path
    assert text in caught.value.message
    assert str(caught.value) == f"{caught.value.message} at {path}"


def test_the_reason_of_a_class_stays_behind_the_refusal():
    """What a constructor said may hold the value: it is the cause, not the message."""
    with pytest.raises(ArgumentRefused) as caught:
        bind(list[Order], [{"number": -77, "placed": "2026-01-31"}])
    assert "-77" not in str(caught.value)
    assert "-77" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "hint", [str, int, bool, list[str], dict[str, int], Any, Literal["a"]], ids=label
)
def test_a_plain_parameter_is_handed_over_as_it_is(hint):
    """What needs no conversion gets none, not even of a wrong value."""
    sent = ["x"]
    assert bind(hint, sent) is sent


def test_binding_leaves_the_arguments_alone():
    """The arguments that evidence shows are not the dict that the function gets."""

    def function(day: dt.date, other: int = 0): ...

    arguments = {"day": "2026-01-31"}
    assert describe(function).bind(arguments) == {"day": dt.date(2026, 1, 31)}
    assert arguments == {"day": "2026-01-31"}


def test_a_recursive_class_is_made_from_its_depth():
    """A tree of objects becomes a tree of the class."""

    @dataclasses.dataclass
    class Tree:
        branches: "list[Tree]"
        day: dt.date | None = None

    made = bind(Tree, {"branches": [{"branches": [], "day": "2026-01-31"}]})
    assert made == Tree([Tree([], dt.date(2026, 1, 31))])
    with pytest.raises(ArgumentRefused) as caught:
        bind(Tree, {"branches": [{"branches": [{"branches": [], "day": 1}]}]})
    assert caught.value.path == "/value/branches/0/branches/0/day"
