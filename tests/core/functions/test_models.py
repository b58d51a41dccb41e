"""pydantic models as parameters and results, where pydantic is installed."""

import datetime as dt
import enum
import subprocess
import sys
from decimal import Decimal
from typing import Annotated, Any

import attrs
import jsonschema_rs
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

from holon_core.functions.codec import ArgumentRefused
from holon_core.functions.signature import describe


class Colour(enum.Enum):
    RED = "red"


class Address(BaseModel):
    street: str
    colour: Colour = Colour.RED


class Person(BaseModel):
    """Somebody."""

    name: str = Field(alias="fullName", min_length=2)
    born: dt.date
    worth: Decimal = Decimal("0")
    homes: list[Address] = []

    @field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        if name == "nobody":
            raise ValueError(f"{name} is not known")
        return name


class Tree(BaseModel):
    branches: list["Tree"] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Numbers(RootModel[list[int]]):
    pass


class Opaque(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    lock: Any
    thing: type(lambda: None)  # type: ignore[valid-type]


@attrs.frozen
class Letter:
    to: Person


def function_of(hint: Any, returns: Any = None) -> Any:
    def tool(value): ...

    tool.__annotations__ = {"value": hint, "return": returns}
    return tool


ANN = {"fullName": "Ann", "born": "2000-01-31", "homes": [{"street": "s", "colour": "red"}]}


def test_a_model_is_described_by_its_own_schema_and_closed():
    """The schema is pydantic's own; its definitions stand at the top and every class is closed."""
    shape = describe(function_of(Person))
    jsonschema_rs.meta.validate(shape.input_schema)
    schema = shape.input_schema["properties"]["value"]
    assert shape.findings == ()
    assert schema["properties"]["fullName"]["minLength"] == 2
    assert schema["description"] == "Somebody."
    assert schema["additionalProperties"] is False
    assert sorted(shape.input_schema["$defs"]) == ["Address", "Colour"]
    assert shape.input_schema["$defs"]["Address"]["additionalProperties"] is False
    assert jsonschema_rs.is_valid(shape.input_schema, {"value": ANN})
    assert not jsonschema_rs.is_valid(shape.input_schema, {"value": {**ANN, "age": 3}})


def test_a_model_that_is_open_stays_open():
    """Extra keys that a model asks for are let in."""
    shape = describe(function_of(Open))
    assert shape.input_schema["properties"]["value"]["additionalProperties"] is True
    assert shape.bind({"value": {"name": "a", "more": 1}})["value"].more == 1


def test_a_model_is_bound_and_written_strictly():
    """Dates and enums are read from JSON's texts and written back as they came."""
    shape = describe(function_of(Person, returns=Person))
    person = shape.bind({"value": ANN})["value"]
    assert person == Person(fullName="Ann", born=dt.date(2000, 1, 31), homes=[Address(street="s")])
    output = shape.result(person)
    assert output == {**ANN, "worth": "0"}
    jsonschema_rs.validate(shape.output_schema, output)


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ({**ANN, "born": 3}, "/value/born", "date_type"),
        ({**ANN, "fullName": 3}, "/value/fullName", "string_type: Input should be a valid string"),
        ({**ANN, "homes": [{"street": 1}]}, "/value/homes/0/street", "string_type"),
        ({**ANN, "fullName": "nobody"}, "/value/fullName", "refuses the value (value_error)"),
        ({"value": object()}, "/value", "refuses the value (TypeError)"),
    ],
    ids=["date", "text", "nested", "validator", "not JSON"],
)
def test_what_a_model_refuses_is_refused_at_its_path(value, path, text):
    """A refusal by pydantic keeps its place and its rule, and leaves the value out."""
    with pytest.raises(ArgumentRefused) as caught:
        describe(function_of(Person)).bind({"value": value})
    assert caught.value.path == path
    assert text in caught.value.message
    assert "nobody" not in str(caught.value)


