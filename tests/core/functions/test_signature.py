"""What a function's shape is made of: callables of every kind, parameters, outputs."""

import functools
import math
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from typing import Any

import attrs
import pytest

from holon_core.functions.decorator import ToolOptions, tool
from holon_core.functions.signature import FunctionShape, describe
from holon_core.records.words import Severity
from support import label


@attrs.frozen
class Receipt:
    number: int


class Call:
    """What a host hands to a function that asks for it."""

    __holon_inject__ = True


def add(left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


async def add_later(left: int, right: int = 1) -> int:
    """Add two numbers, later."""
    return left + right


class Desk:
    """A desk."""

    def add(self, left: int) -> int:
        """Add to the desk."""
        return left

    @classmethod
    def of(cls, left: int) -> int:
        return left

    @staticmethod
    def static(left: int) -> int:
        return left

    async def later(self, left: int) -> int:
        return left


class Adder:
    """Adds."""

    def __call__(self, left: int) -> int:
        return left


class AsyncAdder:
    async def __call__(self, left: int) -> int:
        """Add, later."""
        return left


def wrapped(fn: Any) -> Any:
    @functools.wraps(fn)
    def around(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return around


LEFT = {
    "type": "object",
    "properties": {"left": {"type": "integer"}},
    "required": ["left"],
    "additionalProperties": False,
}


def errors(shape: FunctionShape) -> list[tuple[str, str]]:
    return [(f.path, f.message) for f in shape.findings if f.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("fn", "name", "description", "is_async"),
    [
        (Desk().add, "add", "Add to the desk.", False),
        (Desk.of, "of", "", False),
        (Desk.static, "static", "", False),
        (Desk().later, "later", "", True),
        (Adder(), "Adder", "Adds.", False),
        (AsyncAdder(), "AsyncAdder", "Add, later.", True),
        (functools.partial(Desk().add), "add", "Add to the desk.", False),
        (functools.partial(Adder()), "__call__", "", False),
        (functools.partial(add, right=2), "add", "Add two numbers.", False),
        (functools.partial(add_later, right=2), "add_later", "Add two numbers, later.", True),
        (wrapped(Desk.static), "static", "", False),
    ],
    ids=lambda value: value if isinstance(value, str) and value else "",
)
def test_every_kind_of_callable_is_described(fn, name, description, is_async):
    """Methods, callable objects, partials and wrappers show what they call."""
    shape = describe(fn)
    assert shape.findings == ()
    assert (shape.name, shape.description, shape.is_async) == (name, description, is_async)
    assert shape.input_schema == LEFT
    assert shape.bind({"left": 3}) == {"left": 3}


def test_options_replace_name_and_description():
    """What the author states stands above what the function says of itself."""
    shape = describe(add, ToolOptions(name="plus", description="Sum."))
    assert (shape.name, shape.description) == ("plus", "Sum.")


def test_options_are_taken_from_the_function_itself():
    """A decorated function needs no options beside it."""

    @tool(name="plus")
    def function() -> None: ...

    assert describe(function).name == "plus"


def test_a_parameter_that_a_partial_settles_is_not_for_the_caller():
    """What the host bound is in no schema, so that no caller can change it."""
    shape = describe(functools.partial(add, right=2))
    assert "right" not in shape.input_schema["properties"]
    assert describe(functools.partial(add, 1)).input_schema["properties"].keys() == {"right"}


def test_defaults_are_shown_and_never_required():
    """A JSON default stands in the schema; filling it in is left to Python."""
    shape = describe(add)
    assert shape.input_schema["required"] == ["left"]
    assert shape.input_schema["properties"]["right"] == {"type": "integer", "default": 1}
    assert shape.bind({"left": 1}) == {"left": 1}


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, None),
        (int, True),
        (float, math.nan),
        (int, 2**53),
        (str, "\ud800"),
        (Any, object()),
        (list[str], ["a", 1]),
        (Receipt, Receipt(number="x")),  # type: ignore[arg-type]
    ],
    ids=label,
)
def test_a_default_that_the_schema_refuses_is_not_shown(hint, default):
    """A default that is no JSON of the parameter's type makes it optional, and nothing else."""

    def function(value=default): ...

    function.__annotations__ = {"value": hint}
    schema = describe(function).input_schema
    assert "required" not in schema
    assert "default" not in schema["properties"]["value"]


def test_a_default_of_none_does_not_widen_the_hint():
    """Every Python version derives the same schema from an implicit Optional."""

    def function(value: str = None): ...  # type: ignore[assignment] # noqa: RUF013

    schema = describe(function).input_schema
    assert schema["properties"]["value"] == {"type": "string"}


