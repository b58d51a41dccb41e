"""What the four tools answer: parts, pages, ignore rules, and their own description."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holon_builtin_workspace.descriptors import tools
from holon_builtin_workspace.lane import SOURCE
from holon_core.records.result import ToolResult
from holon_core.records.words import Effect, Posture, Status
from holon_core.runtime import Runtime
from holon_core.wire.schema_check import check_schema

Call = Callable[..., ToolResult]
Code = Callable[..., str]
TOOLS = [pytest.param(tool, id=tool.name) for tool, _ in tools()]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_described_whole(tool: Any) -> None:
    """Closed schemas without findings, read effect alone, limits, and texts for a model."""
    assert check_schema(tool.input_schema, role="input").findings == ()
    assert check_schema(tool.output_schema, role="output").findings == ()
    for schema in (tool.input_schema, tool.output_schema):
        assert schema["additionalProperties"] is False
        assert all(
            part.get("description") or "enum" in part or "type" in part
            for part in schema["properties"].values()
        )
    assert tool.id.startswith(f"{SOURCE}/workspace-")
    assert tool.posture is Posture.BUILT_IN_SAFE
    assert tool.effects == {Effect.WORKSPACE_READ}
    assert tool.limits.timeout_s == 30
    assert tool.title
    assert len(tool.description) > 100


@pytest.mark.parametrize("tool", TOOLS)
def test_the_examples_of_a_tool_are_valid(tool: Any, call: Call, root: Path) -> None:
    """Each is accepted as arguments."""
    for example in tool.examples:
        result = call(tool.name.removeprefix("workspace-"), **json.loads(example))
        assert result.failure is None or result.failure.code == "path_not_found"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read-file", {}),
        ("read-file", {"path": "a", "lines": 3}),
        ("read-file", {"path": "a", "max_bytes": 0}),
        ("read-file", {"path": "a", "start_line": 2, "end_line": 1}),
        ("read-file", {"path": "a", "start_line": 2, "offset": 1}),
        ("read-file", {"path": "a", "start_line": 2, "encoding": "base64"}),
        ("read-file", {"path": "a", "start_line": 9}),
        ("glob", {"pattern": ""}),
        ("glob", {"pattern": "*", "max_results": 0}),
        ("grep", {"pattern": "x", "case": "none"}),
        ("grep", {"pattern": "x", "cursor": "nonsense"}),
        ("grep", {"pattern": "x", "cursor": "-1:a"}),
        ("glob", {"pattern": "*", "cursor": "a.txt"}),
        ("list-dir", {"cursor": "a.txt"}),
    ],
)
def test_unusable_arguments_are_refused(
    refused: Code, root: Path, tool: str, arguments: dict[str, Any]
) -> None:
    """With the code of invalid arguments."""
    (root / "a").write_text("1\n2\n")

    assert refused(tool, **arguments) == "arguments_invalid"


@pytest.mark.parametrize("tool", ["read-file", "list-dir", "glob", "grep"])
def test_a_dry_run_shows_the_request_and_starts_nothing(
    runtime: Runtime, root: Path, tool: str
) -> None:
    """For the searches with the program and its arguments."""
    session = runtime.session(principal="ann", workspace=root)
    usual: dict[str, dict[str, Any]] = {"read-file": {"path": "a"}, "list-dir": {}}
    arguments = usual.get(tool, {"pattern": "*x"})

    result = session.dry_run(f"{SOURCE}/workspace-{tool}", arguments)

    assert result.status is Status.COMPLETED
    assert result.output["arguments"] == arguments
    if tool in ("glob", "grep"):
        assert Path(result.output["program"]).is_absolute()
        assert result.output["ripgrep_arguments"][-2:] == ["--", "./"]


def test_a_session_without_a_workspace_is_told_so(runtime: Runtime) -> None:
    """The tools need a folder to be confined to."""
    result = runtime.session(principal="ann").call(f"{SOURCE}/workspace-list-dir", {})

    assert result.failure is not None
    assert result.failure.code == "workspace_required"


@pytest.mark.parametrize("offset", [2**40, 2**45, 2**53 - 1])
def test_behind_the_end_of_a_file_there_is_nothing_however_far(
    call: Call, root: Path, offset: int
) -> None:
    """Some places no file of the file system could have; the path is not to blame."""
    (root / "a.txt").write_text("abc\n")

    output = call("read-file", path="a.txt", offset=offset).output

    assert (output["content"], output["next_offset"]) == ("", None)


def test_a_file_read_on_by_offset_is_the_whole_file(call: Call, root: Path) -> None:
    """Parts end between characters, and joined they are the text."""
    text = "zeile €uro 😀\r\n" * 200
    (root / "a.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        output = call("read-file", path="a.txt", offset=offset, max_bytes=101).output
        assert output["size_bytes"] <= 101
        assert output["truncated"] is (output["next_offset"] is not None)
        parts.append(output["content"])
        offset = output["next_offset"]

    assert "".join(parts) == text


def test_a_file_read_on_by_line_is_the_whole_file(call: Call, root: Path) -> None:
    """Line numbers fit the parts."""
    lines = [f"line {number}\n" for number in range(1, 51)] + ["end"]
    (root / "a.txt").write_text("".join(lines))
    got: list[str] = []
    first: int | None = 1
    while first is not None:
        output = call("read-file", path="a.txt", start_line=first, end_line=first + 6).output
        assert output["start_line"] == first
        assert output["end_line"] == min(first + 6, 51)
        assert not output["truncated"]
        got.append(output["content"])
        first = output["next_line"]

    assert "".join(got) == "".join(lines)


def test_a_line_deep_in_a_large_file_is_found(call: Call, root: Path) -> None:
    """Across the pieces in which it is looked for."""
    with (root / "a.txt").open("w") as file:
        for number in range(1, 100_001):
            file.write(f"this is line number {number}\n")

    output = call("read-file", path="a.txt", start_line=99_999).output

    assert output["content"] == "this is line number 99999\nthis is line number 100000\n"
    assert (output["start_line"], output["end_line"], output["next_offset"]) == (
        99_999,
        100_000,
        None,
    )


def test_a_file_that_grows_while_it_is_read_is_no_answer(call: Call, root: Path) -> None:
    """What was found before the change may not fit what was found after it."""
    with (root / "growing").open("wb") as file:
        file.truncate(256 * 1024**2)
        file.seek(0, os.SEEK_END)
        file.write(b"\nend")
    done = threading.Event()

    def grow() -> None:
        with (root / "growing").open("ab") as file:
            while not done.wait(0.001):
                file.write(b"x")
                file.flush()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        result = call("read-file", path="growing", start_line=2)
    finally:
        done.set()
        writer.join()

    assert result.failure is not None
    assert result.failure.code == "changed_during_read"


def test_an_offset_inside_a_character_is_refused_with_its_beginning(call: Call, root: Path) -> None:
    """No half of a character is called binary content."""
    (root / "a.txt").write_text("a€b")

    failure = call("read-file", path="a.txt", offset=2).failure

    assert failure is not None
    assert failure.code == "arguments_invalid"
    assert "begins at 1" in failure.message


@pytest.mark.parametrize(
    ("content", "ends"),
    [(b"a", "none"), (b"a\nb\n", "lf"), (b"a\r\n", "crlf"), (b"a\r\nb\n", "mixed"), (b"", "none")],
)
def test_line_ends_are_reported_and_kept(call: Call, root: Path, content: bytes, ends: str) -> None:
    """The text is the file's."""
    (root / "a.txt").write_bytes(content)

    output = call("read-file", path="a.txt").output

    assert output["content"].encode() == content
    assert output["line_ends"] == ends


