"""Where programs are looked for, and with which environment they start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holon_core._process_launch import child_environment
from holon_core.process import resolve_program

posix = pytest.mark.skipif(os.name == "nt", reason="needs executable bits and links")
pytestmark = posix


def plant(folder: Path, name: str = "tool", *, mode: int = 0o755) -> Path:
    """Put a program into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(mode)
    return folder / name


def test_a_program_is_found_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    """A file that cannot be executed, or a folder of that name, does not count."""
    plant(tmp_path / "a", mode=0o644)
    (tmp_path / "b" / "tool").mkdir(parents=True)
    wanted = plant(tmp_path / "c")
    plant(tmp_path / "d")

    path = os.pathsep.join(str(tmp_path / folder) for folder in "abcd")

    assert resolve_program("tool", path=path) == str(wanted)


@pytest.mark.parametrize(
    "path", ["", ":", ".", "./bin", "bin", ":/nowhere", ".:", "~", "/nowhere:"]
)
def test_a_planted_program_is_not_found_through_an_unsafe_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Empty and relative entries would mean the working directory."""
    plant(tmp_path)
    plant(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)

    assert resolve_program("tool", path=path) is None
    monkeypatch.setenv("PATH", path)
    assert resolve_program("tool") is None


@pytest.mark.parametrize("name", ["", ".", "..", "./tool", "bin/tool", "tool\0x", "../tool"])
def test_what_is_no_plain_name_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A relative path is not a command, even where it leads to a program."""
    plant(tmp_path)
    plant(tmp_path / "bin")
    monkeypatch.chdir(tmp_path / "bin")

    assert resolve_program(name, path=f"{tmp_path}{os.pathsep}{tmp_path / 'bin'}") is None


def test_an_absolute_path_is_taken_as_it_is(tmp_path: Path) -> None:
    """Where it names a program."""
    wanted = plant(tmp_path)

    assert resolve_program(str(wanted), path="") == str(wanted)
    assert resolve_program(str(tmp_path / "absent"), path=str(tmp_path)) is None


@pytest.mark.parametrize("kind", ["inside", "link into", "link out of", "folder link", "absolute"])
def test_no_program_is_taken_from_a_workspace(tmp_path: Path, kind: str) -> None:
    """Neither directly nor through links in either direction; the search goes on after it."""
    workspace, elsewhere = tmp_path / "ws", tmp_path / "bin"
    inner, outer = plant(workspace, "inner"), plant(elsewhere, "outer")
    (elsewhere / "tool").symlink_to(inner)
    (workspace / "tool").symlink_to(outer)
    (tmp_path / "linked").symlink_to(workspace)
    name, folder = {
        "inside": ("inner", workspace),
        "link into": ("tool", elsewhere),
        "link out of": ("tool", workspace),
        "folder link": ("inner", tmp_path / "linked"),
        "absolute": (str(inner), elsewhere),
    }[kind]
    good = plant(tmp_path / "good", Path(name).name)

    found = resolve_program(name, path=f"{folder}:{good.parent}", outside=[workspace])

    assert found == (None if kind == "absolute" else str(good))


def test_a_folder_that_only_begins_alike_is_not_the_workspace(tmp_path: Path) -> None:
    """Containment goes by whole names."""
    wanted = plant(tmp_path / "ws-tools")

    found = resolve_program("tool", path=str(wanted.parent), outside=[tmp_path / "ws"])

    assert found == str(wanted)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    ("path", "kept"),
    [(":/usr/bin:.:/bin:bin", "/usr/bin:/bin"), ("", os.defpath), (".", os.defpath)],
)
def test_the_childs_path_has_no_unsafe_entry(
    monkeypatch: pytest.MonkeyPatch, path: str, kept: str, declared: bool
) -> None:
    """Nor is it ever absent: some systems then search the working directory."""
    monkeypatch.setenv("PATH", "/sbin" if declared else path)

    assert child_environment({"PATH": path} if declared else {})["PATH"] == kept
