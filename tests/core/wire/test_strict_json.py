"""Strict reading of JSON text."""

import inspect
import json
import math
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.errors import JsonRefused
from holon_core.wire.strict_json import parse

TABLE = json.loads(Path(__file__).with_name("json_parsing.json").read_text(encoding="utf-8"))


def refusal(data: bytes | str, **limits: int) -> JsonRefused:
    with pytest.raises(JsonRefused) as caught:
        parse(data, **limits)
    return caught.value


def verdict(data: bytes) -> str:
    try:
        parse(data)
    except JsonRefused as refused:
        return refused.rule
    return "accepted"


def test_every_valid_text_of_the_suite_is_read_as_python_reads_it_but_for_the_listed(shared):
    """The standard's valid texts are accepted, except those refused on purpose."""
    refused = {}
    for file in sorted((shared / "conformance/json-parsing/test_parsing").glob("y_*")):
        data = file.read_bytes()
        if verdict(data) == "accepted":
            assert parse(data) == json.loads(data), file.name
            assert parse(data.decode()) == json.loads(data), file.name
        else:
            refused[file.name] = verdict(data)
    assert refused == TABLE["accepted text that is refused here"]


def test_every_invalid_text_of_the_suite_is_refused(shared):
    """What is not JSON is never read, whatever Python's own reader says."""
    files = sorted((shared / "conformance/json-parsing/test_parsing").glob("n_*"))
    assert len(files) > 180
    assert [file.name for file in files if verdict(file.read_bytes()) == "accepted"] == []


def test_texts_that_the_standard_leaves_open_are_refused_but_for_the_listed(shared):
    """Each open case is decided; none is left that is accepted."""
    files = sorted((shared / "conformance/json-parsing/test_parsing").glob("i_*"))
    accepted = {file.name for file in files if verdict(file.read_bytes()) == "accepted"}
    assert len(files) > 30
    assert accepted == set(TABLE["left open by the standard"])


@pytest.mark.parametrize(
    ("text", "rule", "path", "offset"),
    [
        pytest.param(b"", "empty", "", 0, id="no bytes"),
        pytest.param(b" \r\n\t", "empty", "", 0, id="white space"),
        pytest.param(b"\xef\xbb\xbf{}", "bom", "", 0, id="byte order mark"),
        pytest.param("\ufeff{}", "bom", "", 0, id="byte order mark in a str"),
        pytest.param(b'{"a":"\xe9"}', "not_utf8", "", 6, id="latin-1"),
        pytest.param(b'"\xed\xa0\x80"', "not_utf8", "", 1, id="surrogate as UTF-8"),
        pytest.param('"\ud800"', "surrogate", "", 1, id="raw surrogate in a str"),
        pytest.param(b'["\\ud800"]', "surrogate", "/0", None, id="escaped surrogate"),
        pytest.param(b'{"\\uD800":1}', "surrogate", "", None, id="escaped surrogate in a key"),
        pytest.param(b'{"a":[{"b":1,"b":1}]}', "duplicate_key", "/a/0/b", None, id="same key"),
        pytest.param(b'{"a/~":{"":1,"":2}}', "duplicate_key", "/a~1~0/", None, id="escapes"),
        pytest.param(b'[{"a":9007199254740992}]', "number_range", "/0/a", None, id="2**53"),
        pytest.param(b"[-9007199254740992]", "number_range", "/0", None, id="-2**53"),
        pytest.param(b"[1,1e400]", "number_range", "/1", None, id="1e400"),
        pytest.param(b"-1E+400", "number_range", "", None, id="-1E+400"),
        pytest.param(b'{"a":NaN}', "syntax", "/a", None, id="NaN"),
        pytest.param(b"-Infinity", "syntax", "", None, id="-Infinity"),
        pytest.param(b"{} {}", "trailing", "", 3, id="two objects"),
        pytest.param('"é" 1'.encode(), "trailing", "", 5, id="offset counts bytes"),
        pytest.param('"é" 1', "trailing", "", 4, id="offset counts characters of a str"),
        pytest.param(b"plain text", "syntax", "", 0, id="text"),
        pytest.param(b'{"a":1,}', "syntax", "", 7, id="trailing comma"),
        pytest.param(b'"a\nb"', "syntax", "", 2, id="raw newline in a string"),
        pytest.param(b"[" * 129 + b"]" * 129, "depth", "", None, id="129 deep"),
        pytest.param(3, "type", "", None, id="not text"),
    ],
)
def test_a_fault_is_named_by_rule_and_place(text, rule, path, offset):
    """A refusal says which rule and where; the offset of a comma may differ by one by version."""
    refused = refusal(text)
    assert (refused.rule, refused.path) == (rule, path)
    if rule == "syntax" and offset == 7:
        assert refused.offset in (6, 7)
    else:
        assert refused.offset == offset