def test_text_that_grows_in_json_is_cut_to_fit(call: Call, root: Path) -> None:
    """Control characters take six bytes of JSON each; the answer still fits its limit."""
    (root / "a.log").write_bytes(b"\x1b" * 300_000)
    (root / "b.bin").write_bytes(os.urandom(300_000))

    text = call("read-file", path="a.log", max_bytes=262_144).output
    raw = call("read-file", path="b.bin", max_bytes=262_144, encoding="base64").output

    assert text["truncated"]
    assert text["next_offset"] == len(text["content"])
    assert raw["truncated"]
    assert raw["next_offset"] == len(base64.b64decode(raw["content"]))


def test_a_page_of_long_names_is_cut_by_size(call: Call, root: Path) -> None:
    """The answer fits its limit and goes on from where it ends."""
    for number in range(600):
        (root / f"{number:03}{'é' * 120}").write_text("needle " * 60 + "\n")

    listed = call("list-dir", max_entries=1000).output
    found = call("grep", pattern="needle", max_results=1000).output

    assert listed["truncated"]
    assert len(listed["entries"]) < 600
    following = call("list-dir", cursor=listed["next_cursor"], max_entries=1000).output
    assert len(listed["entries"]) + len(following["entries"]) == 600
    assert (found["truncated"], found["cut_by"]) == (True, "size")
    rest = call("grep", pattern="needle", max_results=1000, cursor=found["next_cursor"]).output
    assert len(found["matches"]) + len(rest["matches"]) == 600


@pytest.mark.parametrize(
    ("tool", "arguments", "other"),
    [
        ("grep", {"pattern": "alpha"}, {"pattern": "beta"}),
        ("grep", {"pattern": "alpha"}, {"path": "sub"}),
        ("grep", {"pattern": "alpha"}, {"case": "insensitive"}),
        ("glob", {"pattern": "*"}, {"pattern": "*.txt"}),
        ("glob", {"pattern": "*"}, {"include_hidden": True}),
        ("list-dir", {}, {"path": "sub"}),
    ],
)
def test_a_cursor_goes_on_with_its_own_question_alone(
    call: Call, root: Path, tool: str, arguments: dict[str, Any], other: dict[str, Any]
) -> None:
    """With another it would leave out, silently, what nobody was shown."""
    (root / "sub").mkdir()
    for place in (root, root / "sub"):
        for name in ("a.txt", "b.txt", "c.txt"):
            (place / name).write_text("alpha beta\n")

    most = "max_entries" if tool == "list-dir" else "max_results"
    first = call(tool, **arguments, **{most: 2}).output
    rest = call(tool, **arguments, **{most: 10}, cursor=first["next_cursor"])
    strayed = call(tool, **{**arguments, **other}, cursor=first["next_cursor"])

    assert rest.status is Status.COMPLETED
    assert strayed.failure.code == "arguments_invalid"
    assert "of another question" in strayed.failure.message
    assert strayed.failure.details["path"] == "/cursor"


