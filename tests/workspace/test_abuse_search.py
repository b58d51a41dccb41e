"""The abuse cases of the search program, each through the guarded call and the real ripgrep."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holon_core.records.result import ToolResult
from holon_core.records.words import Status

Call = Callable[..., ToolResult]
Code = Callable[..., str]

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture
def script(tmp_path: Path) -> tuple[Path, Path]:
    """A script outside the workspace, and the marker that it makes when it runs."""
    program, marker = tmp_path / "script", tmp_path / "marker"
    program.write_text(f'#!/bin/sh\ntouch "{marker}"\ncat "$1"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program, marker


def found(result: ToolResult) -> list[tuple[str, int]]:
    """Return the places of matches."""
    assert result.status is Status.COMPLETED, result.failure
    return [(match["path"], match["line"]) for match in result.output["matches"]]


def test_ab_grep_001_a_pattern_is_never_the_preprocessor_flag(
    call: Call, root: Path, script: tuple[Path, Path]
) -> None:
    """It is searched for, and the script does not run."""
    program, marker = script
    (root / "notes.txt").write_text(f"one\nuse --pre={program} for this\n")

    assert found(call("grep", pattern=f"--pre={program}")) == [("notes.txt", 2)]
    assert found(call("grep", pattern=f"--pre={program}", literal=True)) == [("notes.txt", 2)]
    assert not marker.exists()


@pytest.mark.parametrize("pattern", ["-f/etc/passwd", "-i", "--", "-", "--files", "-e x"])
def test_ab_grep_002_a_pattern_that_begins_with_a_dash_is_a_pattern(
    call: Call, root: Path, pattern: str
) -> None:
    """It finds its own line, alone."""
    (root / "a.txt").write_text(f"nothing\n<{pattern}>\nROOT:X\n")

    matches = call("grep", pattern=f"<{pattern}>").output["matches"]
    also = call("grep", pattern=pattern).output["matches"]

    assert [match["text"] for match in matches] == [f"<{pattern}>"]
    assert [match["line"] for match in also] == [2]


def test_ab_grep_003_a_name_that_begins_with_a_dash_is_a_name(call: Call, root: Path) -> None:
    """As search path and in results."""
    (root / "-g").mkdir()
    (root / "-g" / "in.txt").write_text("needle\n")
    (root / "--pre=x").write_text("needle\n")

    assert found(call("grep", pattern="needle", path="-g")) == [("-g/in.txt", 1)]
    assert found(call("grep", pattern="needle", path="--pre=x")) == [("--pre=x", 1)]
    assert call("glob", pattern="*").output["paths"] == ["--pre=x", "-g/in.txt"]
    assert call("glob", pattern="*", path="-g").output["paths"] == ["-g/in.txt"]


@pytest.mark.parametrize("pattern", ["--hostname-bin=/x", "--pre=/x", "-L"])
def test_ab_grep_004_a_glob_is_never_a_flag(call: Call, root: Path, pattern: str) -> None:
    """It matches nothing, and links are still not followed."""
    (root / "a.txt").write_text("x")
    (root / "loop").symlink_to(".")

    assert call("glob", pattern=pattern).output["paths"] == []
    assert call("grep", pattern="x", glob=pattern).output["matches"] == []


def test_ab_grep_005_the_hosts_configuration_has_no_effect(
    call: Call, root: Path, script: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its preprocessor nor its flags."""
    program, marker = script
    config = root.parent / "ripgreprc"
    config.write_text(f"--pre={program}\n--follow\n--glob=!*.py\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("needle\n")
    (root / "link").symlink_to(outside)
    (root / "a.py").write_text("needle\n")

    assert found(call("grep", pattern="needle")) == [("a.py", 1)]
    assert call("glob", pattern="*.py").output["paths"] == ["a.py"]
    assert not marker.exists()


@posix
def test_ab_grep_006_a_link_as_search_path_is_resolved_first(
    call: Call, refused: Code, root: Path
) -> None:
    """Ripgrep would follow it; and a walk finds nothing behind it."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("needle\n")
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "a.txt")

    assert call("grep", pattern="needle", path="link").status is Status.BLOCKED
    assert refused("grep", pattern="needle", path="link") == "path_escape"
    assert refused("grep", pattern="needle", path="file") == "path_escape"
    assert refused("glob", pattern="*", path="link") == "path_escape"
    assert found(call("grep", pattern="needle", path=".")) == []


@posix
def test_a_link_that_stays_inside_works_as_search_path(call: Call, root: Path) -> None:
    """What is found has its canonical path."""
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("needle\n")
    (root / "link").symlink_to("sub")

    assert found(call("grep", pattern="needle", path="link")) == [("sub/a.txt", 1)]
    assert call("glob", pattern="*.txt", path="link").output["paths"] == ["sub/a.txt"]


@posix
def test_ab_grep_007_a_pipe_as_search_path_is_refused(
    call: Call, refused: Code, root: Path
) -> None:
    """By its type and at once; a pipe met on the way is passed over."""
    os.mkfifo(root / "ff")
    (root / "a.txt").write_text("x\n")
    began = time.monotonic()

    assert refused("grep", pattern="x", path="ff") == "not_regular_file"
    assert found(call("grep", pattern="x")) == [("a.txt", 1)]
    assert time.monotonic() - began < 10


@posix
def test_ab_grep_008_a_file_name_with_a_line_end_stays_whole(call: Call, root: Path) -> None:
    """One match, one path, in both tools."""
    (root / "nl\nname.txt").write_text("needle\n")

    assert found(call("grep", pattern="needle")) == [("nl\nname.txt", 1)]
    assert call("glob", pattern="*.txt").output["paths"] == ["nl\nname.txt"]


@linux
def test_ab_grep_009_a_name_that_is_not_utf8_has_one_reversible_form(
    call: Call, root: Path
) -> None:
    """The same in grep, glob and list-dir, and read-file takes it back."""
    with open(os.fsencode(root) + b"/bad\xff.txt", "w") as file:  # noqa: PTH123
        file.write("needle\n")
    (root / "bytes:plain").write_text("other")

    form = call("grep", pattern="needle").output["matches"][0]["path"]

    assert form == "bytes:bad%FF.txt"
    assert call("glob", pattern="*.txt").output["paths"] == [form]
    entries = call("list-dir").output["entries"]
    assert [entry["path"] for entry in entries] == [form, "bytes:bytes%3Aplain"]
    assert call("read-file", path=form).output["content"] == "needle\n"
    assert call("read-file", path=entries[1]["path"]).output["content"] == "other"
    assert call("grep", pattern="needle", path=form).output["matches"][0]["path"] == form
    json.dumps(call("list-dir").output)


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "\\", "(?<x"])
def test_ab_grep_010_a_bad_expression_is_no_empty_answer(call: Call, pattern: str) -> None:
    """It fails with ripgrep's own message; finding nothing is a completed call."""
    result = call("grep", pattern=pattern)

    assert result.status is Status.FAILED
    assert result.failure is not None
    assert result.failure.code == "invalid_pattern"
    assert "regex" in result.failure.message
    assert found(call("grep", pattern="nothing")) == []


def test_ab_grep_011_an_expression_that_is_too_big_is_refused(call: Call) -> None:
    """Quickly, and the message names the limit."""
    began = time.monotonic()

    result = call("grep", pattern="((a{1000}){1000}){1000}")

    assert time.monotonic() - began < 10
    assert result.failure is not None
    assert result.failure.code == "invalid_pattern"
    assert "size limit" in result.failure.message


def test_ab_grep_012_a_flood_of_matches_is_cut_at_the_limit(call: Call, root: Path) -> None:
    """The program is ended once the page is full, in bounded memory, and that is no failure."""
    with (root / "flood.txt").open("w") as file:
        for _ in range(50):
            file.write("needle\n" * 100_000)
    tracemalloc.start()
    try:
        result = call("grep", pattern="needle")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found(result) == [("flood.txt", number) for number in range(1, 101)]
    assert result.output["truncated"]
    assert result.output["cut_by"] == "max_results"
    assert peak < 64 * 1024**2
    following = call("grep", pattern="needle", cursor=result.output["next_cursor"])
    assert found(following) == [("flood.txt", number) for number in range(101, 201)]


def test_ab_grep_013_a_match_in_a_line_of_two_megabytes_is_shown(call: Call, root: Path) -> None:
    """With its place, and the line cut around it."""
    before, after = "x=1;" * 250_000, ";y=€" * 200_000
    (root / "min.js").write_text(f"first\n{before}needle{after}\n", encoding="utf-8")

    (match,) = call("grep", pattern="needle").output["matches"]

    assert (match["line"], match["column"]) == (2, len(before) + 1)
    assert match["cut"]
    assert "needle" in match["text"]
    assert len(match["text"].encode()) <= 500
    part = call("read-file", path="min.js", offset=match["offset"], max_bytes=6).output
    assert part["content"] == "needle"


def test_a_match_in_a_line_too_long_to_be_read_is_still_named(call: Call, root: Path) -> None:
    """A line of which ripgrep's message is larger than its limit leaves the file's name."""
    (root / "huge.txt").write_text("x" * 9_000_000 + "needle\n")
    (root / "small.txt").write_text("needle\n")

    result = call("grep", pattern="needle")

    assert found(result) == [("small.txt", 1)]
    assert result.output["too_long"] == ["huge.txt"]


def test_ab_grep_014_ignore_files_above_the_root_do_not_count(call: Call, root: Path) -> None:
    """Those inside do, and the answer says so."""
    (root.parent / ".gitignore").write_text("*\n")
    (root.parent / ".ignore").write_text("*.py\n")
    (root / "a.py").write_text("needle\n")
    (root / ".ignore").write_text("skipped.py\n")
    (root / "skipped.py").write_text("needle\n")

    result = call("grep", pattern="needle")

    assert found(result) == [("a.py", 1)]
    assert result.output["ignore_rules_applied"]
    everything = call("grep", pattern="needle", include_ignored=True)
    assert found(everything) == [("a.py", 1), ("skipped.py", 1)]
    assert not everything.output["ignore_rules_applied"]


@pytest.mark.parametrize("hiding", [".gitignore", ".ignore", ".rgignore"])
def test_an_empty_answer_says_that_ignore_rules_hid_something(
    call: Call, root: Path, hiding: str
) -> None:
    """In both tools; and says no where nothing is hidden."""
    (root / hiding).write_text("*.log\n")
    (root / "a.log").write_text("needle\n")

    for result in (call("grep", pattern="needle"), call("glob", pattern="*.log")):
        assert result.output["left_out_files_have_results"] is True
    for result in (call("grep", pattern="absent"), call("glob", pattern="*.none")):
        assert result.output["left_out_files_have_results"] is False


def test_hidden_files_are_left_out_until_asked_for(call: Call, root: Path) -> None:
    """A glob of names does not bring them in by itself."""
    (root / ".secret.txt").write_text("needle\n")
    (root / ".config").mkdir()
    (root / ".config" / "a.txt").write_text("needle\n")

    assert call("glob", pattern="*.txt").output["paths"] == []
    assert found(call("grep", pattern="needle", glob="*.txt")) == []
    hidden = call("glob", pattern="*.txt", include_hidden=True).output["paths"]
    assert hidden == [".config/a.txt", ".secret.txt"]


BARE = """
import json, sys
from pathlib import Path
from holon_builtin_workspace.descriptors import tools
from holon_core.catalogue.catalogue import Entry
from holon_core.functions.host import DEFINITION_DOMAIN
from holon_core.runtime import Runtime
from holon_core.wire.canonical import digest
with Runtime.open(sys.argv[1], discover=False) as runtime:
    for tool, executor in tools():
        whole = tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))
        runtime._guard.catalogue.put(Entry(whole, executor, self_limiting=True))
    session = runtime.session(principal="ann", workspace=Path(sys.argv[2]))
    result = session.call("holon.built-in.workspace/workspace-grep", json.loads(sys.argv[3]))
    failure = result.failure and [result.failure.code, result.failure.message]
    print(json.dumps([result.status, failure, result.output]))
"""


@pytest.fixture
def elsewhere(tmp_path: Path, root: Path) -> Callable[..., Any]:
    """Search in a process of its own; returns status, failure and output."""

    def run(python: str, *, stdin: bytes = b"", **env: str) -> Any:
        done = subprocess.run(
            [python, "-c", textwrap.dedent(BARE), tmp_path / "own", root, '{"pattern": "x"}'],
            cwd=root,
            input=stdin,
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **env},
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)

    return run