def test_a_repeated_key_is_named_but_cut_and_always_encodable():
    """The message names the key, whatever the key holds."""
    assert "'amount'" in refusal(b'{"amount":1,"amount":2}').message
    assert len(refusal(b'{"%b":1,"%b":2}' % (b"k" * 5000, b"k" * 5000)).message) < 200
    refusal(b'{"\\ud800":1,"\\ud800":2}').message.encode()
    refusal(b'{"\\ud800":1,"\\ud800":2}').path.encode()


@pytest.mark.parametrize("text", [b'{"a": 1}', b' {"a": 1}\r\n', b'\n\t{"a":1}', '{"a":1}'])
def test_white_space_around_the_value_is_accepted(text):
    """Leading and trailing white space of JSON is no fault."""
    assert parse(text) == {"a": 1}


def test_the_edges_of_the_number_range_are_accepted():
    """±(2**53-1), long decimals, small exponents and a huge literal inside a string pass."""
    text = b'[9007199254740991,-9007199254740991,0.30000000000000004,1e308,5e-324,0e-400,"%b"]'
    assert parse(text % (b"9" * 400)) == [
        9007199254740991, -9007199254740991, 0.30000000000000004, 1e308, 5e-324, 0.0, "9" * 400,
    ]  # fmt: skip


@pytest.mark.parametrize("number", ["1e-400", "-1E-0400", "2e-324", "0." + "0" * 400 + "1"])
def test_a_number_that_would_become_zero_is_refused_where_it_stands(number):
    """Nobody wrote zero."""
    with pytest.raises(JsonRefused) as caught:
        parse(f'{{"a":[0,{number}]}}')
    assert (caught.value.rule, caught.value.path) == ("number_range", "/a/1")


def test_an_integral_float_stays_a_float():
    """Reading keeps numbers as written; making them one value is normalisation's duty."""
    assert type(parse(b"1.0")) is float


def test_a_surrogate_pair_is_one_character():
    """Only lone surrogates are refused."""
    assert parse(b'{"\\ud83d\\ude00":"\\uD83D\\uDE00"}') == {"😀": "😀"}


def test_depth_counts_containers_and_not_brackets():
    """Wide values, brackets in strings and after escaped quotes are not deep."""
    assert parse(b"[" + b"[{}]," * 500 + b"[]]") == [[{}]] * 500 + [[]]
    text = json.dumps(["[" * 500, '"' + "[" * 500, "\\" + "[" * 500, '\\"[' * 200])
    assert parse(text) == json.loads(text)
    assert refusal(b'["\\\\",' + b"[" * 200).rule == "depth"


def test_the_depth_limit_is_the_one_that_was_asked_for():
    """Exactly the limit passes, one more does not."""
    assert parse(b"[[[]]]", max_depth=3) == [[[]]]
    assert refusal(b"[[[]]]", max_depth=2).rule == "depth"
    assert parse(b"[" * 128 + b"]" * 128)


def test_a_limit_beyond_the_interpreters_stack_still_ends_in_a_refusal():
    """Even a careless limit cannot let RecursionError out."""
    deep = 200_000
    assert refusal(b"[" * deep + b"]" * deep, max_depth=deep).rule == "depth"


