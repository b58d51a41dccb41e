"""What holds for any path, tree, pattern and glob."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holon_builtin_workspace.contain import opened
from holon_builtin_workspace.globs import Glob
from holon_builtin_workspace.grep_files import _Arguments
from holon_builtin_workspace.paths import given as path_given
from holon_builtin_workspace.paths import shown
from holon_builtin_workspace.refusals import Refused
from holon_builtin_workspace.ripgrep import Filters
from holon_core.records.result import ToolResult
from holon_core.runtime import Runtime

Call = Callable[..., ToolResult]
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
texts = st.text(max_size=20)
flaglike = st.sampled_from(
    ["--pre=/x", "-f/etc/passwd", "--", "-", "-e", "--files", "--type-add=a:*", "-L", "!x", "@x"]
)
FLAGS = {
    "--json",
    "--no-config",
    "--no-pre",
    "--no-follow",
    "--no-search-zip",
    "--color=never",
    "--no-ignore-messages",
    "--path-separator=/",
    "--no-ignore",
    "--hidden",
    "--no-hidden",
    "--fixed-strings",
    "--word-regexp",
    "--sort=path",
    "--case-sensitive",
    "--ignore-case",
    "--smart-case",
    "--type=holon",
}
KEPT_OUT = {"/.holon"}


@posix
@pytest.mark.slow
def test_nothing_outside_the_root_is_opened_for_any_path_and_tree(tmp_path: Path) -> None:
    """An audit hook and the kernel's own watch see no open but of names below the root."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("containment_probe.py"), tmp_path, "300"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
    completed, refused = map(int, done.stdout.split())
    assert completed > 100
    assert refused > 100