def test_a_listing_names_types_and_sizes(call: Call, root: Path) -> None:
    """In the order of names."""
    (root / "b").mkdir()
    (root / "a.txt").write_text("12345")
    (root / ".hidden").write_text("")

    entries = call("list-dir").output["entries"]

    assert [(e["name"], e["type"], e["size_bytes"]) for e in entries] == [
        (".hidden", "file", 0),
        ("a.txt", "file", 5),
        ("b", "dir", None),
    ]


def test_a_listing_of_a_file_is_refused(refused: Code, root: Path) -> None:
    """And so is a glob in one."""
    (root / "a.txt").write_text("")

    assert refused("list-dir", path="a.txt") == "not_a_directory"
    assert refused("glob", pattern="*", path="a.txt") == "not_a_directory"


IGNORED = {
    ".gitignore": "*.log\n/build\nkeep/*\n!keep/this.log\n# *.txt\n",
    "sub/.gitignore": "*.tmp\n/only-here\n!/back.tmp\ndeep/x.txt\nfolder/\n",
    "sub/.ignore": "!*.bak\n",
    "sub/deep/.rgignore": "z.txt\r\n",
}
FILES = {
    "a.txt": True,
    "a.log": False,
    "build/a.txt": False,
    "sub/build/a.txt": True,
    "keep/other.txt": False,
    "keep/this.log": True,
    "sub/a.tmp": False,
    "sub/back.tmp": True,
    "sub/only-here": False,
    "sub/deep/only-here": True,
    "sub/deep/x.txt": False,
    "sub/deep/y.txt": True,
    "sub/deep/z.txt": False,
    "sub/folder/in/a.txt": False,
    "sub/deep/folder": True,
    "a.tmp": True,
    "sub/c.bak": True,
}


def test_ignore_rules_count_from_the_searched_folder_down(call: Call, root: Path) -> None:
    """Anchors, folders, exceptions and their order are as git's, on every level."""
    for path in FILES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("needle\n")
    for path, text in IGNORED.items():
        (root / path).write_text(text)

    expected = sorted((path for path, shown in FILES.items() if shown), key=lambda p: p.split("/"))

    assert call("glob", pattern="**").output["paths"] == expected
    matches = call("grep", pattern="needle").output["matches"]
    assert [match["path"] for match in matches] == expected
    below = call("glob", pattern="**", path="sub/deep").output["paths"]
    assert below == ["sub/deep/folder", "sub/deep/only-here", "sub/deep/x.txt", "sub/deep/y.txt"]
    everything = call("glob", pattern="**", include_ignored=True).output["paths"]
    assert len(everything) == len(FILES)


def test_a_search_can_be_narrowed(call: Call, root: Path) -> None:
    """By path, glob, case, words, plain text and number per file."""
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("Foo(1)\nfoo_bar\nfoo.\nfoo.\n")
    (root / "src" / "b.txt").write_text("foo\n")

    def lines(**arguments: Any) -> list[tuple[str, int]]:
        matches = call("grep", **arguments).output["matches"]
        return [(match["path"], match["line"]) for match in matches]

    a, b = "src/a.py", "src/b.txt"
    assert lines(pattern="foo", glob="*.txt") == [(b, 1)]
    assert lines(pattern="foo", glob="src/*.py") == [(a, 2), (a, 3), (a, 4)]
    assert lines(pattern="foo", path="src", glob="/*.txt") == [(b, 1)]
    assert lines(pattern="foo", path=b, glob="*.py") == []
    assert lines(pattern="foo", case="insensitive", glob="*.py", max_per_file=2) == [(a, 1), (a, 2)]
    assert lines(pattern="Foo", case="smart") == [(a, 1)]
    assert lines(pattern="foo", whole_words=True) == [(a, 3), (a, 4), (b, 1)]
    assert lines(pattern="foo.", literal=True) == [(a, 3), (a, 4)]
    assert lines(pattern="Foo(", literal=True) == [(a, 1)]


def test_a_line_that_is_not_utf8_is_marked(call: Call, root: Path) -> None:
    """Its text cannot be taken for the file's."""
    (root / "a.txt").write_bytes(b"caf\xe9 needle\n")

    (match,) = call("grep", pattern="needle").output["matches"]

    assert match["lossy"]
    assert match["text"] == "caf\ufffd needle"
    assert match["column"] == 6


def test_a_pattern_with_a_nul_or_a_line_end_is_refused(refused: Code, root: Path) -> None:
    """Neither can be given to the program as what it is."""
    (root / "a.txt").write_text("a\nb\n")

    assert refused("grep", pattern="a\0") == "invalid_pattern"
    assert refused("grep", pattern="a\\nb") == "invalid_pattern"
