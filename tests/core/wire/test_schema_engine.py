"""Checking values against admitted schemas."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from holon_core.wire.dialects import LATEST
from holon_core.wire.engine import Engine, EngineRefused, engine
from holon_core.wire.engine_py import PythonEngine
from holon_core.wire.engine_rs import RustEngine
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import SchemaValidator, compiled

ENGINES: list[Engine] = [RustEngine(), PythonEngine()]
both_engines = pytest.mark.parametrize("engine", ENGINES, ids=["rust", "python"])

# Each level of a value is checked twice, by two ways to the same schema.
DOUBLING = {
    "type": ["object", "integer"],
    "allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}],
}


def nested(levels: int, inner: object) -> object:
    for _ in range(levels):
        inner = {"a": inner}
    return inner


@both_engines
def test_an_error_has_place_and_rule_and_never_the_value(engine):
    """Paths are JSON pointers; what the caller sent is not repeated."""
    schema = {
        "properties": {
            "a/b": {"items": {"enum": ["x" * 1000, "y"]}},
            "n": {"minimum": 10},
            "no": False,
        },
        "required": ["r"],
    }
    value = {"a/b": ["y", "top-secret"], "n": 7, "no": "top-secret"}
    errors = SchemaValidator(schema, engine=engine).errors(value)
    assert sorted((error.path, error.rule) for error in errors) == [
        ("", "required"),
        ("/a~1b/1", "enum"),
        ("/n", "minimum"),
        ("/no", "falseSchema"),
    ]
    assert all("secret" not in error.message and len(error.message) < 320 for error in errors)


@both_engines
def test_the_first_error_is_one_error_or_none(engine):
    """What is asked of big values alone is the same answer, shorter."""
    compiled_schema = engine.compile({"items": {"type": "string"}, "minItems": 5}, LATEST)
    assert len(compiled_schema.first_error([1, 2])) == 1
    assert compiled_schema.first_error(["a"] * 5) == []


@both_engines
def test_at_most_twenty_errors_are_reported(engine):
    """A value that is wrong in a hundred places is as wrong as one."""
    validator = SchemaValidator({"items": {"type": "string"}}, engine=engine)
    assert len(validator.errors([1] * 100)) == 20
    assert validator.errors(["a"] * 100) == ()


def test_a_big_value_gets_its_first_error():
    """Collecting every error of a big value would cost more than it tells."""
    validator = SchemaValidator({"items": {"type": "string"}}, engine=RustEngine())
    (error,) = validator.errors(["a"] * 9_000 + [1])
    assert (error.path, error.rule) == ("/9000", "type")


def test_a_recursion_that_doubles_is_judged_but_not_explained():
    """The verdict is exact at any depth; where the place is too costly, the error says so."""
    validator = SchemaValidator(DOUBLING, engine=RustEngine())
    started = time.process_time()
    assert validator.is_valid(nested(100, 1))
    assert validator.errors(nested(100, 1)) == ()
    (error,) = validator.errors(nested(100, "x"))
    assert (error.path, error.rule) == ("", "schema")
    assert validator.errors(nested(3, "x"))[0].path == "/a/a/a"
    assert time.process_time() - started < 1


def test_an_engine_that_forgets_refuses_what_it_cannot_afford():
    """The fallback engine would double its work with each level: over the budget is a refusal."""
    validator = SchemaValidator(DOUBLING, engine=PythonEngine())
    started = time.process_time()
    (error,) = validator.errors(nested(60, 1))
    assert (error.rule, validator.is_valid(nested(60, 1))) == ("schema_limit", False)
    assert validator.is_valid(nested(5, 1))
    assert time.process_time() - started < 5


def test_a_heavy_schema_takes_small_values_and_refuses_vast_ones():
    """What one path costs, times the size of the value, stays under the budget."""
    parts = {f"p{n}": {"type": "integer", "title": str(n)} for n in range(1500)}
    heavy = {"items": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in parts]}, "$defs": parts}
    report = check_schema(heavy, role="output", engine=RustEngine())
    assert report.usable
    validator = SchemaValidator(report.schema, engine=RustEngine())
    assert validator.errors([1, 2]) == ()
    assert validator.errors([1, "2"]) != ()
    assert [error.rule for error in validator.errors([1] * 20_000)] == ["schema_limit"]


def test_an_engine_that_tries_refuses_texts_too_long_for_its_patterns():
    """A polynomial pattern is matched only on texts where it ends soon."""
    schema = {"properties": {"a": {"pattern": "a*a*b"}}, "patternProperties": {"^k+$": {}}}
    validator = SchemaValidator(schema, engine=PythonEngine())
    assert validator.is_valid({"a": "aab", "l": [1, None, ["x"]]})
    assert [error.rule for error in validator.errors({"a": "a" * 5000})] == ["schema_limit"]
    assert [error.rule for error in validator.errors({"k" * 5000: 1})] == ["schema_limit"]


@both_engines
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$schema": "https://example.invalid/x"},
        {"$ref": "https://example.invalid/x"},
        {"$schema": "http://json-schema.org/draft-04/schema#", "patternProperties": {"(": {}}},
    ],
    ids=["meta", "dialect", "remote", "pattern"],
)
def test_a_schema_that_was_never_admitted_is_refused(engine, schema):
    """Engines do not rely on admission."""
    with pytest.raises(EngineRefused):
        SchemaValidator(schema, engine=engine)


@both_engines
def test_old_style_dependencies_hold_in_new_dialects(engine):
    """Both engines check them, whichever keyword the dialect prefers."""
    schema = {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}, "allOf": [True]}
    validator = SchemaValidator(schema, engine=engine)
    assert validator.is_valid({"a": 1, "b": 1})
    assert not validator.is_valid({"a": 1})
    assert not validator.is_valid({"c": 1})


@both_engines
@pytest.mark.parametrize("schema", [True, False])
def test_boolean_schemas_check_everything_or_nothing(engine, schema):
    """A boolean is a schema, if not one that is admitted as input."""
    assert SchemaValidator(schema, engine=engine).is_valid({"a": 1}) is schema


def test_a_schema_that_no_engine_explains_still_refuses():
    """An engine may find a value unfit without an error; then the value is unfit somewhere."""

    class Silent:
        def is_valid(self, value: object) -> bool:
            return False

        def errors(self, value: object) -> list:
            return []

        first_error = errors

    class Mute(RustEngine):
        def compile(self, schema: object, dialect: object) -> Silent:
            return Silent()

    assert [e.rule for e in SchemaValidator({}, engine=Mute()).errors(1)] == ["schema"]


def test_validators_are_kept_by_digest_and_the_oldest_dropped():
    """4,096 stay; asking for one again makes it young."""
    first = compiled({"title": "first"}, "keep-first")
    second = compiled({"title": "second"}, "keep-second")
    for number in range(4_095):
        compiled({}, f"keep-{number}")
        assert compiled({}, "keep-first") is first
    assert compiled({}, "keep-second") is not second


def test_one_digest_asked_for_by_many_threads_gives_sound_validators():
    """No thread sees a half-made validator."""
    answers = []
    gate = threading.Barrier(8)

    def ask(number: int) -> None:
        gate.wait()
        for turn in range(200):
            validator = compiled({"const": turn}, f"threads-{turn}")
            answers.append(validator.is_valid(turn) and not validator.is_valid(-1))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 1600


@pytest.mark.parametrize(
    ("absent", "name"),
    [("", "RustEngine"), ("jsonschema_rs", "PythonEngine")],
    ids=["rust", "python"],
)
def test_the_engine_is_the_fast_one_where_it_can_be_imported(absent, name):
    """Without jsonschema-rs the other engine takes over; the modules above stay the same."""
    script = f"""
        import sys
        if {absent!r}:
            sys.modules[{absent!r}] = None
        from holon_core.wire.engine import engine
        from holon_core.wire.schema_check import check_schema
        from holon_core.wire.schema_engine import compiled
        report = check_schema({{"type": "object"}}, role="input")
        print(type(engine()).__name__, report.usable, compiled(report.schema, "x").is_valid({{}}))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert run.stdout.split() == [name, "True", "True"]


def test_the_engine_in_use_is_the_one_that_decides():
    """With everything installed that is jsonschema-rs, once a process."""
    assert isinstance(engine(), RustEngine)
    assert engine() is engine()
