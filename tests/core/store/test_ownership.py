"""Whose the storage root is, and what is said where others may write it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

import holon_core as holon
from chains import opened, write
from holon_core.store.ownership import open_to_others

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights are of another kind there")


def mode(path: Path) -> int:
    """Return the rights of a path."""
    return path.stat().st_mode & 0o777


def test_files_of_a_store_become_its_owners_alone(tmp_path):
    """A copy that was restored, or a log that somebody opened up, is not left readable."""
    path = tmp_path / "store.db"
    with opened(path) as store:
        write(store, "ws", 1)
        for part in ("", "-wal", "-shm"):
            path.with_name(path.name + part).chmod(0o666)

        with opened(path):
            found = {part: mode(path.with_name(path.name + part)) for part in ("", "-wal", "-shm")}

    assert found == {"": 0o600, "-wal": 0o600, "-shm": 0o600}


def test_what_is_no_store_keeps_its_rights(tmp_path):
    """A file that is refused is left as it was."""
    path = tmp_path / "store.db"
    path.write_bytes(b"no store" * 100)
    path.chmod(0o644)

    with pytest.raises(holon.StoreError), opened(path):
        pass

    assert mode(path) == 0o644


def test_a_root_that_holon_made_is_its_users_alone(tmp_path):
    """Whatever the umask says."""
    before = os.umask(0)
    try:
        holon.Runtime.open(tmp_path / "root", discover=False).close()
    finally:
        os.umask(before)

    root = tmp_path / "root"
    assert {p: mode(p) for p in (root, root / "live", root / "holon.db")} == {
        root: 0o700,
        root / "live": 0o700,
        root / "holon.db": 0o600,
    }
    assert open_to_others(root.resolve()) == ()


@pytest.mark.parametrize("part", ["", "holon.toml", "secrets", "plugins"])
def test_a_root_that_others_may_write_is_told_and_opened(tmp_path, caplog, part):
    """They could exchange what decides over calls."""
    root = tmp_path.resolve() / "root"
    root.mkdir(mode=0o700)
    place = root / part
    place.mkdir(exist_ok=True) if "." not in part else place.touch()
    place.chmod(0o777)

    with caplog.at_level(logging.WARNING, logger="holon.core"):
        holon.Runtime.open(root, discover=False).close()

    assert f"{place} may be written by others" in caplog.text


def test_a_live_folder_that_others_may_write_is_closed(tmp_path, caplog):
    """A lock that others can exchange would make the dead look alive."""
    (tmp_path / "root" / "live").mkdir(parents=True)
    (tmp_path / "root").chmod(0o700)
    (tmp_path / "root" / "live").chmod(0o777)

    with caplog.at_level(logging.WARNING, logger="holon.core"):
        holon.Runtime.open(tmp_path / "root", discover=False).close()

    assert mode(tmp_path / "root" / "live") == 0o700
    assert caplog.text == ""


@pytest.mark.parametrize(("rights", "told"), [(0o777, True), (0o1777, False), (0o775, False)])
def test_a_folder_above_counts_where_others_can_exchange_the_root(tmp_path, rights, told):
    """Not one where everybody may only add, as in a folder for temporary files."""
    above = tmp_path.resolve() / "above"
    root = above / "root"
    root.mkdir(parents=True, mode=0o700)
    above.chmod(rights)

    assert bool(open_to_others(root)) is told


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives away")
def test_a_part_of_another_user_is_told(tmp_path):
    """Who owns it may change it, whatever its rights say."""
    root = tmp_path / "root"
    holon.Runtime.open(root, discover=False).close()
    os.chown(root / "live", 12345, 12345)

    assert open_to_others(root.resolve()) == (f"{root / 'live'} belongs to another user",)
