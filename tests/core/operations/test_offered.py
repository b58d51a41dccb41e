"""Operations of plugins: which rows count, and what becomes of a handler that breaks its word."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

import holon_core as holon
from holon_core.errors import CallFailed, JsonRefused, Misuse, Refused, Rejected, StoreError
from holon_core.operations.offered import COMMAND_WORDS, CORE_NOUNS
from holon_core.operations.table import ROWS
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.finding import Finding
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect
from sample_lanes import problems
from support import label

TEXT = {"type": "string"}
GREETING = {
    "type": "object",
    "properties": {"text": TEXT, "list": {"type": "array"}},
    "required": ["text"],
}


def greet(door: Any, given: Any) -> dict[str, str]:
    return {"text": f"{door.caller.principal} greets {given['name']}"}


GREET = Operation(
    noun="acme-greeting",
    verb="read",
    request={"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    response=GREETING,
    authority=Authority.CALLER,
    handler=greet,
    doc="Greet somebody.",
)


def plugin(*rows: Any, name: str = "acme") -> Any:
    """Make a plugin that offers rows."""

    @holon.hookimpl
    def holon_operations(host: Any) -> Any:
        yield from rows

    return SimpleNamespace(name=name, holon_operations=holon_operations)


def opened(*plugins: Any) -> holon.Runtime:
    return holon.Runtime.in_memory(plugins=plugins)


def ask(
    rt: holon.Runtime, method: str = "acme-greeting/read", who: str = "ann", **params: Any
) -> Any:
    """Ask as a caller, with every authority unless another is named."""
    authorities = params.pop("authorities", frozenset(Authority))
    caller = rt.session(principal=who).caller
    return rt.dispatch(method, params, caller=caller, authorities=authorities)


def test_a_row_of_a_plugin_is_answered_and_listed():
    """It is dispatched as the core's rows are, and `protocol/list` names it after them."""
    with opened(plugin(GREET)) as rt:
        answer = ask(rt, name="bo")
        listed = ask(rt, "protocol/list")["operations"]
        [state] = rt.plugins.list()

    assert answer == {"text": "ann greets bo"}
    assert [row["method"] for row in listed][-1] == "acme-greeting/read"
    assert len(listed) == len(ROWS) + 1
    assert state.problems == ()


def test_a_row_needs_its_authority():
    """A caller is neither offered nor answered what takes an operator."""
    row = evolve(GREET, authority=Authority.OPERATOR)
    with opened(plugin(row)) as rt:
        callers = {"authorities": frozenset({Authority.CALLER})}
        with pytest.raises(Refused, match="not_allowed"):
            ask(rt, name="bo", **callers)
        listed = ask(rt, "protocol/list", **callers)["operations"]

    assert "acme-greeting/read" not in [each["method"] for each in listed]


@pytest.mark.parametrize("params", [{}, {"name": 1}, {"name": "x", "more": 1}], ids=label)
def test_parameters_are_read_by_the_rows_schema(params):
    """It is closed where it says nothing of further members; the handler is not entered."""

    def never(door: Any, given: Any) -> Any:
        raise AssertionError

    with (
        opened(plugin(evolve(GREET, handler=never))) as rt,
        pytest.raises(Refused, match="arguments_invalid"),
    ):
        ask(rt, **params)


@pytest.mark.parametrize("noun", sorted(CORE_NOUNS | COMMAND_WORDS))
def test_a_noun_of_the_core_or_a_word_of_the_command_is_refused(noun):
    """The row is reported with its plugin, and the core's own answers go on."""
    with opened(plugin(evolve(GREET, noun=noun))) as rt:
        assert f"the noun {noun} is" in problems(rt, "acme")
        with pytest.raises(Misuse, match="no operation"):
            ask(rt, f"{noun}/greet")


def test_the_nouns_of_the_core_are_those_of_its_table():
    """What is written out is what the table has."""
    assert {row.noun for row in ROWS} == CORE_NOUNS


def test_a_noun_that_two_plugins_use_is_refused_for_both():
    """Other nouns of theirs stay; each is told who the other is."""
    other = evolve(GREET, noun="other")
    with opened(plugin(GREET, other), plugin(evolve(GREET, verb="list"), name="rival")) as rt:
        for name in ("acme", "rival"):
            assert "noun acme-greeting is offered more than once, by acme, rival" in problems(
                rt, name
            )
        for verb in ("read", "list"):
            with pytest.raises(Misuse, match="no operation"):
                ask(rt, f"acme-greeting/{verb}", name="bo")
        assert ask(rt, "other/read", name="bo")


def test_a_method_that_one_plugin_offers_twice_is_refused():
    """Nobody guesses which is meant; another verb of the noun stays."""
    with opened(plugin(GREET, GREET, evolve(GREET, verb="list"))) as rt:
        assert "operation acme-greeting/read is offered more than once" in problems(rt, "acme")
        assert list(rt._parts.operations) == ["acme-greeting/list"]


class Grown(Operation):
    """An operation of a type of its own."""


LISTING = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"a": TEXT}},
        }
    },
}


class Unreadable:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise SystemExit


async def later(door: Any, given: Any) -> Any:
    return {}


