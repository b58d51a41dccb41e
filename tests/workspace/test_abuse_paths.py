"""The abuse cases of paths, each against a real tree through the guarded call."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from holon_builtin_workspace.contain import opened
from holon_builtin_workspace.refusals import Refused
from holon_core.records.result import ToolResult
from holon_core.records.words import Status
from holon_core.runtime import Runtime

Call = Callable[..., ToolResult]
Code = Callable[..., str]

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def everything_recorded(runtime: Runtime, result: ToolResult) -> str:
    """Return the evidence of one call as text."""
    return repr(runtime.evidence.read(result.call_id))


def test_ab_path_001_a_sibling_with_the_same_prefix_is_outside(
    call: Call, runtime: Runtime, root: Path
) -> None:
    """Names are compared, not the beginning of a string; what is missing answers alike."""
    secret = root.parent / "proj-secret"
    secret.mkdir()
    (secret / "key.txt").write_text("TOPSECRET")
    paths = ["../proj-secret/key.txt", "../proj-secret/none.txt"]
    paths += [str(secret / "key.txt"), str(secret / "none.txt"), "../nothing/none.txt"]

    results = [call("read-file", path=path) for path in paths]

    assert {result.status for result in results} == {Status.BLOCKED}
    assert {(r.failure.code, r.failure.message) for r in results if r.failure} == {
        ("path_escape", "the path leads outside the workspace")
    }
    assert "TOPSECRET" not in repr(results)
    assert "path_escape" in everything_recorded(runtime, results[0])


@posix
def test_ab_path_002_a_link_to_a_file_outside_is_refused(
    call: Call, runtime: Runtime, root: Path
) -> None:
    """The link is followed by name and refused; nothing of the target is anywhere."""
    (root.parent / "outside.txt").write_text("TOPSECRET")
    (root / "leak.txt").symlink_to(root.parent / "outside.txt")

    result = call("read-file", path="leak.txt")

    assert result.status is Status.BLOCKED
    assert result.failure is not None
    assert result.failure.code == "path_escape"
    assert "TOPSECRET" not in repr(result) + everything_recorded(runtime, result)


@posix
def test_ab_path_003_a_linked_folder_in_the_middle_is_refused(
    call: Call, refused: Code, root: Path
) -> None:
    """Neither read nor listed; in a listing it is a link and nothing more."""
    package = root.parent / "outside" / "pkg"
    package.mkdir(parents=True)
    (package / "a.txt").write_text("out")
    (root / "vendor").symlink_to(root.parent / "outside")

    assert refused("read-file", path="vendor/pkg/a.txt") == "path_escape"
    assert refused("list-dir", path="vendor") == "path_escape"
    assert call("list-dir").output["entries"] == [
        {
            "name": "vendor",
            "path": "vendor",
            "type": "symlink",
            "size_bytes": None,
            "modified_at_unix_seconds": None,
        }
    ]


@posix
def test_ab_path_004_a_link_that_stays_inside_works(call: Call, root: Path) -> None:
    """The answer names the canonical path beside the asked one."""
    (root / "a.txt").write_text("inside")
    (root / "b.txt").symlink_to("a.txt")

    output = call("read-file", path="b.txt").output

    assert (output["asked"], output["path"], output["content"]) == ("b.txt", "a.txt", "inside")


@pytest.mark.parametrize(
    "path",
    [
        "../out.txt",
        "sub/../../out.txt",
        "./../out.txt",
        "sub/./../../out.txt",
        "sub//..//..//out.txt",
        "..",
    ],
)
def test_ab_path_005_no_spelling_of_the_parent_leads_out(
    refused: Code, root: Path, path: str
) -> None:
    """Every way upwards out of the root is refused."""
    (root / "sub").mkdir()
    (root.parent / "out.txt").write_text("out")

    assert refused("read-file", path=path) == "path_escape"


def test_ab_path_005_a_way_up_that_stays_inside_works(call: Call, root: Path) -> None:
    """Dots are followed, not forbidden."""
    (root / "sub").mkdir()
    (root / "in.txt").write_text("in")

    output = call("read-file", path="sub/../in.txt").output

    assert (output["path"], output["content"]) == ("in.txt", "in")


def test_ab_path_006_an_absolute_path_inside_works(
    call: Call, runtime: Runtime, root: Path
) -> None:
    """The answer is relative to the root."""
    (root / "a.txt").write_text("a")

    result = call("read-file", path=str(root / "a.txt"))

    assert result.output["path"] == "a.txt"
    assert "a.txt" in everything_recorded(runtime, result)


def test_ab_path_007_a_nul_byte_is_refused(call: Call, refused: Code) -> None:
    """Typed, before the operating system sees it."""
    assert call("read-file", path="a.txt\0.png").status is Status.BLOCKED
    assert refused("read-file", path="a.txt\0.png") == "path_invalid"
    assert refused("list-dir", path="\0") == "path_invalid"
    assert refused("grep", pattern="x", path="a\0") == "path_invalid"


@posix
def test_ab_path_008_a_loop_of_links_ends(call: Call, refused: Code, root: Path) -> None:
    """At once, and a walk of the tree does not go around in it."""
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "around").symlink_to(".")
    began = time.monotonic()

    assert refused("read-file", path="a") == "path_loop"
    assert refused("list-dir", path="a") == "path_loop"
    assert time.monotonic() - began < 5
    assert call("glob", pattern="**").output["paths"] == []


@linux
def test_ab_path_009_proc_is_no_way_out(
    call: Call, refused: Code, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links into /proc are refused, also where they would lead back into the workspace."""
    (root / "here.txt").write_text("x")
    for name, target in {"p": "root", "q": "cwd", "f": "fd/0"}.items():
        (root / name).symlink_to(f"/proc/self/{target}")
    monkeypatch.chdir(root)

    assert refused("read-file", path="p/etc/hostname") == "path_escape"
    assert refused("list-dir", path="q") == "path_escape"
    assert refused("read-file", path="f") == "path_escape"
    assert refused("read-file", path="/proc/self/cwd/here.txt") == "path_escape"
    assert refused("read-file", path="/dev/fd/0") == "path_escape"