@pytest.fixture
def bare_python() -> str:
    """An interpreter whose own environment has no ripgrep."""
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    if not python.exists():
        pytest.skip("no interpreter without ripgrep")
    looks = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = subprocess.run([python, "-c", looks], capture_output=True, text=True, check=True)
    if list(Path(folder.stdout.strip()).glob("ripgrep-*")):
        pytest.skip("no interpreter without ripgrep")
    return str(python)


def planted(folder: Path) -> Path:
    """Plant a program named rg that leaves a marker; return the marker."""
    marker = folder.parent / "hijacked"
    (folder / "rg").write_text(f'#!/bin/sh\ntouch "{marker}"\necho HIJACK\n')
    (folder / "rg").chmod(0o755)
    return marker


@posix
def test_ab_grep_015_a_missing_program_is_named_with_what_to_install(
    elsewhere: Callable[..., Any], bare_python: str, tmp_path: Path
) -> None:
    """Blocked; nothing else is tried."""
    (tmp_path / "empty").mkdir()

    status, failure, _ = elsewhere(bare_python, PATH=str(tmp_path / "empty"))

    assert (status, failure[0]) == ("blocked", "dependency_missing")
    assert "rg" in failure[1]
    assert "install" in failure[1]


@posix
@pytest.mark.parametrize("path", [":/nothing", ".:/nothing", "{root}:/nothing"])
def test_ab_grep_015_a_planted_program_never_runs(
    elsewhere: Callable[..., Any], bare_python: str, root: Path, path: str
) -> None:
    """Neither from an empty or relative element of PATH nor from the workspace itself."""
    marker = planted(root)

    status, failure, _ = elsewhere(bare_python, PATH=path.format(root=root))

    assert (status, failure[0]) == ("blocked", "dependency_missing")
    assert not marker.exists()