BAD: dict[str, Any] = {
    "a dict": {"noun": "x"},
    "hostile": Unreadable(),
    "another type": Grown(
        **{f: getattr(GREET, f) for f in ("noun", "verb", "request", "response")},
        authority=Authority.CALLER,
        handler=greet,
        doc="x.",
    ),
    **{
        what: evolve(GREET, **changes)
        for what, changes in {
            "empty noun": {"noun": ""},
            "capital noun": {"noun": "Acme"},
            "slash in verb": {"verb": "a/b"},
            "long verb": {"verb": "a" * 65},
            "noun no text": {"noun": 3},
            "authority word": {"authority": "caller"},
            "also list": {"also": [Authority.APPROVER]},
            "also words": {"also": frozenset({"approver"})},
            "effects list": {"effects": [Effect.NONE]},
            "effects words": {"effects": frozenset({"none"})},
            "no effects": {"effects": frozenset()},
            "unknown effects": {"effects": frozenset({Effect.UNKNOWN})},
            "no handler": {"handler": None},
            "async handler": {"handler": later},
            "no doc": {"doc": " "},
            "request no schema": {"request": {"type": "nonsense"}},
            "request no object": {"request": {"type": "array"}},
            "request true": {"request": True},
            "request no JSON": {"request": {"type": {1, 2}}},
            "response no schema": {"response": {"type": "object", "properties": 3}},
            "response no object": {"response": TEXT},
            "response true": {"response": True},
            "parameter json": {"request": {"type": "object", "properties": {"json": TEXT}}},
            "parameter spaced": {"request": {"type": "object", "properties": {"a b": TEXT}}},
            "positional": {"positional": ("nobody",)},
            "positional list": {"positional": ["name"]},
            "unread": {"unread": ("nobody",)},
            "listing": {"listing": "nothing"},
            "listing of anything": {"listing": "list"},
            "columns": {"response": LISTING, "listing": "rows", "columns": ("b",)},
        }.items()
    },
}


@pytest.mark.parametrize("what", BAD)
def test_a_row_that_is_not_whole_is_refused_and_the_others_stay(what):
    """The fault is reported with its plugin; opening goes on."""
    with opened(plugin(BAD[what], evolve(GREET, noun="good"))) as rt:
        assert "as an operation: " in problems(rt, "acme")
        assert list(rt._parts.operations) == ["good/read"]


def test_a_listing_with_columns_of_its_items_counts():
    """What the command would show is in the answer."""
    row = evolve(GREET, response=LISTING, listing="rows", columns=("a",))
    with opened(plugin(row)) as rt:
        assert problems(rt, "acme") == ""


def test_a_row_is_kept_as_it_was_when_it_was_read():
    """A schema that its plugin changes later changes nothing."""
    request = {"type": "object", "properties": {"name": dict(TEXT)}}
    with opened(plugin(evolve(GREET, request=request))) as rt:
        request["properties"] = {}

        assert ask(rt, name="bo")["text"]


def raising(error: BaseException) -> Callable[..., Any]:
    """Make a handler that raises."""

    def handler(door: Any, given: Any) -> Any:
        raise error

    return handler


class Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("not even told")


GARBAGE = {
    "raises": (raising(ValueError("no luck")), "raised ValueError: no luck"),
    "raises silently": (raising(Silent()), "raised Silent"),
    "exits": (raising(SystemExit(3)), "raised SystemExit"),
    "misuses": (raising(Misuse("wrong")), "raised Misuse: wrong"),
    "not JSON": (raising(JsonRefused("nan", "NaN", "/a")), "raised JsonRefused"),
    "unknown code": (
        raising(Refused(StructuredFailure(kind=failure("internal").kind, code="odd", message="m"))),
        "raised Refused",
    ),
    "details no JSON": (raising(Refused(failure("conflict", thing=object()))), "raised Refused"),
    "findings no findings": (raising(Rejected("x", [3])), "raised Rejected"),  # type: ignore[list-item]
    "answers nothing": (lambda door, given: None, "against its schema"),
    "answers too little": (lambda door, given: {}, "against its schema"),
    "answers NaN": (lambda door, given: {"text": float("nan")}, "no sound JSON"),
    "answers an object": (lambda door, given: object(), "no sound JSON"),
    "answers a set": (lambda door, given: {"text": {1}}, "no sound JSON"),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_a_handler_that_breaks_its_word_is_a_failure_by_its_plugins_name(what):
    """The answer is typed; no exception of the plugin comes out."""
    handler, said = GARBAGE[what]
    with opened(plugin(evolve(GREET, handler=handler))) as rt, pytest.raises(Refused) as refused:
        ask(rt, name="bo")

    found = refused.value.failure
    assert found.code == "lane_protocol"
    assert found.message.startswith("acme-greeting/read of acme ")
    assert said in found.message
    assert found.details == {"plugin": "acme", "method": "acme-greeting/read"}


@pytest.mark.parametrize(
    "error",
    [
        Refused(failure("conflict", "it is taken", by="bo")),
        Rejected("x", [Finding(code="invalid_id", message="m")]),
        CallFailed(failure("timeout"), "c1"),
        StoreError("store_locked", "busy"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_handler_may_refuse_on_purpose(error):
    """Its own failure is the answer."""
    with (
        opened(plugin(evolve(GREET, handler=raising(error)))) as rt,
        pytest.raises(type(error)) as raised,
    ):
        ask(rt, name="bo")

    assert raised.value == error


def test_an_interrupt_in_a_handler_stays_one():
    """Whoever ends the program ends it."""
    with (
        opened(plugin(evolve(GREET, handler=raising(KeyboardInterrupt())))) as rt,
        pytest.raises(KeyboardInterrupt),
    ):
        ask(rt, name="bo")


def test_a_hook_that_raises_loses_what_comes_after_alone():
    """What it yielded before counts."""

    @holon.hookimpl
    def holon_operations(host: Any) -> Any:
        yield GREET
        raise RuntimeError("half way")

    half = SimpleNamespace(name="acme", holon_operations=holon_operations)
    with opened(half) as rt:
        assert ask(rt, name="bo")
        assert "half way" in problems(rt, "acme")
