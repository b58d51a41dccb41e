"""Admission of JSON Schemas."""

import json
import socket
import threading
import time
from typing import Any

import pytest

from holon_core.wire.canonical import digest
from holon_core.wire.engine import Engine
from holon_core.wire.engine_py import PythonEngine
from holon_core.wire.engine_rs import RustEngine
from holon_core.wire.schema_check import SchemaReport, check_schema
from holon_core.wire.schema_engine import SchemaValidator, compiled
from holon_core.wire.values import normalise

ENGINES: list[Engine] = [RustEngine(), PythonEngine()]
both_engines = pytest.mark.parametrize("engine", ENGINES, ids=["rust", "python"])
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
TREE = {"type": "object", "properties": {"a": {"$ref": "#"}}}


def problems(report: SchemaReport) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in report.findings if found.severity == "error"]


def warnings(report: SchemaReport) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in report.findings if found.severity == "warning"]


def checked(schema: object, *, engine: Engine = ENGINES[0]) -> SchemaReport:
    return check_schema(schema, role="input", engine=engine)


def case_input(shared, name: str) -> dict[str, Any]:
    text = (shared / "abuse-cases/inputs/schema" / name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def validator(schema: object, *, engine: Engine = ENGINES[0]) -> SchemaValidator:
    report = checked(schema, engine=engine)
    assert report.usable, report.findings
    return SchemaValidator(report.schema, engine=engine)


@pytest.fixture
def listener():
    """A server that counts the connections made to it."""
    seen: list[object] = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    done = threading.Event()

    def accept() -> None:
        while not done.is_set():
            try:
                connection, address = server.accept()
            except TimeoutError:
                continue
            seen.append(address)
            connection.close()

    thread = threading.Thread(target=accept)
    thread.start()
    yield server.getsockname()[1], seen
    done.set()
    thread.join()
    server.close()


@both_engines
def test_ab_schema_001_a_remote_reference_is_refused_and_nothing_connects(engine, listener):
    """The listening server sees no connection, at admission or from an engine asked directly."""
    port, seen = listener
    url = f"http://127.0.0.1:{port}/s.json"
    top = checked({"$ref": url}, engine=engine)
    assert ("schema_remote_ref", "/$ref") in problems(top)
    inner = checked({"type": "object", "$defs": {"x": {"$dynamicRef": url}}}, engine=engine)
    assert problems(inner) == [("schema_remote_ref", "/$defs/x/$dynamicRef")]
    for schema in ({"$ref": url}, {"$defs": {"unused": {"$ref": url}}}):
        with pytest.raises(Exception, match=r"leaves|present"):
            SchemaValidator(schema, engine=engine)
    time.sleep(0.2)
    assert seen == []


@both_engines
def test_ab_schema_002_a_file_reference_is_refused_unread(shared, engine):
    """Both kinds of file reference are found, and nothing of a file shows."""
    report = checked(case_input(shared, "file_ref.json"), engine=engine)
    assert sorted(problems(report)) == [
        ("schema_remote_ref", "/properties/a/$ref"),
        ("schema_remote_ref", "/properties/b/$ref"),
    ]
    assert {found.message for found in report.findings} == {"the $ref leaves its own document"}


@both_engines
def test_ab_schema_003_a_ring_of_references_is_named(shared, engine):
    """A schema that refers only to itself is unusable, and the ring is in the message."""
    for schema, ring in (
        (case_input(shared, "self_ref.json"), "# → #"),
        (
            {
                "type": "object",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
                "properties": {"x": {"$ref": "#/$defs/a"}},
            },
            "#/$defs/a → #/$defs/b → #/$defs/a",
        ),
        (
            {"type": "object", "allOf": [{"not": {"$ref": "#"}}]},
            "# → #/allOf/0 → #/allOf/0/not → #",
        ),
    ):
        report = checked(schema, engine=engine)
        assert any(ring in found.message for found in report.findings), report.findings
        assert ("schema_invalid", "") in problems(report) or not report.usable


@both_engines
def test_ab_schema_004_a_tree_schema_takes_the_shallow_and_the_deep_is_refused_before(engine):
    """Depth is refused by the boundary; what passes it validates without a RecursionError."""
    tree = validator(TREE, engine=engine)
    for levels, fits in ((20, True), (127, True)):
        value: dict = {}
        for _ in range(levels):
            value = {"a": value}
        assert tree.is_valid(normalise(value).value) is fits
        assert tree.errors(value) == ()
    for _ in range(3000):
        value = {"a": value}
    with pytest.raises(Exception, match="nested more than 128 deep"):
        normalise(value)


def test_ab_schema_005_a_catastrophic_pattern_ends_at_once(shared):
    """The engine that decides is linear; the value does not match, and that is the answer."""
    pattern = validator(case_input(shared, "redos.json"))
    started = time.process_time()
    (error,) = pattern.errors({"a": "a" * 40 + "!"})
    assert (error.path, error.rule) == ("/a", "pattern")
    assert pattern.is_valid({"a": "a" * 40})
    assert time.process_time() - started < 1


def test_ab_schema_005_where_patterns_are_matched_by_trying_it_is_refused(shared):
    """The fallback engine never meets such a pattern."""
    report = checked(case_input(shared, "redos.json"), engine=PythonEngine())
    assert problems(report) == [("schema_limit", "/properties/a/pattern")]


@pytest.mark.parametrize("pattern", ["^(?=a)(a+)+$", r"^(?=a)(a*)*\1$", "(?<!b)(a+)+c"])
def test_ab_schema_005_a_catastrophic_pattern_that_looks_around_is_refused(pattern):
    """What no linear engine can match is not admitted with a repetition of repetitions."""
    schema = {"type": "object", "patternProperties": {pattern: True}, "additionalProperties": False}
    assert problems(checked(schema)) == [
        ("schema_limit", "/patternProperties/" + pattern.replace("/", "~1"))
    ]


def test_ab_schema_005_a_pattern_over_its_budget_at_a_call_says_so():
    """If matching goes over the engine's own limit, the rule is schema_limit, within a second."""
    hostile = SchemaValidator({"pattern": r"^(?=a)(a*)*\1$"}, engine=RustEngine())
    started = time.process_time()
    (error,) = hostile.errors("a" * 40 + "!")
    assert (error.rule, hostile.is_valid("a" * 40 + "!")) == ("schema_limit", False)
    assert time.process_time() - started < 1


@both_engines
def test_ab_schema_006_exponential_references_are_refused_quickly(shared, engine):
    """The expansion is counted, never made; whether through one value or through properties."""
    started = time.process_time()
    laughs = {**case_input(shared, "laughs.json"), "type": "object"}
    assert ("schema_limit", "") in problems(checked(laughs, engine=engine))
    nested = {f"l{n}": {"allOf": [{"properties": {"a": {"$ref": f"#/$defs/l{n - 1}"}}}] * 2}
              for n in range(1, 30)}  # fmt: skip
    schema = {"type": "object", "$ref": "#/$defs/l29", "$defs": {"l0": {}, **nested}}
    assert problems(checked(schema, engine=engine)) == [("schema_limit", "")]
    assert time.process_time() - started < 1


@both_engines
def test_ab_schema_007_an_integer_written_as_1_0_is_the_integer(engine):
    """1.0 and 1e0 arrive as 1; true and "1" are refused."""
    whole = validator({"type": "object", "properties": {"n": {"type": "integer"}}}, engine=engine)
    for given in (1.0, 1e0, 1):
        value = normalise({"n": given}).value
        assert repr(value) == "{'n': 1}"
        assert whole.errors(value) == ()
    for other in (True, "1", 1.5):
        assert [error.path for error in whole.errors({"n": other})] == ["/n"]


@both_engines
def test_ab_schema_008_listed_formats_are_asserted_and_others_reported(engine):
    """A date-time is checked; a duration is not, and admission says so."""
    schema = {
        "type": "object",
        "properties": {"t": {"format": "date-time"}, "d": {"format": "duration"}},
    }
    report = checked(schema, engine=engine)
    assert ("schema_format_unchecked", "/properties/d/format") in warnings(report)
    assert ("schema_format_unchecked", "/properties/t/format") not in warnings(report)
    (error,) = validator(schema, engine=engine).errors({"t": "x", "d": "x"})
    assert (error.path, error.rule) == ("/t", "format")


@both_engines
def test_ab_schema_009_misspelt_keywords_are_refused_with_a_suggestion(shared, engine):
    """Both are named; neither passes as something that is checked."""
    report = checked(case_input(shared, "typo.json"), engine=engine)
    assert problems(report) == [("schema_invalid", "/propertes"), ("schema_invalid", "/requierd")]
    assert [found.message.split("; ")[1] for found in report.findings] == [
        "did you mean properties?",
        "did you mean required?",
    ]


@both_engines
def test_ab_schema_010_a_schema_is_held_to_its_own_dialect(shared, engine):
    """An array of items is draft 7; under 2020-12 it is refused, once."""
    schema = case_input(shared, "dialect.json")
    report = checked(schema, engine=engine)
    assert problems(report) == [("schema_invalid", "/properties/rows/items")]
    assert checked({**schema, "$schema": DRAFT_7}, engine=engine).usable


@pytest.mark.parametrize(
    "dialect",
    ["https://example.invalid/my-dialect", "http://json-schema.org/draft-03/schema#", 7, None],
)
def test_ab_schema_011_an_unknown_dialect_is_refused(dialect):
    """No dialect is guessed."""
    report = checked({"$schema": dialect, "type": "object"})
    assert problems(report) == [("schema_unsupported", "/$schema")]


@both_engines
def test_ab_schema_012_a_silent_object_schema_is_closed(engine):
    """What the schema does not declare is refused, and admission says that it was closed."""
    report = checked({"type": "object", "properties": {"a": {"type": "integer"}}}, engine=engine)
    assert warnings(report) == [("schema_closed", "")]
    (error,) = SchemaValidator(report.schema, engine=engine).errors({"a": 1, "b": 2})
    assert error.rule == "additionalProperties"


def test_ab_schema_013_boolean_schemas_are_refused_with_the_reason():
    """True declares no input, false accepts no output; true as output is a schema."""
    assert problems(check_schema(True, role="input")) == [("schema_invalid", "")]
    assert "no declared shape" in check_schema(True, role="input").findings[0].message
    assert problems(check_schema(False, role="output")) == [("schema_invalid", "")]
    assert "accepts no output" in check_schema(False, role="output").findings[0].message
    assert check_schema(True, role="output") == SchemaReport(schema=True, findings=())


@both_engines
def test_ab_schema_014_a_dollar_does_not_match_before_a_newline(engine):
    """Patterns follow ECMA-262."""
    word = validator(
        {"type": "object", "properties": {"w": {"pattern": "^[a-z]+$"}}}, engine=engine
    )
    assert word.is_valid({"w": "abc"})
    assert not word.is_valid({"w": "abc\n"})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(None, ("schema_invalid", ""), id="null"),
        pytest.param("object", ("schema_invalid", ""), id="string"),
        pytest.param({}, ("schema_invalid", ""), id="no type"),
        pytest.param({"type": "string"}, ("schema_invalid", ""), id="another type"),
        pytest.param({"type": ["object", "null"]}, ("schema_invalid", ""), id="two types"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": True}}, ("schema_invalid", ""), id="ref"),
        pytest.param(
            {"type": "object", "required": None}, ("schema_invalid", "/required"), id="meta"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"maximum": 2**64 - 1}}},
            ("schema_invalid", "/properties/a/maximum"),
            id="integer beyond 2**53-1",
        ),
        pytest.param({"type": ("object",)}, ("schema_invalid", "/type"), id="tuple"),
        pytest.param(
            {"type": "object", "properties": {"a": {"pattern": "["}}},
            ("schema_invalid", "/properties/a/pattern"),
            id="pattern",
        ),
        pytest.param(
            {"type": "object", "$ref": "#/$defs/none"}, ("schema_invalid", "/$ref"), id="no target"
        ),
        pytest.param(
            {"type": "object", "$ref": "#none"}, ("schema_invalid", "/$ref"), id="no anchor"
        ),
        pytest.param(
            {"type": "object", "$ref": "#/type"}, ("schema_invalid", "/$ref"), id="not a schema"
        ),
        pytest.param(
            {"type": "object", "$id": "https://e.example/", "$ref": "http://[::1"},
            ("schema_remote_ref", "/$ref"),
            id="reference that is no URI",
        ),
        pytest.param(
            {"type": "object", "$id": "https://e.example/", "$defs": {"a": {"$id": "//["}}},
            ("schema_invalid", "/$defs/a/$id"),
            id="$id that is no URI",
        ),
        pytest.param(
            {"type": "object", "$ref": "#/allOf/01", "allOf": [{}, {}]},
            ("schema_invalid", "/$ref"),
            id="index with zero",
        ),
        pytest.param(
            {"type": "object", "$ref": "#/allOf/" + "9" * 5000, "allOf": [{}]},
            ("schema_invalid", "/$ref"),
            id="vast index",
        ),
        pytest.param(
            {"type": "object", "$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}},
            ("schema_invalid", "/$defs/b"),
            id="two of one $id",
        ),
        pytest.param(
            {"type": "object", "$defs": {"a": {"$anchor": "x"}, "b": {"$dynamicAnchor": "x"}}},
            ("schema_invalid", "/$defs/b"),
            id="two of one anchor",
        ),
        pytest.param(
            {"type": "object", "$defs": {"a": {"$schema": DRAFT_7}}},
            ("schema_unsupported", "/$defs/a/$schema"),
            id="second dialect",
        ),
        pytest.param(
            {"type": "object", "enum": list(range(20_000))}, ("schema_limit", ""), id="nodes"
        ),
        pytest.param({"type": "object", "title": "x" * 2**20}, ("schema_limit", ""), id="bytes"),
    ],
)
def test_an_unusable_input_schema_is_refused_with_its_place(schema, expected):
    """Every way of being unusable has its code and its pointer."""
    for engine in ENGINES:
        assert expected in problems(checked(schema, engine=engine))


