"""A store whose file is no longer where it was opened: nothing runs that nobody could find."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from holon_core.errors import StoreError


def _moved(root: Path) -> None:
    (root / "holon.db").rename(root.parent / "moved.db")


def _removed(root: Path) -> None:
    (root / "holon.db").unlink()


def _removed_whole(root: Path) -> None:
    shutil.rmtree(root)


def _exchanged(root: Path) -> None:
    _moved(root)
    holon.Runtime.open(root, discover=False).close()


@pytest.mark.parametrize("change", [_moved, _removed, _removed_whole, _exchanged])
@pytest.mark.parametrize("effects", ["none", "network_write"])
def test_a_call_that_nobody_could_find_does_not_run(
    tmp_path: Path, change: Any, effects: str
) -> None:
    """The open files are still written to, and lead nowhere."""
    root, ran = tmp_path / "root", []

    def write(a: int) -> None:
        """Write."""
        ran.append(a)

    rules = {"rules": [{"decision": "allow"}]}
    with holon.Runtime.open(root, discover=False, config=rules) as rt:
        rt.register(write, effects={effects})
        session = rt.session(principal="ann")
        assert session.call("host.app/write", {"a": 1})
        change(root)
        for further in ({}, {"key": "k"}):
            result = session.call("host.app/write", {"a": 2}, **further)
            assert result.failure is not None
            assert result.failure.code == "evidence_unavailable"
            assert "was removed or replaced" in result.failure.message
        with pytest.raises(StoreError, match="was removed or replaced"):
            rt.evidence.verify(None)
    assert ran == [1]


def test_a_store_stays_where_it_is_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root was given as a relative path."""
    monkeypatch.chdir(tmp_path)
    with holon.Runtime.open("root", discover=False) as rt:
        rt.register(lambda: 1, name="one", effects={"none"})
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert rt.session(principal="ann").call("host.app/one").status is holon.Status.COMPLETED
