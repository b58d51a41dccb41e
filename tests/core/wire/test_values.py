"""Python values from a caller, and their canonical form."""

import enum
import gc
import json
import math
from collections import OrderedDict, UserDict
from datetime import date

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from holon_core.errors import JsonRefused
from holon_core.wire import encoding
from holon_core.wire.canonical import canonical, digest, sha256_hex
from holon_core.wire.strict_json import parse
from holon_core.wire.values import normalise


class Colour(str, enum.Enum):
    RED = "red"


class Count(int):
    pass


class Name(str):
    pass


def refusal(value: object, **limits: int) -> JsonRefused:
    with pytest.raises(JsonRefused) as caught:
        normalise(value, **limits)
    return caught.value


floats = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda item: not (item.is_integer() and 2**53 <= abs(item) < 1e21)
) | st.sampled_from(
    [0.0, -0.0, 1.0, 1e-4, 9.9e-5, 1e-6, 1e-7, 1.5e-7, 1e15, 2.0**53 - 1, 1e21, 1e22, -1e21]
    + [5e-324, 1.7976931348623157e308, 0.30000000000000004, 1.5e300]
)
texts = st.text() | st.text('aé\ud7ff\ue000\uffff😀\U0010ffff\n"\\\x7f\x00/', max_size=4)
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts | floats,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_the_published_canonical_forms_are_met(shared, name):
    """The test data of RFC 8785's authors, byte for byte."""
    folder = shared / "conformance/jcs/testdata"
    value = parse((folder / "input" / f"{name}.json").read_bytes())
    expected = bytes.fromhex((folder / "outhex" / f"{name}.txt").read_text())
    assert canonical(value) == expected
    assert canonical(parse(expected)) == expected


@given(documents)
def test_the_canonical_form_is_what_the_reference_writes(value):
    """The quick encoder and the walk never differ from the reference implementation."""
    assert normalise(value).canonical == rfc8785.dumps(value)


@given(documents)
def test_normalising_twice_changes_nothing(value):
    """A normalised value is its own normal form, types included."""
    once = normalise(value)
    again = normalise(once.value)
    assert again == once
    assert repr(again.value) == repr(once.value)


@given(documents)
def test_reading_the_canonical_form_gives_the_canonical_form(value):
    """What is stored canonically can be read and digested again."""
    data = canonical(value)
    assert canonical(parse(data)) == data


@given(documents, documents)
def test_two_values_share_canonical_bytes_exactly_when_they_are_equal(left, right):
    """Equal after normalisation, with booleans and numbers kept apart, is equal in bytes."""
    a, b = normalise(left), normalise(right)
    assert (a.canonical == b.canonical) == (tagged(a.value) == tagged(b.value))


def tagged(value):
    if isinstance(value, dict):
        return {key: tagged(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tagged(item) for item in value]
    return (isinstance(value, bool), value)


@given(documents)
def test_the_copy_shares_nothing_mutable_with_the_original(value):
    """What the caller does to its value later cannot reach the call."""
    theirs = {id(item) for item in containers(value)}
    assert all(id(item) not in theirs for item in containers(normalise(value).value))


def containers(value):
    if isinstance(value, (dict, list)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [(1.0, 1), (-0.0, 0), (1e3, 1000), (-5.0, -5), (9007199254740991.0, 9007199254740991)],
)
def test_an_integral_float_becomes_the_integer(given_value, kept):
    """1.0 and 1 are one value, and the tool receives 1."""
    assert repr(normalise(given_value).value) == repr(kept)
    assert repr(normalise({"a": [given_value]}).value) == repr({"a": [kept]})


@pytest.mark.parametrize("value", [1e21, -1e300, 0.5, 1e-9])
def test_other_floats_stay_floats(value):
    """An integral float that no exact integer stands behind is a plain JSON number."""
    assert normalise({"a": value}).value == {"a": value}
    assert type(normalise(value).value) is float


@pytest.mark.parametrize(
    ("value", "rule", "path"),
    [
        pytest.param((1,), "type", "", id="tuple"),
        pytest.param({"a": [{"b": (1,)}]}, "type", "/a/0/b", id="tuple inside"),
        pytest.param(OrderedDict(a=1), "type", "", id="dict subclass"),
        pytest.param([UserDict()], "type", "/0", id="mapping"),
        pytest.param([Name("x")], "type", "/0", id="str subclass"),
        pytest.param({"a": Colour.RED}, "type", "/a", id="str enum"),
        pytest.param([Count(1)], "type", "/0", id="int subclass"),
        pytest.param({"a": b"x"}, "type", "/a", id="bytes"),
        pytest.param([None, date(2020, 1, 1)], "type", "/1", id="date"),
        pytest.param({"a": {1: 2}}, "key_type", "/a", id="int key"),
        pytest.param({Name("k"): 1}, "key_type", "", id="str subclass key"),
        pytest.param({None: 1}, "key_type", "", id="null key"),
        pytest.param({"a": 2**53}, "number_range", "/a", id="2**53"),
        pytest.param([-(2**53)], "number_range", "/0", id="-2**53"),
        pytest.param([2.0**53], "number_range", "/0", id="2.0**53"),
        pytest.param(-1e20, "number_range", "", id="-1e20"),
        pytest.param(10**400, "number_range", "", id="10**400"),
        pytest.param([1, math.nan], "number_range", "/1", id="NaN"),
        pytest.param({"a": math.inf}, "number_range", "/a", id="infinity"),
        pytest.param(-math.inf, "number_range", "", id="-infinity"),
        pytest.param({"a": ["\ud800"]}, "surrogate", "/a/0", id="lone surrogate"),
        pytest.param("\udfff", "surrogate", "", id="lone surrogate alone"),
        pytest.param({"a": {"\ud800": 1}}, "surrogate", "/a", id="lone surrogate in a key"),
        pytest.param({"a~/": [math.nan]}, "number_range", "/a~0~1/0", id="escaped pointer"),
    ],
)
def test_a_value_that_is_not_json_is_refused_with_rule_and_place(value, rule, path):
    """Nothing is coerced: the caller learns which value broke which rule."""
    refused = refusal(value)
    assert (refused.rule, refused.path) == (rule, path)
    refused.message.encode()


def test_a_cycle_is_refused_as_one():
    """A value inside itself is told apart from one that is merely deep."""
    ring: dict = {"a": []}
    ring["a"].append(ring)
    assert refusal(ring).rule == "cycle"
    knot: list = []
    knot.append(knot)
    assert refusal(knot).rule == "cycle"


def nested(levels: int) -> list:
    value: list = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_the_depth_limit_is_exact():
    """128 lists inside one another pass, 129 do not; dicts count alike."""
    assert normalise(nested(128)).value == nested(128)
    assert refusal(nested(129)).rule == "depth"
    assert refusal({"a": {"b": {}}}, max_depth=2).path == "/a/b"


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v, 1e-9]], ids=["plain", "reference"])
def test_depth_beyond_the_interpreters_stack_is_refused(wrap):
    """A careless limit cannot let RecursionError out of the walk or of an encoder."""
    assert refusal(wrap(nested(100_000)), max_depth=10**9, max_bytes=10**9).rule == "depth"