def test_a_schema_nested_too_deep_is_refused():
    """64 JSON levels are admitted, 65 are not."""

    def nested(levels: int) -> dict:
        schema: dict = {}
        for _ in range(levels - 1):
            schema = {"not": schema}
        return {"type": "object", **schema}

    assert problems(check_schema(nested(65), role="output"))[0][0] == "schema_limit"
    for engine in ENGINES:
        assert check_schema(nested(64), role="output", engine=engine).usable


def test_a_long_chain_of_references_is_refused():
    """Engines recurse natively, so that a value may not pass through endless references."""
    chain = {f"c{n}": {"$ref": f"#/$defs/c{n + 1}"} for n in range(5000)}
    schema = {"type": "object", "$ref": "#/$defs/c0", "$defs": {**chain, "c5000": {}}}
    assert problems(checked(schema)) == [("schema_limit", "")]


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "https://e.example/a", "$ref": "https://e.example/a#/$defs/x", "$defs": {"x": {}}},
        {"$id": "rel.json", "$ref": "rel.json#/$defs/x", "$defs": {"x": {}}},
        {"$id": "urn:example:a", "$ref": "#/$defs/x", "$defs": {"x": {}}},
        {"$ref": "b.json", "$defs": {"x": {"$id": "b.json"}}},
        {"$ref": "#x", "$defs": {"x": {"$anchor": "x"}}},
        {"$ref": "#/$defs/a~1b~0c%20d", "$defs": {"a/b~c d": {}}},
        {"$ref": "#/allOf/0", "allOf": [{"title": "x"}]},
        {"$ref": "#/x-parts/0", "x-parts": [{"minProperties": 1}]},
        {"$ref": "#/$defs/x", "$defs": {"x": True}},
        {"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x"}}},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": True,
         "properties": {"a": {"$recursiveRef": "#"}}},
        {"$schema": DRAFT_7, "properties": {"a": {"$ref": "#x"}},
         "definitions": {"x": {"$id": "#x"}}},
        {"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "http://e.example"}},
    ],
    ids=lambda schema: json.dumps(schema)[:60],
)  # fmt: skip
def test_a_reference_inside_the_document_is_local(schema):
    """An $id makes references to it local; data that looks like a reference is none."""
    for engine in ENGINES:
        report = checked({"type": "object", **schema}, engine=engine)
        assert problems(report) == []
        SchemaValidator(report.schema, engine=engine)