@given(
    given_texts=st.tuples(
        st.one_of(flaglike, texts),
        st.one_of(st.none(), flaglike, texts),
        st.one_of(flaglike, texts).map("./{}".format),
    ),
    choices=st.fixed_dictionaries(
        {},
        optional={
            "case": st.sampled_from(["sensitive", "insensitive", "smart"]),
            "literal": st.booleans(),
            "whole_words": st.booleans(),
            "max_per_file": st.integers(1, 1000),
            "max_results": st.integers(1, 1000),
        },
    ),
    flags_given=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_the_arguments_of_ripgrep_keep_their_flags(
    given_texts: tuple[str, str | None, str],
    choices: dict[str, Any],
    flags_given: tuple[bool, bool, bool],
) -> None:
    """Known flags, then -e and the pattern, then -- and the path, whatever they are."""
    (pattern, glob, path), (ignored, hidden, ordered) = given_texts, flags_given
    try:
        name_globs = Glob(glob).name_globs(hidden=hidden) if glob is not None else []
    except Refused:
        return
    with opened_anywhere() as (root, place):
        filters = Filters(
            include_hidden=hidden,
            ignore_files=("./.gitignore",) if ignored else (),
            name_globs=tuple(name_globs),
        )
        flags = filters.arguments(root, place)

    argv = _Arguments({"pattern": pattern, **choices})(flags, ordered, path)

    *before, dash_e, searched, end, last = argv
    assert (dash_e, searched, end, last) == ("-e", pattern, "--", path)
    for flag in before:
        head, _, value = flag.partition("=")
        if head in ("--glob", "--iglob"):
            assert value[:1] == "!"
            assert value[1:] in KEPT_OUT
        elif head == "--type-add":
            kind, _, name_glob = value.partition(":")
            assert kind == "holon"
            assert set(name_glob.removeprefix("[!.]")) <= set(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-*"
            )
        elif head == "--ignore-file":
            assert value == "./.gitignore"
        elif head == "--max-count":
            assert value.isdecimal()
        else:
            assert flag in FLAGS


def opened_anywhere() -> Any:
    """Hold the folder of this file as a workspace, and its root as a place."""
    from contextlib import contextmanager

    from holon_core.records.workspace import Workspace

    @contextmanager
    def held() -> Any:
        here = Path(__file__).resolve().parent
        found = here.stat()
        workspace = Workspace(id="w", root_path=str(here), device=found.st_dev, inode=found.st_ino)
        with opened(workspace) as root:
            yield root, root.find(".")

    return held()


@given(st.binary(min_size=1, max_size=40).filter(lambda path: b"\0" not in path))
def test_every_path_survives_its_written_form(path: bytes) -> None:
    """What the tools write they read back, byte for byte; and it is always text."""
    text = shown(path)

    assert path_given(text) == path
    assert text.encode("utf-8")


@pytest.mark.parametrize("text", ["bytes:%", "bytes:%G0", "bytes:a b", "bytes:é", "bytes:%0"])
def test_a_broken_written_form_is_refused(text: str) -> None:
    """It is not taken for a name."""
    with pytest.raises(Refused) as caught:
        path_given(text)

    assert caught.value.problem.code == "path_invalid"


tree_names = st.sampled_from(["a", "B", "a.txt", "a-b", "a0", "z.py", "ä", ".h", "a b"])
trees = st.lists(st.lists(tree_names, min_size=1, max_size=3).map("/".join), max_size=14)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(paths=trees, most=st.integers(1, 4))
def test_pages_joined_are_the_whole(
    runtime: Runtime, tmp_path_factory: pytest.TempPathFactory, paths: list[str], most: int
) -> None:
    """For each tool, page after page gives exactly what one page gives, in the same order."""
    root = tmp_path_factory.mktemp("pages")
    for path in paths:
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("x needle\nnothing\nneedle needle\n")
        except OSError:
            continue
    session = runtime.session(principal="ann", workspace=root)
    everything = {"include_hidden": True}
    for tool, field, limit, arguments in (
        ("glob", "paths", "max_results", {"pattern": "**", **everything}),
        ("grep", "matches", "max_results", {"pattern": "needle", **everything}),
        ("list-dir", "entries", "max_entries", {}),
    ):
        name = f"holon.built-in.workspace/workspace-{tool}"
        whole = session.call(name, arguments).output
        pages: list[Any] = []
        cursor: dict[str, Any] = {}
        while True:
            output = session.call(name, {**arguments, limit: most, **cursor}).output
            pages += output[field]
            assert len(output[field]) <= most
            if not output["truncated"]:
                break
            cursor = {"cursor": output["next_cursor"]}
        assert pages == whole[field]
    shutil.rmtree(root)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.slow
def test_ripgrep_opens_nothing_outside_the_root(tmp_path: Path, root: Path) -> None:
    """Traced through the whole call: below the root, or what any program needs to start."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("needle\n")
    (tmp_path / ".gitignore").write_text("*\n")
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "a.txt")
    (root / "sub").mkdir()
    (root / "sub" / "in.txt").write_text("needle\n")
    (root / "sub" / "up").symlink_to("../..")
    (root / ".gitignore").write_text("none\n")
    (root / ".ignore").symlink_to(outside / "a.txt")
    (root / "sub" / ".gitignore").symlink_to(outside / "a.txt")
    os.mkfifo(root / "sub" / ".ignore")
    trace = tmp_path / "trace"
    script = Path(__file__).with_name("search_probe.py")
    done = subprocess.run(
        ["strace", "-f", "-y", "-qq", "-e", "trace=open,openat,openat2", "-o", str(trace)]
        + [sys.executable, str(script), str(tmp_path / "own"), str(root)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if "Operation not permitted" in done.stderr or "PTRACE" in done.stderr:
        pytest.skip("tracing is not permitted here")

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["sub/in.txt:1", "sub/in.txt:1", "path_escape", "path_escape"]
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    assert any("in.txt" in line for line in lines)
    assert [line for line in lines if "outside" in line or f"{tmp_path}/.gitignore" in line] == []