@posix
def test_ab_grep_015_the_installed_program_goes_before_path(
    elsewhere: Callable[..., Any], root: Path
) -> None:
    """What is planted is not even looked at."""
    marker = planted(root)
    (root / "a.txt").write_text("x\n")

    status, _, output = elsewhere(sys.executable, PATH=":/usr/bin")

    assert status == "completed"
    assert [match["path"] for match in output["matches"]] == ["a.txt"]
    assert not marker.exists()


@posix
def test_a_program_on_path_of_another_kind_is_refused(
    elsewhere: Callable[..., Any], bare_python: str, tmp_path: Path
) -> None:
    """It has to say that it is ripgrep 13 or 14."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "rg").write_text("#!/bin/sh\necho ripgrep 15.0.0\n")
    (folder / "rg").chmod(0o755)

    status, failure, _ = elsewhere(bare_python, PATH=str(folder))

    assert (status, failure[0]) == ("blocked", "dependency_missing")
    assert "13 or 14" in failure[1]


@posix
def test_a_known_good_program_on_path_serves_too(
    elsewhere: Callable[..., Any], bare_python: str, root: Path, tmp_path: Path
) -> None:
    """The package is not needed where ripgrep is installed otherwise."""
    from holon_builtin_workspace.ripgrep import packaged

    program = packaged()
    if program is None:
        pytest.skip("no ripgrep in this environment")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "rg").symlink_to(program)
    (root / "a.txt").write_text("x\n")

    status, _, output = elsewhere(bare_python, PATH=str(folder))

    assert status == "completed"
    assert [match["path"] for match in output["matches"]] == ["a.txt"]


def test_ab_grep_016_standard_input_is_not_searched(elsewhere: Callable[..., Any]) -> None:
    """An empty workspace has no matches, whatever the host is fed."""
    status, _, output = elsewhere(sys.executable, stdin=b"x\nx\n", PATH=os.defpath)

    assert status == "completed"
    assert output["matches"] == []


def test_every_case_of_the_area_has_its_test(shared: Path) -> None:
    """A case that is added to the data fails here until it is handled."""
    lines = (shared / "abuse-cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = {case["id"] for case in map(json.loads, lines) if case["area"] == "grep"}
    here = Path(__file__).read_text(encoding="utf-8")

    assert {
        name for name in wanted if f"test_{name.lower().replace('-', '_')}_" not in here
    } == set()