@pytest.mark.parametrize(
    "reference",
    ["b.json", "/x#/$defs/x", "https://json-schema.org/draft/2020-12/schema", "urn:x:y"],
)
def test_a_reference_outside_the_document_is_remote(reference):
    """Even a meta-schema, which engines know, is outside."""
    schema = {"$id": "https://e.example/a/b", "type": "object", "$defs": {"x": {"$ref": reference}}}
    assert problems(checked(schema)) == [("schema_remote_ref", "/$defs/x/$ref")]


@pytest.mark.parametrize(
    ("keyword", "severity"),
    [
        ("x-anything", None),
        ("example", None),
        ("$comment", None),
        ("title", None),
        ("discriminator", None),
        ("definitions", None),
        ("exampels", "warning"),
        ("nullable", "warning"),
        ("$recursiveRef", "warning"),
        ("minimumLength", "error"),
        ("formats", "error"),
    ],
)
def test_an_unknown_keyword_counts_by_how_much_it_looks_like_a_check(keyword, severity):
    """Annotations pass in silence, strangers are reported, near misses are refused."""
    value: object = {} if keyword == "definitions" else "x"
    schema = {"type": "object", "additionalProperties": False, keyword: value}
    found = [finding.severity.value for finding in checked(schema).findings]
    assert found == ([] if severity is None else [severity])