def test_models_stand_inside_other_types():
    """A model works in a union, a container and a class, like any other class."""
    shape = describe(function_of(list[Address] | Letter | None, returns=list[Letter]))
    assert shape.findings == ()
    assert shape.bind({"value": [{"street": "s"}]})["value"] == [Address(street="s")]
    letter = shape.bind({"value": {"to": ANN}})["value"]
    assert letter.to.name == "Ann"
    assert shape.result([letter]) == {"result": [{"to": {**ANN, "worth": "0"}}]}


def test_the_right_one_of_two_models_is_taken():
    """A union of models is decided by which of them accepts the value."""
    shape = describe(function_of(Address | Open))
    assert shape.bind({"value": {"name": "a"}})["value"] == Open(name="a")


def test_a_recursive_model_refers_to_its_definition():
    """A model that names itself is an object at the top, with its definition beside."""
    shape = describe(function_of(Tree, returns=Tree))
    assert shape.output_schema["type"] == "object"
    for schema in (shape.input_schema, shape.output_schema):
        jsonschema_rs.meta.validate(schema)
        assert schema["$defs"]["Tree"]["additionalProperties"] is False
    tree = shape.bind({"value": {"branches": [{"branches": []}]}})["value"]
    assert tree == Tree(branches=[Tree()])
    assert shape.result(tree) == {"branches": [{"branches": []}]}


def test_models_of_one_name_keep_their_own_definitions():
    """Two models with a part of the same name do not share its definition."""

    def other() -> Any:
        class Address(BaseModel):
            city: int

        class Firm(BaseModel):
            seat: Address

        return Firm

    def function(person: Person, firm: Any) -> None: ...

    function.__annotations__["firm"] = other()
    shape = describe(function)
    schema = shape.input_schema
    assert schema["$defs"].keys() == {"Address", "Colour", "Address_2"}
    assert schema["properties"]["firm"]["properties"]["seat"] == {"$ref": "#/$defs/Address_2"}
    assert schema["$defs"]["Address_2"]["properties"].keys() == {"city"}


def test_a_root_model_is_what_it_holds():
    """A model of a list is a list to the caller, and its result is wrapped."""
    shape = describe(function_of(Numbers | None, returns=Numbers))
    assert shape.bind({"value": [1, 2]}) == {"value": Numbers([1, 2])}
    assert shape.bind({"value": None}) == {"value": None}
    assert shape.result(Numbers([1])) == {"result": [1]}
    with pytest.raises(ArgumentRefused):
        shape.bind({"value": ["1"]})


def test_what_is_no_model_is_left_to_the_output_schema():
    """JSON in a model's place comes out as it is, anything else is refused by name."""
    shape = describe(function_of(int, returns=Address))
    assert shape.result({"street": 1}) == {"street": 1}
    with pytest.raises(TypeError, match="Tree has no JSON form"):
        shape.result(Tree())


def test_a_model_without_a_schema_is_a_finding():
    """What pydantic itself cannot describe is refused with its reason."""
    (finding,) = describe(function_of(Opaque)).findings
    assert finding.path == "/parameters/value"
    assert "Opaque has no JSON Schema" in finding.message


def test_the_bounds_of_a_field_count_in_annotated():
    """A pydantic Field in Annotated describes and bounds a plain parameter."""
    shape = describe(function_of(Annotated[int, Field(description="A count.", ge=1, lt=9)]))
    assert shape.findings == ()
    assert shape.input_schema["properties"]["value"] == {
        "type": "integer",
        "description": "A count.",
        "minimum": 1,
        "exclusiveMaximum": 9,
    }
    shape = describe(function_of(Annotated[str, Field(pattern="^a", max_length=3)]))
    assert shape.input_schema["properties"]["value"] == {
        "type": "string",
        "pattern": "^a",
        "maxLength": 3,
    }


def test_pydantic_is_never_imported_for_its_own_sake():
    """Describing functions without models leaves pydantic unloaded."""
    code = (
        "import sys\nfrom holon_core.functions.signature import describe\n"
        "def f(a: int, b: list[str]) -> dict[str, int]: ...\n"
        "assert describe(f).findings == ()\nprint('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
