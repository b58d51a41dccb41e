"""What is read from docstrings of the three styles."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.functions.docstrings import parse_docstring
from holon_core.functions.signature import describe

CASES = json.loads((Path(__file__).parent / "docstrings.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_docstring_gives_its_prose_and_its_parameters(case):
    """Each style's sections end the prose, and each parameter's text is one line."""
    read = parse_docstring("\n".join(case["text"]))
    assert read.description == "\n".join(case["description"])
    assert read.parameters == case["parameters"]


def test_no_docstring_says_nothing():
    """A function without one has neither prose nor parameters."""
    assert parse_docstring(None) == parse_docstring("") == parse_docstring(" \n ")
    assert parse_docstring(None).description == ""


@given(st.text("ab:- \n\t(),*@é", max_size=80) | st.text(max_size=40))
def test_any_text_can_be_read(text):
    """Whatever stands in a docstring, reading it never fails and describes nothing by nothing."""
    read = parse_docstring(text)
    assert "" not in read.parameters.values()


def test_the_texts_reach_the_schema():
    """Parameters are described by the docstring, unless their annotation does it."""

    def send(to: str, body: str) -> None:
        """Send a message.

        It leaves at once.

        Args:
            to: Who gets it.
            body: What it
                says.
            other: No parameter at all.
        """

    shape = describe(send)
    assert shape.description == "Send a message.\n\nIt leaves at once."
    assert shape.input_schema["properties"] == {
        "to": {"type": "string", "description": "Who gets it."},
        "body": {"type": "string", "description": "What it says."},
    }
