"""Fingerprints: equal exactly where the executor would get identical values in one scope."""

from __future__ import annotations

import json
from typing import Any

from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from holon_core.errors import JsonRefused
from holon_core.guard.fingerprint import arguments_digest, fingerprint
from holon_core.records.caller import CallerContext
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Origin, Posture, Surface
from holon_core.wire.values import normalise

TOOL = RuntimeToolDescriptor(
    id="host.app/t",
    lane="host",
    origin=Origin.HOST,
    posture=Posture.HOST_FUNCTION,
    version="1",
    name="t",
    input_schema={},
    digest="d",
)
CALLER = CallerContext(principal="ann")

TEXTS = st.text(max_size=8)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(TEXTS, VALUES, max_size=4)
NAMES = st.sampled_from(["", "a", "b", "null", "a,b", 'a"', "é"])


def of(payload: Any, *, caller: CallerContext = CALLER, tool: Any = TOOL) -> tuple[str, str] | None:
    """Return a payload's fingerprint and what an executor would be handed, as exact text."""
    try:
        value, canonical = normalise(payload)
    except JsonRefused:
        return None
    made = fingerprint(tool, Posture.HOST_FUNCTION, caller, canonical)
    return made, exactly(value)


def exactly(value: Any) -> str:
    """Return a text that is equal for identical values alone: types count, order of keys not."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{k!r}:{exactly(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(exactly, value)) + "]"
    return f"{type(value).__name__}:{value!r}"


@given(PAYLOADS, PAYLOADS)
@example({"n": 1}, {"n": 1.0})
@example({"n": 0}, {"n": -0.0})
@example({"n": 1}, {"n": True})
@example({"k": None}, {})
@example({"a": []}, {"a": {}})
@example({"n": 1e-7}, {"n": 0.0000001})
def test_equal_fingerprints_and_identical_values_are_one(one, other):
    """Neither without the other."""
    first, second = of(one), of(other)
    if first is None or second is None:
        return

    assert (first[0] == second[0]) == (first[1] == second[1])


@given(PAYLOADS, st.randoms(use_true_random=False))
def test_the_order_of_keys_and_the_spelling_change_no_fingerprint(payload, dice):
    """At any depth, whether the arguments come as a dict or as text."""
    from holon_core.wire.strict_json import parse

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            items = list(value.items())
            dice.shuffle(items)
            return {k: shuffled(v) for k, v in items}
        return [shuffled(v) for v in value] if isinstance(value, list) else value

    first = of(payload)
    if first is None:
        return

    assert of(shuffled(payload)) == first
    assert of(parse(json.dumps(shuffled(payload), ensure_ascii=dice.random() < 0.5))) == first


@given(
    st.fixed_dictionaries(
        {f: st.one_of(st.none(), NAMES) for f in ("workspace", "role", "profile")}
    ),
    st.fixed_dictionaries(
        {f: st.one_of(st.none(), NAMES) for f in ("workspace", "role", "profile")}
    ),
    NAMES,
    NAMES,
)
def test_each_part_of_the_scope_counts(one, other, principal, second_principal):
    """An absent part is not an empty one, and no two scopes run together."""
    first = CallerContext(principal=principal, **one)
    second = CallerContext(principal=second_principal, **other)

    same = of({}, caller=first) == of({}, caller=second)

    assert same == ((principal, one) == (second_principal, other))


@given(NAMES, st.sampled_from(list(Surface)))
def test_run_step_surface_and_trace_do_not_count(text, surface):
    """They say how a call came about, not what it does."""
    other = evolve(
        CALLER, run=text, plan_step=text, trace_id=text, on_behalf_of=text, surface=surface
    )

    assert of({"a": 1}, caller=other) == of({"a": 1})


@given(st.sampled_from(["id", "lane", "digest"]), NAMES)
def test_tool_lane_and_definition_count(field, text):
    """Another of them is another call."""
    assert of({}, tool=evolve(TOOL, **{field: text})) != of({})


def test_the_posture_counts():
    """A call under another authority is another call."""
    postures = {fingerprint(TOOL, posture, CALLER, b"{}") for posture in Posture}

    assert len(postures) == len(Posture)


def test_the_digest_of_arguments_alone_is_no_fingerprint():
    """Their domains are apart."""
    assert arguments_digest(b"{}") != fingerprint(TOOL, Posture.HOST_FUNCTION, CALLER, b"{}")
