"""Roots about which nobody said anything: their settings are the defaults, and nothing is read."""

from __future__ import annotations

from holon_core.config import SETTINGS, Config, load
from holon_core.config.unsaid import PREFIX, settings_of


def test_what_nobody_said_is_what_reading_would_give(tmp_path):
    """Every setting and where it comes from, as the full way has it."""
    short, full = settings_of(tmp_path, {}, {}), load(tmp_path, {})

    assert short == full
    assert dict(short.sources) == dict(full.sources)
    assert len(short.sources) == len(SETTINGS)
    assert "default" in repr(short.sources)
    assert "no_such" not in short.sources


def test_every_variable_is_found_by_its_prefix():
    """A setting whose variable began otherwise would not be seen."""
    assert all(not each.env or each.env.startswith(PREFIX) for each in SETTINGS)


def test_a_file_a_variable_and_an_argument_are_each_read(tmp_path):
    """Each takes the full way."""
    assert settings_of(tmp_path, {"HOLON_KEY_TTL_S": "60"}, {}).key_ttl_s == 60
    assert settings_of(None, {}, {"key_ttl_s": 70}).key_ttl_s == 70
    (tmp_path / "holon.toml").write_text("key_ttl_s = 80\n")
    assert settings_of(tmp_path, {}, {}).key_ttl_s == 80


def test_a_root_that_cannot_be_looked_at_is_not_taken_for_one_that_says_nothing(tmp_path):
    """A path through a file has no holon.toml that could be ruled out: reading it says so."""
    place = tmp_path / "file"
    place.write_text("x")

    try:
        found: object = settings_of(place, {}, {})
    except Exception as error:
        found = error

    assert not isinstance(found, Config)