def test_a_parameter_without_hint_accepts_any_json_with_a_warning():
    """A missing hint is not guessed from the default."""

    def function(value=3): ...

    shape = describe(function)
    assert shape.input_schema["properties"]["value"] == {"default": 3}
    (finding,) = shape.findings
    assert (finding.path, finding.severity) == ("/parameters/value", Severity.WARNING)


def test_parameters_that_have_no_name_for_a_caller_are_findings():
    """Positional-only, variadic and keyword parameters are refused, all of them at once."""

    def function(first: int, /, second: int, *args: int, **kwargs: Any) -> None: ...

    shape = describe(function)
    assert [path for path, _ in errors(shape)] == [
        "/parameters/first",
        "/parameters/args",
        "/parameters/kwargs",
    ]
    assert shape.input_schema["properties"].keys() == {"second"}


def test_two_parameters_of_one_unsupported_class_are_two_findings():
    """A class that was refused once is refused again."""

    @attrs.frozen
    class Raw:
        data: bytes

    def function(first: Raw, second: list[Raw]) -> None: ...

    assert [path for path, _ in errors(describe(function))] == [
        "/parameters/first",
        "/parameters/second",
    ]


def test_an_unresolved_annotation_names_its_parameter():
    """A forward reference to nothing is a finding at the one parameter, and at the return."""

    def function(good: int, bad: "Nowhere", worse: "list[") -> "Nowhere": ...  # type: ignore[name-defined,valid-type] # noqa: F821,F722

    found = errors(describe(function))
    assert [path for path, _ in found] == ["/parameters/bad", "/parameters/worse", "/return"]
    assert "name 'Nowhere' is not defined" in found[0][1]


def test_a_parameter_of_an_injected_type_is_left_to_the_host():
    """Marked types are in no schema and are listed by the parameter's name."""

    def function(left: int, call: Call, maybe: Call | None = None) -> None: ...

    shape = describe(function)
    assert shape.input_schema == LEFT
    assert shape.injected == {"call": Call, "maybe": Call}


def test_a_parameter_filled_from_a_secret_is_left_to_the_host():
    """A secret's parameter is in no schema, whatever its hint is."""

    def function(left: int, token: bytes) -> None: ...

    shape = describe(function, ToolOptions(secrets={"token": "env:TOKEN"}))
    assert shape.findings == ()
    assert shape.input_schema == LEFT


def test_a_secret_for_no_parameter_is_a_finding():
    """A misspelt name of a secret's parameter does not go unseen."""
    shape = describe(add, ToolOptions(secrets={"tocken": "env:TOKEN"}))
    assert errors(shape) == [
        ("/parameters/tocken", "secrets names tocken, which is no parameter"),
    ]


def items() -> Iterator[int]:
    yield 1


async def async_items() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (Receipt, "a class is no function"),
        (3, "int is no function"),
        (Desk.add, "register the bound method"),
        (items, "a generator has no single result"),
        (async_items, "a generator has no single result"),
        (lambda: None, "a lambda has no name"),
        (getattr, "its signature cannot be read"),
        (type("Broken", (), {"__call__": 3})(), "its signature cannot be read"),
    ],
    ids=["class", "number", "unbound", "generator", "async generator", "lambda", "C", "broken"],
)
def test_what_is_no_tool_is_a_finding(fn, text):
    """Whatever cannot be called as a tool is refused as a whole, with the reason."""
    whole = [message for path, message in errors(describe(fn)) if path == ""]
    assert any(text in message for message in whole)


def test_a_lambda_with_a_name_is_a_tool():
    """Only the missing name was wrong with it."""
    shape = describe(lambda: 3, ToolOptions(name="three"))
    assert (shape.name, shape.findings) == ("three", ())


def test_a_builtin_with_a_signature_is_a_tool():
    """Functions written in C are described where they have a signature; hints they have none."""
    shape = describe(math.isclose)
    assert errors(shape) == []
    assert shape.input_schema["required"] == ["a", "b"]


@pytest.mark.parametrize("hint", [Awaitable[int], Coroutine[Any, Any, int]], ids=label)
def test_a_function_that_returns_something_to_await_is_async(hint):
    """The annotation of an awaitable says so, and its result is the inner type."""

    def function(): ...

    function.__annotations__ = {"return": hint}
    shape = describe(function)
    assert shape.is_async
    assert shape.output_schema["properties"] == {"result": {"type": "integer"}}


def test_an_object_is_the_output_itself():
    """Results that are objects are not wrapped."""

    def function() -> Receipt:
        return Receipt(3)

    shape = describe(function)
    assert shape.output_schema == {
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
        "additionalProperties": False,
    }
    assert shape.result(Receipt(3)) == {"number": 3}


