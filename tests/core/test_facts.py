"""What the core hands to itself: fields by keyword, frozen, compared by them."""

from __future__ import annotations

from typing import Any

import pytest
from attrs.exceptions import FrozenInstanceError

from holon_core.records.facts import Facts


class Place(Facts):
    """A place for tests."""

    name: str
    floor: int = 0


PLACE: Any = Place


def test_fields_are_given_by_keyword_and_have_their_defaults():
    """As those of a record."""
    made = Place(name="attic")

    assert (made.name, made.floor) == ("attic", 0)
    assert repr(made) == "Place(name='attic', floor=0)"


@pytest.mark.parametrize("given", [{}, {"floor": 1}, {"name": "a", "flor": 1}], ids=str)
def test_a_field_that_lacks_or_that_there_is_not_is_an_error(given):
    """A slip of the pen is found where it is made."""
    with pytest.raises(TypeError, match="Place lacks"):
        PLACE(**given)


def test_nothing_is_changed_afterwards():
    """Neither set nor deleted."""
    made: Any = Place(name="attic")

    with pytest.raises(FrozenInstanceError):
        made.name = "cellar"
    with pytest.raises(FrozenInstanceError):
        del made.name


def test_they_are_compared_by_their_fields():
    """And with nothing else; as keys they do not serve."""
    assert Place(name="attic") == Place(name="attic", floor=0)
    assert Place(name="attic") != Place(name="attic", floor=1)
    assert Place(name="attic") != "attic"
    with pytest.raises(TypeError):
        hash(Place(name="attic"))