def test_assertions_beside_a_lone_reference_are_reported():
    """Up to draft 7 they are ignored, which nobody expects."""
    schema = {
        "$schema": DRAFT_7,
        "type": "object",
        "additionalProperties": False,
        "properties": {"a": {"$ref": "#/definitions/n", "minimum": 3, "title": "t"}},
        "definitions": {"n": {"type": "number"}},
    }
    report = checked(schema)
    assert warnings(report) == [("schema_invalid", "/properties/a/minimum")]
    assert (
        checked({**schema, "$schema": "https://json-schema.org/draft/2019-09/schema"}).findings
        == ()
    )


PROPERTIES = {"properties": {"x": {"type": "integer"}}}


@both_engines
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object", **PROPERTIES}, id="plain"),
        pytest.param({"type": "object", "allOf": [PROPERTIES]}, id="allOf"),
        pytest.param(
            {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", **PROPERTIES}}}, id="ref"
        ),
        pytest.param({"$schema": DRAFT_7, "type": "object", "allOf": [PROPERTIES]}, id="allOf 7"),
        pytest.param(
            {
                "$schema": DRAFT_7,
                "$ref": "#/definitions/a",
                "definitions": {"a": {"type": "object", **PROPERTIES}},
            },
            id="ref 7",
        ),
        pytest.param(
            {
                "$schema": DRAFT_7,
                "type": ["object"],
                "properties": {"y": {}},
                "anyOf": [PROPERTIES, {"patternProperties": {"^z": {}}}],
            },
            id="anyOf 7",
        ),
    ],
)
def test_closing_keeps_what_is_declared_anywhere_at_the_top(engine, schema):
    """Properties declared beside or behind the top stay allowed, with their schemas."""
    report = checked(schema, engine=engine)
    assert ("schema_closed", "") in warnings(report)
    closed = SchemaValidator(report.schema, engine=engine)
    assert closed.is_valid({"x": 1})
    assert not closed.is_valid({"other": 1})
    assert not closed.is_valid({"x": "1"}) or "patternProperties" in json.dumps(schema)
    assert check_schema(report.schema, role="input", engine=engine).schema == report.schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": True},
        {"type": "object", "unevaluatedProperties": {"type": "string"}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "additionalProperties": {}}}},
        {"$schema": DRAFT_7, "type": "object", "allOf": [{"additionalProperties": True}]},
    ],
)
def test_a_schema_that_speaks_of_further_properties_is_left_as_it_is(schema):
    """Only silence is closed."""
    report = checked(schema)
    assert (report.schema, report.findings) == (schema, ())


def test_an_output_schema_is_neither_closed_nor_an_object():
    """What a tool answers may be anything that it declares."""
    for schema in ({"type": "object"}, {"type": "array"}, {}):
        assert check_schema(schema, role="output") == SchemaReport(schema=schema, findings=())


def test_the_schema_to_use_is_a_copy():
    """Changing what was given changes nothing afterwards."""
    given = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": False,
    }
    report = checked(given)
    given["properties"]["a"]["type"] = "number"  # type: ignore[index]
    assert SchemaValidator(report.schema, engine=RustEngine()).is_valid({"a": "x"})


def test_the_validator_of_a_digest_is_made_once():
    """The second call with a digest does not look at the schema."""
    schema = {"type": "object", "title": "made once"}
    name = digest(schema, domain="test")
    assert compiled(schema, name) is compiled({}, name)
