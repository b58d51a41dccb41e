"""`holon doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest


def checks(done):
    """Return the checks by name."""
    return {check["name"]: check for check in done.json["checks"]}


def test_a_root_that_is_not_there_is_not_made(holon):
    """Looking changes nothing."""
    done = holon("doctor", "--json")

    assert done.code == 0
    assert checks(done)["storage root"]["state"] == "absent"
    assert not holon.root.exists()


def test_a_sound_root_is_looked_through(holon):
    """Store, chains and the parts of the machine are named with their versions."""
    holon("tool", "call", "host.cli/add", "a=1", "b=2")

    found = checks(holon("doctor", "--json"))

    assert found["sqlite"]["detail"].startswith(sqlite3.sqlite_version)
    assert found["store"]["state"] == "ok"
    assert found["evidence"]["detail"] == "1 chain read, 2 records verified"
    assert {"python", "json schema", "extra otel", "extra keyring"} <= set(found)


def test_tampered_evidence_is_a_problem(holon):
    """One changed byte fails the whole, and says which chain."""
    holon("tool", "call", "host.cli/add", "a=1", "b=2")
    with closing(sqlite3.connect(holon.root / "holon.db")) as connection, connection:
        connection.execute("update evidence set body=replace(body, 'host.cli', 'host.clx')")

    done = holon("doctor")

    assert done.code == 1
    assert "evidence of _runtime" in done.out


def test_a_damaged_store_is_a_problem_and_not_the_end(holon):
    """The other checks are shown all the same."""
    holon.root.mkdir()
    (holon.root / "holon.db").write_bytes(b"no store" * 1000)

    done = holon("doctor", "--json")

    assert done.code == 1
    assert checks(done)["store"]["state"] == "problem"
    assert checks(done)["store"]["remedy"]
    assert checks(done)["python"]["state"] == "ok"


def test_a_refused_configuration_is_a_problem(holon):
    """Each finding is a check."""
    holon.root.mkdir()
    (holon.root / "holon.toml").write_text("colour = 1\n", encoding="utf-8")

    done = holon("doctor", "--json")

    assert done.code == 1
    assert "holon.toml:1" in checks(done)["holon.toml"]["detail"]


def test_settings_name_their_source(holon):
    """Environment before file before default."""
    holon.root.mkdir()
    (holon.root / "holon.toml").write_text("key_ttl_s = 60\napproval_ttl_s = 61\n")

    done = holon("doctor", "--config", "--json", HOLON_APPROVAL_TTL_S="62")

    found = {row["setting"]: (row["value"], row["source"]) for row in done.json["settings"]}
    assert found["key_ttl_s"] == (60, "holon.toml:1")
    assert found["approval_ttl_s"] == (62, "env HOLON_APPROVAL_TTL_S")
    assert found["store.journal"] == ("wal", "default")
    assert holon("doctor", "--config", HOLON_APPROVAL_TTL_S="62").out.count("env HOLON") == 1


@pytest.mark.skipif(os.name != "posix", reason="rights are of another kind there")
def test_a_root_that_others_may_write_is_a_problem(holon):
    """They can exchange the store, and what decides over calls."""
    holon("tool", "call", "host.cli/add", "a=1", "b=2")
    holon.root.chmod(0o777)

    done = holon("doctor")

    assert done.code == 1
    assert f"{holon.root} may be written by others" in done.out
    assert "chmod go-w" in done.out


def test_a_setting_that_lets_in_nobody_is_a_problem(holon):
    """A shortened or mistyped name would otherwise be an empty list without a word."""
    holon("tool", "call", "host.cli/add", "a=1", "b=2")

    done = holon("doctor", "--json", HOLON_PLUGINS="workspace")

    assert done.code == 1
    found = checks(done)["setting plugins (env HOLON_PLUGINS)"]
    assert found["state"] == "problem"
    assert "workspace is no distribution" in found["detail"]


def test_a_required_plugin_that_is_absent_is_corrected_in_its_place(holon):
    """It is not retired: it never belonged to the root."""
    holon.root.mkdir()
    (holon.root / "holon.toml").write_text('required_plugins = ["shop-gaurd"]\n')

    done = holon("doctor", "--json")

    assert done.code == 1
    assert "holon.toml:1" in checks(done)["guard shop-gaurd"]["remedy"]
    assert "retire" not in checks(done)["guard shop-gaurd"]["remedy"]
