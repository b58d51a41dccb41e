"""Signatures whose annotations are texts until somebody asks."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from typing import TypedDict

import attrs
from typing_extensions import NotRequired

from holon_core.functions.signature import describe


@attrs.frozen
class Node:
    day: dt.date
    next: Node | None = None


@dataclasses.dataclass
class Point:
    x: float


class Movie(TypedDict):
    title: str
    shown: NotRequired[dt.date]


class Desk:
    def find(self, node: Node) -> list[Point]:
        return []

    def __call__(self, node: Node) -> Movie:
        return {"title": ""}


def find(node: Node, point: Point | None = None) -> dict[str, Movie]:
    return {}


def around(fn):
    @functools.wraps(fn)
    def call(*args, **kwargs): ...

    return call


def test_postponed_annotations_are_resolved_where_the_function_lives():
    """Functions, methods, objects, partials and wrappers find the names of their own module."""
    for fn in (find, Desk().find, Desk(), functools.partial(find, point=None), around(find)):
        shape = describe(fn)
        assert shape.findings == ()
        bound = shape.bind({"node": {"day": "2026-01-31", "next": {"day": "2026-02-01"}}})
        assert bound == {"node": Node(dt.date(2026, 1, 31), Node(dt.date(2026, 2, 1)))}


def test_a_postponed_marker_of_a_typed_dict_counts():
    """The class itself misses a marker that is still text; the schema does not."""
    schema = describe(find).output_schema["additionalProperties"]
    assert schema["required"] == ["title"]