@pytest.mark.parametrize(
    ("hint", "schema", "value"),
    [
        (int, {"type": "integer"}, 3),
        (None, {"type": "null"}, None),
        (list[str], {"type": "array", "items": {"type": "string"}}, ["a"]),
        (Any, {}, {"a": 1}),
        (
            dict[str, int] | None,
            {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "integer"}},
                    {"type": "null"},
                ]
            },
            {"a": 1},
        ),
    ],
    ids=label,
)
def test_everything_else_is_wrapped(hint, schema, value):
    """A result that need not be an object stands under one key of a closed one."""

    def function(): ...

    function.__annotations__ = {"return": hint}
    shape = describe(function)
    assert shape.output_schema == {
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
        "additionalProperties": False,
    }
    assert shape.result(value) == {"result": value}


def test_a_result_without_annotation_is_wrapped_under_an_open_schema():
    """Nothing is promised of what nobody declared, but its place is the same."""

    def function(): ...

    shape = describe(function)
    assert shape.output_schema == {"type": "object"}
    assert shape.result({"a": 1}) == {"result": {"a": 1}}


def test_an_explicit_input_schema_replaces_the_derived_one():
    """The author's schema stands as given, is copied, and arguments pass as they are."""
    given = {"type": "object", "properties": {"left": {"enum": [1, 2]}}, "required": ["left"]}
    shape = describe(add, ToolOptions(input_schema=given))
    assert shape.findings == ()
    assert shape.input_schema == given
    given["properties"]["left"]["enum"].append(3)  # type: ignore[index]
    assert shape.input_schema["properties"]["left"] == {"enum": [1, 2]}
    arguments = {"left": 1}
    assert shape.bind(arguments) == arguments
    assert shape.bind(arguments) is not arguments


def test_an_explicit_input_schema_lifts_what_hints_cannot_say():
    """With a schema of its own a function may have any hints, and keywords that are open."""

    def function(data: bytes, *args: int, **more: Any) -> None: ...

    given = {"type": "object", "properties": {"data": {}, "other": {}}, "required": ["data"]}
    assert describe(function, ToolOptions(input_schema=given)).findings == ()


def test_an_explicit_input_schema_that_disagrees_with_the_function_is_a_finding():
    """Properties without a parameter, and parameters that may be missing, are found together."""

    def function(first: int, second: int, third: int = 0, *, token: str, call: Call) -> None: ...

    given = {
        "type": "object",
        "properties": {"first": {}, "second": {}, "token": {}, "call": {}, "extra": {}},
        "required": ["first"],
    }
    options = ToolOptions(input_schema=given, secrets={"token": "env:TOKEN"})
    found = [path for path, _ in errors(describe(function, options))]
    assert found == [f"/parameters/{name}" for name in ("token", "call", "extra", "second")]


def test_open_keywords_do_not_open_what_the_host_fills():
    """A schema cannot hand a secret's, an injected or a settled parameter to the caller."""

    def function(*, call: Call, token: str, limit: int, **more: Any) -> None: ...

    properties: dict[str, Any] = {"call": {}, "token": {}, "limit": {}, "other": {}}
    options = ToolOptions(
        input_schema={"type": "object", "properties": properties},
        secrets={"token": "env:TOKEN"},
    )
    found = errors(describe(functools.partial(function, limit=3), options))
    assert [path for path, _ in found] == [
        "/parameters/call",
        "/parameters/token",
        "/parameters/limit",
    ]


def test_an_explicit_schema_has_to_describe_an_object():
    """Arguments and outputs are objects, so their schemas are schemas of objects."""
    options = ToolOptions(input_schema={"type": "array"}, output_schema={"type": "string"})

    def function() -> str:
        return ""

    assert errors(describe(function, options)) == [
        ("", "input_schema has to describe an object"),
        ("/return", "output_schema has to describe an object"),
    ]


def test_a_positional_parameter_is_refused_under_an_explicit_schema_too():
    """No schema makes a parameter passable by a name that it does not have."""

    def function(first: int, /) -> None: ...

    given = {"type": "object", "properties": {}}
    found = errors(describe(function, ToolOptions(input_schema=given)))
    assert [path for path, _ in found] == ["/parameters/first"]


def test_an_explicit_output_schema_replaces_the_derived_one():
    """The result still is converted by its annotation, and is never wrapped."""
    given = {"type": "object", "properties": {"number": {"minimum": 1}}}

    def function() -> Receipt:
        return Receipt(3)

    shape = describe(function, ToolOptions(output_schema=given))
    assert shape.output_schema == given
    assert shape.result(Receipt(3)) == {"number": 3}
