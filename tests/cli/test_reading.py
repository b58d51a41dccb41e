"""Commands that only read make no storage root, wherever a mistyped one points."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ("evidence", "verify"),
        ("evidence", "list"),
        ("evidence", "export", "out.jsonl"),
        ("approval", "list"),
        ("workspace", "list"),
    ],
    ids=" ".join,
)
def test_what_was_recorded_is_not_read_where_nothing_is(inside, tmp_path, words):
    """A mistyped root is no empty one: it is told, and neither made nor called consistent."""
    place = tmp_path / "tyop"

    done = inside("--root", str(place), *words)

    assert done.code == 3
    assert f"there is no storage root at {place}" in done.err
    assert "--root" in done.err
    assert not place.exists()


def test_a_folder_that_is_no_root_is_not_made_one_by_reading(inside, tmp_path):
    """A folder of something else stays as it is."""
    place = tmp_path / "src"
    place.mkdir()

    assert inside("--root", str(place), "evidence", "verify").code == 3
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("tool", "list"),
        ("tool", "read", "host.cli/add"),
        ("tool", "explain", "host.cli/add", "a=1", "b=2"),
        ("runtime-capability", "discover", "add numbers"),
        ("plugin", "list"),
        ("protocol", "list"),
    ],
    ids=" ".join,
)
def test_what_there_is_can_be_read_before_anything_was_recorded(inside, tmp_path, words):
    """Looking at the tools is where one begins, and leaves nothing behind."""
    place = tmp_path / "new"

    done = inside("--root", str(place), *words)

    assert done.code == 0, done.err
    assert not place.exists()


def test_what_writes_makes_the_root(inside, tmp_path):
    """The first call begins the record of calls."""
    place = tmp_path / "new"

    assert inside("--root", str(place), "tool", "call", "host.cli/add", "a=1", "b=2").code == 0
    assert inside("--root", str(place), "evidence", "verify").code == 0
    assert (place / "holon.db").exists()