@linux
def test_the_processes_own_files_are_closed_in_a_workspace_of_everything(
    runtime: Runtime, tmp_path: Path
) -> None:
    """Even where the root of the file system is the workspace, /proc is not part of it."""
    from holon_core.records.workspace import Workspace

    top = Path("/").stat()
    everything = Workspace(id="top", root_path="/", device=top.st_dev, inode=top.st_ino)

    with opened(everything) as root:
        assert root.find("etc").is_folder
        with pytest.raises(Refused) as caught:
            root.find("proc/self/environ")

    assert caught.value.problem.code == "path_escape"


@posix
def test_ab_path_010_a_pipe_is_not_read(call: Call, refused: Code, root: Path) -> None:
    """It is refused by its type, without waiting for a writer, and listed as what it is."""
    os.mkfifo(root / "live.pipe")
    began = time.monotonic()

    assert call("read-file", path="live.pipe").status is Status.FAILED
    assert refused("read-file", path="live.pipe") == "not_regular_file"
    assert time.monotonic() - began < 5
    assert [entry["type"] for entry in call("list-dir").output["entries"]] == ["fifo"]


@posix
def test_ab_path_011_sockets_and_devices_are_not_read(
    call: Call, refused: Code, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket is no regular file; a link to a device is a way out."""
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s")
        (root / "z").symlink_to("/dev/zero")

        assert refused("read-file", path="s") == "not_regular_file"
        assert refused("read-file", path="z") == "path_escape"
        assert [entry["type"] for entry in call("list-dir").output["entries"]] == [
            "socket",
            "symlink",
        ]


def test_ab_path_012_a_very_large_file_is_read_in_part(call: Call, root: Path) -> None:
    """A sparse file of 5 GiB costs what its first part costs, and says that there is more."""
    with (root / "big.bin").open("wb") as file:
        file.truncate(5 * 1024**3)
    tracemalloc.start()
    try:
        result = call("read-file", path="big.bin")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert result.status is Status.COMPLETED
    assert result.output["truncated"]
    assert result.output["total_size"] == 5368709120
    assert result.output["nul_bytes"]
    assert result.output["next_offset"] == result.output["size_bytes"]
    assert peak < 64 * 1024**2


def test_ab_path_013_binary_content_is_named_or_given_as_base64(
    call: Call, refused: Code, root: Path
) -> None:
    """Never text that only looks like the file."""
    (root / "x.bin").write_bytes(b"\x00\xff\x10\x80")

    assert refused("read-file", path="x.bin") == "binary_content"
    output = call("read-file", path="x.bin", encoding="base64").output
    assert base64.b64decode(output["content"]) == b"\x00\xff\x10\x80"


def test_ab_path_014_text_that_is_not_utf8_is_refused_with_its_place(
    call: Call, root: Path, shared: Path
) -> None:
    """The position of the first wrong byte is in the details."""
    shutil.copy(shared / "abuse-cases/inputs/path/latin.txt", root / "latin.txt")
    wrong = (root / "latin.txt").read_bytes().index(b"\xe9")

    failure = call("read-file", path="latin.txt").failure

    assert failure is not None
    assert failure.code == "binary_content"
    assert failure.details["offset"] == wrong


def test_ab_path_015_bom_and_line_ends_survive(call: Call, root: Path, shared: Path) -> None:
    """Both tools agree on the lines, and nothing of the text is changed."""
    shutil.copy(shared / "abuse-cases/inputs/path/bom_crlf.txt", root / "w.txt")
    raw = (root / "w.txt").read_bytes()
    lines = raw.removeprefix(b"\xef\xbb\xbf").decode().splitlines(keepends=True)

    whole = call("read-file", path="w.txt").output
    second = call("read-file", path="w.txt", start_line=2, end_line=2).output
    found = call("grep", pattern=lines[1].split()[0], literal=True).output["matches"]

    assert raw.startswith(b"\xef\xbb\xbf")
    assert whole["bom"]
    assert whole["content"] == "".join(lines)
    assert whole["line_ends"] == "crlf"
    assert second["content"] == lines[1]
    assert 2 in [match["line"] for match in found]


def test_ab_path_016_one_enormous_line_is_cut_between_characters(call: Call, root: Path) -> None:
    """A bounded part, marked as such, and the rest can be had."""
    text = "größe€😀;" * 900_000
    (root / "min.js").write_text(text, encoding="utf-8")
    tracemalloc.start()
    try:
        output = call("read-file", path="min.js", start_line=1, end_line=1).output
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    following = call("read-file", path="min.js", offset=output["next_offset"]).output
    assert output["truncated"]
    assert 0 < output["size_bytes"] <= 64 * 1024
    assert text.startswith(output["content"] + following["content"])
    assert output["next_line"] is None
    assert peak < 64 * 1024**2


SWAP = """
import os, sys
inside, link, target = sys.argv[1:]
print(flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    os.replace(link, target); os.symlink(sys.argv[2] + ".goal", link)
    os.replace(inside, target)
    with open(inside, "w") as file:
        file.write("inside")
"""


@posix
@pytest.mark.slow
def test_ab_path_017_a_swap_between_check_and_open_gains_nothing(
    call: Call, runtime: Runtime, root: Path
) -> None:
    """While another process exchanges file and link, only the inside is ever read."""
    outside = root.parent / "swap"
    outside.mkdir()
    (outside / "link.goal").write_text("OUTSIDE")
    (outside / "file").write_text("inside")
    (outside / "link").symlink_to(outside / "link.goal")
    (root / "t").write_text("inside")
    workspace = runtime.workspaces.containing(root)
    assert workspace is not None
    seen: dict[str, int] = {}
    with subprocess.Popen(
        [sys.executable, "-c", SWAP, outside / "file", outside / "link", root / "t"],
        env={**os.environ, "PARENT": str(os.getpid())},
        stdout=subprocess.PIPE,
    ) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        try:
            for _ in range(20_000):
                with opened(workspace) as held:
                    try:
                        _, descriptor = held.open("t")
                        said = os.read(descriptor, 100).decode()
                        os.close(descriptor)
                    except Refused as refusal:
                        said = refusal.problem.code
                seen[said] = seen.get(said, 0) + 1
            for _ in range(500):
                result = call("read-file", path="t")
                said = result.output["content"] if result.output else result.failure.code  # type: ignore[union-attr]
                seen[said] = seen.get(said, 0) + 1
        finally:
            swapper.kill()

    assert seen.pop("inside") > 0
    assert seen.pop("path_escape") > 0
    assert set(seen) <= {"path_not_found", "changed_during_read", ""}


@posix
def test_ab_path_018_a_root_reached_through_a_link_is_no_escape(
    runtime: Runtime, tmp_path: Path
) -> None:
    """A file is found by its relative path and by the registered spelling."""
    real = tmp_path / "real" / "proj"
    real.mkdir(parents=True)
    (real / "a.txt").write_text("a")
    (real / "own").symlink_to(tmp_path / "link" / "proj" / "a.txt")
    (tmp_path / "link").symlink_to("real")
    session = runtime.session(principal="ann", workspace=tmp_path / "link" / "proj")

    for path in ("a.txt", str(tmp_path / "link/proj/a.txt"), str(real / "a.txt"), "own"):
        output = session.call("holon.built-in.workspace/workspace-read-file", {"path": path}).output
        assert (output["path"], output["content"]) == ("a.txt", "a")


@posix
def test_another_spelling_of_the_root_tells_nothing_about_the_outside(
    refused: Code, root: Path
) -> None:
    """Going up again from an outside folder is refused whether that folder exists or not."""
    (root / "a.txt").write_text("a")
    (root.parent / "there").mkdir()

    for name in ("there", "not-there"):
        path = str(root.parent / name / ".." / "proj" / "a.txt")
        assert refused("read-file", path=path) == "path_escape"


@pytest.mark.parametrize("name", [".holon/state.db", ".holon", "./.holon/x", "sub/../.holon/x"])
def test_ab_path_019_the_holon_folder_is_never_readable(
    refused: Code, root: Path, name: str
) -> None:
    """Whether it is there or not, and by any way to it."""
    (root / "sub").mkdir()

    assert refused("read-file", path=name) == "policy_denied"
    (root / ".holon").mkdir()
    (root / ".holon" / "state.db").write_text("needle")
    assert refused("read-file", path=name) == "policy_denied"
    assert refused("list-dir", path=name) == "policy_denied"
    assert refused("grep", pattern="x", path=name) == "policy_denied"


@pytest.mark.skipif(sys.platform not in ("darwin", "win32"), reason="needs a folding file system")
@pytest.mark.parametrize("name", [".HOLON/state.db", ".Holon/state.db"])
def test_ab_path_019_another_case_is_the_same_folder(refused: Code, root: Path, name: str) -> None:
    """Where the file system takes another case for the same name, so does the rule."""
    (root / ".holon").mkdir()
    (root / ".holon" / "state.db").write_text("x")

    assert refused("read-file", path=name) == "policy_denied"


@posix
def test_ab_path_019_the_same_folder_is_known_under_another_name(
    runtime: Runtime, call: Call, refused: Code, root: Path
) -> None:
    """A link to it is refused as it is, and searches leave it out."""
    (root / ".holon").mkdir()
    (root / ".holon" / "state.db").write_text("needle")
    (root / "other").symlink_to(".holon")

    assert refused("read-file", path="other/state.db") == "policy_denied"
    everything = {"include_hidden": True, "include_ignored": True}
    assert call("grep", pattern="needle", **everything).output["matches"] == []
    assert call("glob", pattern="**", **everything).output["paths"] == []


def test_a_storage_root_inside_a_workspace_is_never_readable(
    call: Call, refused: Code, root: Path
) -> None:
    """Some other runtime's root is known by what is in it."""
    with Runtime.open(root / "data" / "store", discover=False):
        assert refused("read-file", path="data/store/holon.toml") == "policy_denied"
        assert refused("list-dir", path="data/store") == "policy_denied"
        (root / "data" / "store" / "holon.toml").write_text("# needle")
        assert call("glob", pattern="**", include_hidden=True).output["paths"] == []
        assert call("grep", pattern="needle").output["matches"] == []


WINDOWS_FORMS = {
    "NUL": "NUL",
    "con.txt": "con.txt",
    "sub\\COM1": "COM1",
    "C:rel.txt": "C:",
    "\\\\server\\share\\x": "//",
    "\\\\?\\C:\\x": "//",
    "\\\\.\\pipe\\x": "//",
    "a.txt:stream": "a.txt:stream",
    "a.txt.": "a.txt.",
    "a.txt ": "a.txt ",
}


@pytest.mark.skipif(os.name != "nt", reason="needs Windows")
@pytest.mark.parametrize("path", WINDOWS_FORMS)
def test_ab_path_020_windows_forms_are_refused(refused: Code, path: str) -> None:
    """Before anything is opened."""
    assert refused("read-file", path=path) == "path_invalid"


@pytest.mark.parametrize(("path", "part"), WINDOWS_FORMS.items())
def test_ab_path_020_the_offending_part_is_named(path: str, part: str) -> None:
    """The rule itself holds on every platform; only Windows applies it."""
    from holon_builtin_workspace.paths import refuse_windows_forms

    with pytest.raises(Refused) as caught:
        refuse_windows_forms(path)

    assert caught.value.problem.code == "path_invalid"
    assert caught.value.problem.details["part"] == part


@posix
def test_ab_path_020_elsewhere_these_are_ordinary_names(call: Call, root: Path) -> None:
    """A file named NUL can be read where that is a file."""
    for name in ("NUL", "a.txt:stream", "a.txt ", "sub\\COM1"):
        (root / name).write_text(name)

        assert call("read-file", path=name).output["content"] == name


@pytest.mark.parametrize("tool", ["read-file", "list-dir", "glob", "grep"])
@pytest.mark.parametrize("instead", ["nothing", "file", "other"])
def test_ab_path_021_a_lost_root_is_named(call: Call, root: Path, tool: str, instead: str) -> None:
    """Gone, replaced by a file or by another folder: refused, never the current folder."""
    keep = root.rename(root.parent / "kept")
    if instead == "file":
        root.write_text("x")
    if instead == "other":
        root.mkdir()
    arguments = {"read-file": {"path": "a"}, "list-dir": {}}.get(tool, {"pattern": "x"})

    result = call(tool, **arguments)

    assert keep.is_dir()
    assert result.status is Status.BLOCKED
    assert result.failure is not None
    assert result.failure.code == "workspace_unavailable"
    assert result.failure.details["workspace"].startswith("proj-")


def test_ab_path_021_the_lane_itself_compares_the_root(runtime: Runtime, root: Path) -> None:
    """Between the gate's look and the lane's, the folder may be exchanged."""
    workspace = runtime.workspaces.open(root)
    root.rename(root.parent / "kept")
    root.mkdir()

    with pytest.raises(Refused) as caught, opened(workspace):
        pass

    assert caught.value.problem.code == "workspace_unavailable"
    assert caught.value.problem.details == {"workspace": workspace.id}


def test_ab_path_022_an_empty_path_is_the_root(call: Call, refused: Code, root: Path) -> None:
    """For every tool alike: a folder, which can be listed and not read."""
    (root / "a.txt").write_text("a")

    assert refused("read-file", path="") == "is_a_directory"
    assert refused("read-file", path=".") == "is_a_directory"
    assert [entry["name"] for entry in call("list-dir", path="").output["entries"]] == ["a.txt"]
    assert call("list-dir", path=".").output["path"] == "."


def test_every_case_of_the_area_has_its_test(shared: Path) -> None:
    """A case that is added to the data fails here until it is handled."""
    lines = (shared / "abuse-cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = {case["id"] for case in map(json.loads, lines) if case["area"] == "path"}
    here = Path(__file__).read_text(encoding="utf-8")

    assert {
        name for name in wanted if f"test_{name.lower().replace('-', '_')}_" not in here
    } == set()
