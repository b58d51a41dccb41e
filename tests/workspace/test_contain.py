"""The containment layer itself, by descriptors and in the form for platforms without them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holon_builtin_workspace.contain import MAX_DEPTH, MAX_LINKS, Root, opened
from holon_builtin_workspace.handles import HOLDS, HeldFolder, Moved, NamedFolder
from holon_builtin_workspace.refusals import Refused
from holon_core.records.workspace import Workspace

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
FORMS = [pytest.param(True, id="held", marks=posix), pytest.param(False, id="named")]


@contextmanager
def root_of(folder: Path, *, hold: bool = HOLDS) -> Iterator[Root]:
    """Hold a folder as a workspace."""
    found = folder.stat()
    workspace = Workspace(id="w", root_path=str(folder), device=found.st_dev, inode=found.st_ino)
    with opened(workspace, hold=hold) as root:
        yield root


def code_of(folder: Path, path: str, *, hold: bool = HOLDS) -> str:
    """Return the code with which a path is refused."""
    with root_of(folder, hold=hold) as root, pytest.raises(Refused) as caught:
        root.open(path)
    return caught.value.problem.code


def content_of(folder: Path, path: str, *, hold: bool = HOLDS) -> tuple[str, str]:
    """Return the canonical path and the content of a file."""
    with root_of(folder, hold=hold) as root:
        place, descriptor = root.open(path)
        try:
            return os.fsdecode(place.path), os.read(descriptor, 1000).decode()
        finally:
            os.close(descriptor)


@posix
@pytest.mark.parametrize("hold", FORMS)
def test_both_forms_agree_on_what_is_inside(root: Path, hold: bool) -> None:
    """What works with descriptors works without, and what is refused is refused."""
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("a")
    (root / "down").symlink_to("sub")
    (root / "back").symlink_to("sub/../down/a.txt")
    (root / "absolute").symlink_to(root / "sub")
    (root / "out").symlink_to("../out.txt")
    (root / "loop").symlink_to("loop")
    (root.parent / "out.txt").write_text("out")
    os.mkfifo(root / "pipe")

    for path in ("sub/a.txt", "down/a.txt", "back", "absolute/a.txt", "down/../sub/a.txt"):
        assert content_of(root, path, hold=hold) == ("sub/a.txt", "a")
    expected = {
        "out": "path_escape",
        "../out.txt": "path_escape",
        "absolute/../../out.txt": "path_escape",
        "loop": "path_loop",
        "pipe": "not_regular_file",
        "sub": "is_a_directory",
        "sub/none": "path_not_found",
        "none/../sub/a.txt": "path_not_found",
        "sub/a.txt/": "not_a_directory",
        "sub/a.txt/..": "not_a_directory",
        "x" * 300: "path_invalid",
    }
    assert {path: code_of(root, path, hold=hold) for path in expected} == expected


@posix
@pytest.mark.parametrize("hold", FORMS)
def test_a_folder_exchanged_for_a_link_is_noticed(root: Path, hold: bool) -> None:
    """What was held or seen before is never mistaken for what has taken its name."""
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("inside")
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("OUTSIDE")
    with root_of(root, hold=hold) as held:
        folder = held.folder.down(b"sub")
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to(outside)
        if hold:
            descriptor = folder.file(b"a.txt")
            assert os.read(descriptor, 100) == b"inside"
            os.close(descriptor)
        else:
            with pytest.raises(Moved):
                folder.file(b"a.txt")
        with pytest.raises(Moved):
            held.folder.down(b"sub")
        folder.close()


@posix
@pytest.mark.parametrize("kind", [HeldFolder, NamedFolder])
def test_only_regular_files_are_opened(root: Path, kind: type[HeldFolder | NamedFolder]) -> None:
    """A pipe, a folder or a link in the place of a file was exchanged, and is let go."""
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    (root / "link").symlink_to("file")
    (root / "file").write_text("x")
    held = kind.at(os.fsencode(root))

    for name in (b"pipe", b"folder", b"link", b"none"):
        with pytest.raises((Moved, FileNotFoundError)):
            held.file(name)
    assert sorted(held.names()) == [b"file", b"folder", b"link", b"pipe"]
    held.close()
    held.close()


@posix
def test_nothing_stays_open(root: Path) -> None:
    """However a look ends, its descriptors are closed."""
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "f").write_text("x")
    (root / "l").symlink_to("a/b/../../../x")
    before = list(Path("/dev/fd").iterdir())

    for path in ("a/b/f", "a/b", "l", "a/b/none", "a/../../x", "a/b/f/x"):
        with root_of(root) as held:
            try:
                held.find(path)
            except Refused:
                continue

    assert len(list(Path("/dev/fd").iterdir())) == len(before)


@posix
def test_links_and_depth_have_their_limits(root: Path) -> None:
    """Forty links work, one more does not; so many folders work, one more does not."""
    (root / "0").write_text("end")
    for number in range(1, MAX_LINKS + 2):
        (root / str(number)).symlink_to(str(number - 1))
    deep = "/".join(["d"] * MAX_DEPTH)
    (root / deep / "d").mkdir(parents=True)

    assert content_of(root, str(MAX_LINKS)) == ("0", "end")
    assert code_of(root, str(MAX_LINKS + 1)) == "path_loop"
    assert code_of(root, deep) == "is_a_directory"
    assert code_of(root, f"{deep}/d") == "path_invalid"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read_is_named_as_such(root: Path) -> None:
    """The operating system's refusal is not taken for an escape."""
    (root / "a").write_text("x")
    (root / "a").chmod(0)

    assert code_of(root, "a") == "permission_denied"