@pytest.mark.parametrize("value", [["a" * 8], {"a": "éé"}, [1e-9, 12.5]])
def test_the_size_limit_counts_canonical_bytes(value):
    """Exactly the limit passes, one byte less does not."""
    size = len(canonical(value))
    assert normalise(value, max_bytes=size).value == value
    assert refusal(value, max_bytes=size - 1).rule == "too_large"


def test_shared_parts_cannot_multiply_past_the_size_limit():
    """Thirty levels of pairs would be a billion lists; a thousand big strings a gigabyte."""
    pair: list = []
    for _ in range(30):
        pair = [pair, pair]
    assert refusal(pair).rule == "too_large"
    assert refusal([["a" * 10**6] * 1000]).rule == "too_large"


def test_a_dict_that_changes_during_the_walk_is_refused():
    """Code that runs meanwhile (here: at a collection) makes a refusal, nothing worse."""
    value: dict = {str(n): [n] for n in range(2000)}
    before = gc.get_threshold()

    def disturb(phase: str, _: dict) -> None:
        value[phase + str(len(value))] = 1

    gc.callbacks.append(disturb)
    gc.set_threshold(1)
    try:
        refused = refusal(value)
    finally:
        gc.callbacks.remove(disturb)
        gc.set_threshold(*before)
    assert (refused.rule, refused.message) == ("type", "a dict changed while it was read")


def test_a_digest_depends_on_value_and_domain():
    """The digest is SHA-256 over domain, NUL and canonical bytes."""
    value = {"b": 1.0, "a": "é"}
    assert digest(value, domain="holon.test") == sha256_hex(b'holon.test\0{"a":"\xc3\xa9","b":1}')
    assert digest(value, domain="holon.other") != digest(value, domain="holon.test")
    assert digest({"a": "é", "b": 1}, domain="holon.test") == digest(value, domain="holon.test")
    assert sha256_hex(b"").startswith("e3b0c44298fc1c14")


def test_what_is_not_json_has_no_canonical_form():
    """Canonical form and digest refuse like normalisation."""
    for value in ({"a": {1, 2}}, "\ud800", math.nan):
        with pytest.raises(JsonRefused):
            canonical(value)


@pytest.mark.parametrize(
    "make", [None, lambda *_: lambda value, _: (json.dumps(value),)], ids=["absent", "other"]
)
def test_without_the_quick_encoder_the_bytes_are_the_same(make):
    """Where this Python has no such encoder, or another one, the slower one writes the same."""
    encoder = encoding.plain_encoder(make)
    value = normalise({"b": ["é", '\x00\x1f"\\/'], "a": [1, True, None, 1.5]}).value
    assert "".join(encoder(value, 0)).encode() == encoding.encode(value, plain=True)
