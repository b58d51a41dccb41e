"""Registering what cannot be a tool: rejected or misuse, whatever looking at it raises."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon
from support import label


def plain(a: int) -> int:
    """Do something."""
    return a


def nested(levels: int) -> dict[str, Any]:
    """Make a schema of so many levels."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


class Raises:
    """An object that ends the program that looks at it."""

    def __init__(self, error: BaseException) -> None:
        self.__dict__["error"] = error

    def __getattr__(self, name: str) -> Any:
        raise self.__dict__["error"]

    def __call__(self) -> None:
        """Do nothing."""


def odd_docstring(a: int) -> int:
    return a


odd_docstring.__doc__ = "Do \ud800."


@pytest.fixture
def rt():
    """A runtime in memory, whose catalogue has to stay empty."""
    with holon.Runtime.in_memory() as runtime:
        yield runtime
        assert len(runtime.tools) == 0


@pytest.mark.parametrize(
    "options",
    [
        {"examples": 5},
        {"examples": "text"},
        {"examples": ["\ud800"]},
        {"examples": [5]},
        {"risk_hints": 5},
        {"effects": 5},
        {"effects": [[]]},
        {"approval": []},
        {"secrets": 5},
        {"secrets": [1]},
        {"secrets": {"\ud800": "env:X"}},
        {"secrets": {"a": 5}},
        {"name": "\ud800"},
        {"title": "\ud800"},
        {"description": "\ud800"},
        {"id": "\ud800"},
        {"version": "\ud800"},
        {"version": None},
        {"version": 5},
        {"inline": 5},
        {"idempotent": "yes"},
        {"isolation": []},
        {"timeout_s": 10**400},
        {"timeout_s": float("nan")},
        {"timeout_s": 3601},
        {"timeout_s": True},
        {"max_output_bytes": 10**30},
        {"max_output_bytes": True},
        {"input_schema": 5},
        {"unheard_of": 1},
    ],
    ids=ascii,
)
def test_an_option_that_means_nothing_is_misuse(rt, options):
    """Of the decorator and of registering alike."""
    with pytest.raises(holon.Misuse):
        rt.register(plain, **{"effects": {"none"}, **options})
    with pytest.raises(holon.Misuse):
        holon.tool(**{"effects": {"none"}, **options})


@pytest.mark.parametrize("levels", [100, 500, 5000])
@pytest.mark.parametrize("which", ["input_schema", "output_schema"])
def test_a_schema_that_is_nested_without_end_is_rejected(rt, which, levels):
    """However deep, and whoever would have to copy it."""
    with pytest.raises(holon.Rejected) as caught:
        rt.register(plain, effects={"none"}, **{which: nested(levels)})

    assert "schema_limit" in [finding.code for finding in caught.value.findings]


@pytest.mark.parametrize(
    "error", [SystemExit(3), GeneratorExit(), ValueError("x\ud800"), RecursionError()], ids=label
)
def test_an_object_that_raises_when_it_is_looked_at_is_rejected(rt, error):
    """It ends no program."""
    with pytest.raises(holon.Rejected) as caught:
        rt.register(Raises(error), effects={"none"})

    assert all(finding.message.isprintable() for finding in caught.value.findings)
    str(caught.value).encode()


def test_an_interrupt_while_an_object_is_looked_at_goes_on(rt):
    """Somebody ends the program."""
    with pytest.raises(KeyboardInterrupt):
        rt.register(Raises(KeyboardInterrupt()), effects={"none"})


@pytest.mark.parametrize("fn", [None, 5, "text", int, [], object()], ids=label)
def test_what_is_no_function_is_rejected(rt, fn):
    """Of whatever type it is."""
    with pytest.raises(holon.Rejected):
        rt.register(fn, effects={"none"})


def test_a_description_that_cannot_be_kept_is_rejected(rt):
    """Also where it comes from the function's own text."""
    with pytest.raises(holon.Rejected):
        rt.register(odd_docstring, effects={"none"})
