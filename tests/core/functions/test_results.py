"""How what a function returned becomes JSON, by its declared type."""

import collections
import dataclasses
import datetime as dt
import enum
import math
import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import attrs
import pytest

from holon_core.functions.signature import describe
from support import label

UTC = dt.timezone.utc
MISSING = object()


class Colour(enum.Enum):
    RED = "red"


class Mode(str, enum.Enum):
    FAST = "fast"


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    def __str__(self) -> str:
        return "something else"


class Number(float):
    pass


@attrs.frozen
class Order:
    number: int
    placed: dt.date
    _note: str = ""
    _cache: int = attrs.field(init=False, default=7)
    total: int = attrs.field(init=False, default=9)


@attrs.frozen
class Special(Order):
    secret: str = "hidden"


@dataclasses.dataclass
class Point:
    x: float


class Movie(TypedDict, total=False):
    title: str
    shown: dt.date


class Pair(NamedTuple):
    left: int
    right: Colour


def result(hint: Any, value: Any) -> Any:
    def function(): ...

    if hint is not MISSING:
        function.__annotations__ = {"return": hint}
    shape = describe(function)
    assert shape.findings == ()
    return shape.result(value)


def inner(hint: Any, value: Any) -> Any:
    return result(hint, value)["result"]


DAY = dt.date(2026, 1, 31)
MOMENT = dt.datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
EAST = dt.timezone(dt.timedelta(hours=2))


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (str, Text("a"), "a"),
        (str, Mode.FAST, "fast"),
        (int, Level.LOW, 1),
        (float, Number(1.5), 1.5),
        (Any, (1, [2, (3,)]), [1, [2, [3]]]),
        (Any, collections.OrderedDict(a=Text("b")), {"a": "b"}),
        (MISSING, {Mode.FAST: 1}, {"fast": 1}),
        (Colour, Colour.RED, "red"),
        (Literal[Colour.RED, "x"], Colour.RED, "red"),
        (dt.date, DAY, "2026-01-31"),
        (dt.datetime, MOMENT, "2026-01-31T09:30:00Z"),
        (dt.datetime, MOMENT.astimezone(EAST), "2026-01-31T11:30:00+02:00"),
        (dt.time, dt.time(9, 30, 0, 5, tzinfo=UTC), "09:30:00.000005Z"),
        (uuid.UUID, uuid.UUID(int=10), "00000000-0000-0000-0000-00000000000a"),
        (Decimal, Decimal("1E+3"), "1000"),
        (Path, Path("a/b"), "a/b"),
        (set[int], {10, 9, 1}, [1, 9, 10]),
        (set[Any], {"b", "a", 1}, ["a", "b", 1]),
        (frozenset[Colour], frozenset({Colour.RED}), ["red"]),
        (tuple[int, Colour], (1, Colour.RED), [1, "red"]),
        (tuple[dt.date, ...], (DAY, DAY), ["2026-01-31", "2026-01-31"]),
        (list[set[int]], [{2, 1}], [[1, 2]]),
        (Sequence[dt.date], collections.deque([DAY]), ["2026-01-31"]),
        (Iterable[int], {1: "a"}.keys(), [1]),
        (dt.date | Order | None, DAY, "2026-01-31"),
        (list[dt.date] | list[Colour], [Colour.RED], ["red"]),
        (str | Colour, Colour.RED, "red"),
        (Any | Colour, Colour.RED, "red"),
        (Colour | list[int], [1], [1]),
        (Movie | dict[str, Colour], {"shown": DAY}, {"shown": "2026-01-31"}),
        (Movie | dict[str, Colour], {"x": Colour.RED}, {"x": "red"}),
    ],
    ids=label,
)
def test_a_result_is_converted_by_its_declared_type(hint, value, expected):
    """Each type has one JSON form, made of JSON's own types alone."""
    made = inner(hint, value)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (Order, Order(1, DAY, "n"), {"number": 1, "placed": "2026-01-31", "note": "n", "total": 9}),
        (Order, Special(1, DAY), {"number": 1, "placed": "2026-01-31", "note": "", "total": 9}),
        (Point, Point(1.5), {"x": 1.5}),
        (Movie, {"shown": DAY}, {"shown": "2026-01-31"}),
        (Pair, Pair(1, Colour.RED), {"left": 1, "right": "red"}),
        (dict[str, Order], {}, {}),
        (dict[Colour, dt.date], {Colour.RED: DAY}, {"red": "2026-01-31"}),
        (dict[str, set[int]], collections.defaultdict(set, a={2, 1}), {"a": [1, 2]}),
    ],
    ids=label,
)
def test_an_object_shows_its_declared_fields_alone(hint, value, expected):
    """Neither a subclass's fields nor private ones leave with a result."""
    assert result(hint, value) == expected


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, "three"),
        (Colour, "red"),
        (dt.date, "2026-01-31"),
        (list[dt.date], "2026-01-31"),
        (set[int], [2, 1]),
        (tuple[int, int], [1]),
        (tuple[int, int], (1, 2, 3)),
        (dict[str, dt.date], ["a"]),
        (Colour | dt.date, 3),
        (Sequence[str], "text"),
        (float, math.inf),
        (str, None),
    ],
    ids=label,
)
def test_a_result_that_is_json_already_is_left_to_the_schema(hint, value):
    """JSON of the wrong shape comes out as it is, for the output schema to refuse with a path."""
    made = result(hint, value)
    made = made.get("result", made) if isinstance(made, dict) else made
    assert made == (list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (MISSING, DAY, "date has no JSON form here; annotate what the function returns"),
        (Any, {1, 2}, "set has no JSON form here"),
        (Any, b"x", "bytes has no JSON form"),
        (Any, Colour.RED, "Colour has no JSON form"),
        (Any, Pair(1, Colour.RED), "Pair has no JSON form"),
        (Any, {1: 2}, "a key of type int in a JSON object"),
        (str, DAY, "date has no JSON form"),
        (list[int], [object()], "object has no JSON form"),
        (list[int], (number for number in [1]), "generator has no JSON form"),
        (Iterable[int], (number for number in [1]), "generator has no JSON form"),
        (Order, Point(1), "Point has no JSON form"),
        (Movie, [DAY], "date has no JSON form"),
        (Movie, {"other": DAY}, "date has no JSON form"),
        (dt.date, MOMENT, "datetime has no JSON form"),
        (dt.datetime, MOMENT.replace(tzinfo=None), "a datetime without an offset"),
        (dt.time, dt.time(9, 30), "a time without an offset"),
        (Decimal, Decimal("NaN"), "a Decimal that is not finite"),
        (Decimal, Decimal("1E+999999999"), "too wide to write in full"),
        (Colour, Mode, "EnumMeta has no JSON form|EnumType has no JSON form"),
        (Colour, [Level], "has no JSON form"),
        (int | Colour, DAY, "date has no JSON form"),
    ],
    ids=label,
)
def test_a_result_without_a_json_form_is_a_type_error(hint, value, text):
    """Nothing is written out by a guess: what no declared type describes is refused by name."""
    with pytest.raises(TypeError, match=text):
        result(hint, value)


@pytest.mark.parametrize("hint", [Any, dict[str, Any], list[Any]], ids=label)
def test_a_result_that_contains_itself_is_a_type_error(hint):
    """An endless result ends as a refusal, not as a crash."""
    endless: Any = {} if hint == dict[str, Any] else []
    if isinstance(endless, dict):
        endless["again"] = endless
    else:
        endless.append(endless)
    with pytest.raises(TypeError, match="contains itself"):
        result(hint, endless)


def test_a_result_is_a_copy():
    """What the function keeps and changes later does not change its recorded output."""
    kept = {"a": [1]}
    made = result(dict[str, Any], kept)
    kept["a"].append(2)
    assert made == {"a": [1]}