def test_a_caller_near_the_end_of_the_stack_gets_a_refusal():
    """A value within the limits may still not fit on what is left of the stack."""

    def descend(left: int) -> str:
        return verdict(b"[" * 120 + b"]" * 120) if left == 0 else descend(left - 1)

    frames = len(inspect.stack(0))
    assert descend(sys.getrecursionlimit() - frames - 25) in ("depth", "accepted")


@pytest.mark.parametrize("text", [b'"12345678"', '"12345678"', '"éééé"'])
def test_the_size_limit_counts_bytes_of_utf_8(text):
    """Ten bytes fit ten, not nine, whether sent as bytes or as str."""
    assert parse(text, max_bytes=10)
    assert refusal(text, max_bytes=9).rule == "too_large"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"[" * 1_000_000, id="open brackets"),
        pytest.param(b'{"n":' + b"9" * 1_000_000 + b"}", id="digits"),
        pytest.param(b"0." + b"9" * 1_000_000 + b"e999", id="decimals"),
        pytest.param(b"[" + b'{"a":1},' * 100_000 + b'{"a":1,"a":1}]', id="late duplicate"),
        pytest.param(b"1" * 10_000_000, id="too large"),
    ],
)
def test_hostile_text_is_refused_quickly(text):
    """A refusal costs a time that grows with the text alone."""
    started = time.process_time()
    refusal(text)
    assert time.process_time() - started < 5


@given(st.binary(max_size=200) | st.text('{}[]",:\\u0123dDeE+-.NaInfity ', max_size=60))
def test_reading_anything_raises_only_a_refusal(data):
    """No other exception leaves the reader, and what it accepts Python accepts too."""
    try:
        value = parse(data)
    except JsonRefused:
        return
    assert value == json.loads(data)


documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(documents, st.booleans(), st.sampled_from([None, 1]))
def test_every_sound_document_is_read_back(value, ascii_only, indent):
    """What Python writes of a sound value is read as that value, floats bit for bit."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert json.dumps(parse(text)) == json.dumps(value)
    assert json.dumps(parse(text.encode())) == json.dumps(value)


@given(st.floats(allow_nan=False), st.integers())
def test_numbers_are_accepted_exactly_where_a_double_carries_them(real, whole):
    """The two number rules hold for every number, and for no other reason."""
    assert (verdict(repr(whole).encode()) == "accepted") == (abs(whole) < 2**53)
    text = repr(real).replace("inf", "1e999").encode()
    assert (verdict(text) == "accepted") == math.isfinite(real)


AB_OUTPUT = {
    "AB-OUTPUT-001": "empty",
    "AB-OUTPUT-002": "empty",
    "AB-OUTPUT-003": "not_utf8",
    "AB-OUTPUT-004": "bom",
    "AB-OUTPUT-005": "syntax",
    "AB-OUTPUT-006": "accepted",
    "AB-OUTPUT-007": "trailing",
    "AB-OUTPUT-008": "syntax",
    "AB-OUTPUT-009": "syntax",
    "AB-OUTPUT-010": "number_range",
    "AB-OUTPUT-011": "duplicate_key",
    "AB-OUTPUT-012": "depth",
    "AB-OUTPUT-013": "number_range",
    "AB-OUTPUT-014": "surrogate",
    "AB-OUTPUT-015": "accepted",
}


def test_ab_output_001_to_015_each_input_gets_its_rule(shared):
    """The executor outputs of the abuse cases; that an array is no object is judged later."""
    lines = (shared / "abuse-cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    found = {}
    for case in cases:
        if case["area"] == "output" and "input" in case:
            found[case["id"]] = verdict((shared / "abuse-cases" / case["input"]).read_bytes())
    found["AB-OUTPUT-012"] = verdict(b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}")
    found["AB-OUTPUT-013"] = verdict(b'{"n":' + b"9" * 100000 + b"}")
    assert found == AB_OUTPUT
