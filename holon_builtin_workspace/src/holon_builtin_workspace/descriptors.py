"""The four tools as the catalogue knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_builtin_workspace.bounds import RESULT_BYTES
from holon_builtin_workspace.glob_files import DEFAULT_PATHS, MAX_PATHS, GlobFiles
from holon_builtin_workspace.grep_files import (
    DEFAULT_LINE_BYTES,
    DEFAULT_MATCHES,
    MAX_LINE_BYTES,
    MAX_MATCHES,
    GrepFiles,
)
from holon_builtin_workspace.list_dir import DEFAULT_ENTRIES, MAX_ENTRIES, ListDir
from holon_builtin_workspace.read_file import DEFAULT_BYTES, MAX_BYTES, ReadFile
from holon_core.records.tool import Dependency, Limits, RuntimeToolDescriptor
from holon_core.records.words import Effect, LaneKind, Origin, Posture

if TYPE_CHECKING:
    from holon_builtin_workspace.tool import WorkspaceTool

SOURCE = "holon.built-in.workspace"
VERSION = "1"
TIMEOUT_S = 30.0
# A search's own answer is bounded by RESULT_BYTES; this is what it may read of ripgrep's output.
SEARCH_OUTPUT_BYTES = 16 * 1024 * 1024
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_Schema = dict[str, Any]


def tools() -> list[tuple[RuntimeToolDescriptor, WorkspaceTool]]:
    """Return each tool with its executor. The descriptors carry no digest yet."""
    return [
        (workspace_glob(), GlobFiles()),
        (workspace_grep(), GrepFiles()),
        (workspace_list_dir(), ListDir()),
        (workspace_read_file(), ReadFile()),
    ]


def workspace_glob() -> RuntimeToolDescriptor:
    """Describe ``workspace-glob``."""
    return _tool(
        "workspace-glob",
        title="Find files by name",
        description=(
            "List the files of the workspace whose path matches a glob, sorted by path. "
            "* and ? stay within one name, ** spans folders, {a,b} and [a-z] work. A glob without "
            "/ is about names in any folder ('*.py'); one with / starts at the searched folder "
            "('src/**/*.ts'). Files that .gitignore, .ignore or .rgignore in the searched folder "
            "or below exclude are left out, and so are hidden ones; left_out_files_have_results "
            "says for an empty answer whether that hid anything. Links and folders are not listed."
        ),
        examples=(
            '{"pattern": "*.py"}',
            '{"pattern": "tests/**/test_*.py", "max_results": 50}',
            '{"pattern": "*.{yml,yaml}", "path": "deploy", "include_hidden": true}',
        ),
        inputs={
            "pattern": _text("The glob, as in '**/*.md'.", minLength=1, maxLength=1000),
            "path": _text("Folder to search, relative to the workspace; its root by default."),
            "max_results": _number("Most paths to return.", MAX_PATHS, DEFAULT_PATHS),
            **_SCOPE,
            "cursor": _text("next_cursor of the page before this one; the rest unchanged."),
        },
        required=["pattern"],
        outputs={
            **_ASKED,
            "paths": {"type": "array", "items": _text("Path of a file."), "maxItems": MAX_PATHS},
            **_SEARCHED,
        },
        program=True,
    )


def workspace_grep() -> RuntimeToolDescriptor:
    """Describe ``workspace-grep``."""
    match = {
        "path": _text("Path of the file."),
        "line": _count("Number of the line, from 1."),
        "column": _count("Character of the line at which the first match begins, from 1."),
        "offset": _count("Byte at which the first match begins, a byte order mark not counted."),
        "text": _text("The line without its end; only the part around the match where cut."),
        "count": _count("How many matches the line has."),
        "cut": _flag("The line is longer than text."),
        "lossy": _flag("The line is not UTF-8; text shows U+FFFD for what is none."),
    }
    return _tool(
        "workspace-grep",
        title="Search in files",
        description=(
            "Search the files of the workspace for a regular expression (ripgrep's syntax: no "
            "look-around or back-references) and return the matching lines, sorted by path and "
            "line. Narrow with path and glob. Binary files, hidden files, and files that "
            ".gitignore, .ignore or .rgignore in the searched folder or below exclude are left "
            "out; left_out_files_have_results says for an empty answer whether that hid a match. "
            "Naming a file as path searches it whatever the ignore rules say. A match of several "
            "lines is not possible."
        ),
        examples=(
            '{"pattern": "def main\\\\("}',
            '{"pattern": "TODO(", "literal": true, "glob": "*.py"}',
            '{"pattern": "timeout", "path": "src", "case": "insensitive", "max_per_file": 1}',
        ),
        inputs={
            "pattern": _text("The regular expression.", minLength=1, maxLength=10_000),
            "path": _text("Folder or file to search; the workspace's root by default."),
            "glob": _text("Only files that match, as in workspace-glob.", maxLength=1000),
            "case": {
                "enum": ["sensitive", "insensitive", "smart"],
                "description": "smart: insensitive while the pattern has no capital letter.",
                "default": "sensitive",
            },
            "literal": _flag("The pattern is plain text.", default=False),
            "whole_words": _flag("Only matches that are whole words.", default=False),
            "max_results": _number("Most lines to return.", MAX_MATCHES, DEFAULT_MATCHES),
            "max_per_file": _number("Most lines of one file.", MAX_MATCHES),
            "max_line_bytes": _number(
                "Most bytes of one line to show, around its first match.",
                MAX_LINE_BYTES,
                DEFAULT_LINE_BYTES,
                least=20,
            ),
            **_SCOPE,
            "cursor": _text("next_cursor of the page before this one; the rest unchanged."),
        },
        required=["pattern"],
        outputs={
            **_ASKED,
            "matches": {"type": "array", "items": _object(match), "maxItems": MAX_MATCHES},
            "too_long": {
                "type": "array",
                "items": _text("Path of a file with a match in a line too long to be shown."),
            },
            **_SEARCHED,
        },
        program=True,
    )


def workspace_list_dir() -> RuntimeToolDescriptor:
    """Describe ``workspace-list-dir``."""
    entry = {
        "name": _text("Name in the folder."),
        "path": _text("Path to use with the other tools."),
        "type": {"enum": ["file", "dir", "symlink", "fifo", "socket", "device", "other"]},
        "size_bytes": _count("Size of a file.", null=True),
        "modified_at_unix_seconds": _count("Last change of it.", null=True, least=None),
    }
    return _tool(
        "workspace-list-dir",
        title="List a folder",
        description=(
            "List what is directly in one folder of the workspace, sorted by name, hidden entries "
            "included. A symlink is shown as such, without what it leads to. Ignore rules play no "
            "part. Page on with cursor where truncated is true."
        ),
        examples=("{}", '{"path": "src", "max_entries": 50}'),
        inputs={
            "path": _text("Folder, relative to the workspace; its root by default."),
            "max_entries": _number("Most entries to return.", MAX_ENTRIES, DEFAULT_ENTRIES),
            "cursor": _text("next_cursor of the page before this one; the rest unchanged."),
        },
        required=[],
        outputs={
            **_ASKED,
            "entries": {"type": "array", "items": _object(entry), "maxItems": MAX_ENTRIES},
            "truncated": _TRUNCATED,
            "next_cursor": _CURSOR,
        },
    )


def workspace_read_file() -> RuntimeToolDescriptor:
    """Describe ``workspace-read-file``."""
    return _tool(
        "workspace-read-file",
        title="Read a file",
        description=(
            "Read one file of the workspace, or a part of it: by lines (start_line, end_line, "
            "from 1, both included) or by bytes (offset). At most max_bytes are returned; where "
            "truncated is true, go on with offset=next_offset (or start_line=next_line where "
            "that is given). The text is exactly the file's, line ends included; a byte order "
            "mark is reported as bom and is no part of it. Content that is not UTF-8 fails with "
            "binary_content: ask for encoding=base64."
        ),
        examples=(
            '{"path": "README.md"}',
            '{"path": "src/app.py", "start_line": 40, "end_line": 80}',
            '{"path": "logo.png", "encoding": "base64", "max_bytes": 1024}',
        ),
        inputs={
            "path": _text("File, relative to the workspace, or absolute and inside it."),
            "encoding": {
                "enum": ["utf-8", "base64"],
                "description": "How content is given.",
                "default": "utf-8",
            },
            "start_line": _number("First line, from 1.", _LARGE),
            "end_line": _number("Last line, included.", _LARGE),
            "offset": _number("First byte, from 0; not with lines.", _LARGE, least=0),
            "max_bytes": _number("Most bytes of the file to return.", MAX_BYTES, DEFAULT_BYTES),
        },
        required=["path"],
        outputs={
            **_ASKED,
            "encoding": {"enum": ["utf-8", "base64"]},
            "content": _text("The text, or base64."),
            "offset": _count("Byte of the file at which content begins."),
            "size_bytes": _count("Bytes of the file that content holds."),
            "total_size": _count("Size of the file in bytes."),
            "next_offset": _count("Where to go on; null at the end of the file.", null=True),
            "start_line": _count("Number of the first line, where known.", null=True),
            "end_line": _count("Number of the last line in content, where known.", null=True),
            "next_line": _count("The line that begins at next_offset.", null=True),
            "truncated": _flag("Content ends before what was asked for does."),
            "bom": _flag("The file begins with a UTF-8 byte order mark."),
            "nul_bytes": _flag("Content holds NUL: perhaps no text after all."),
            "line_ends": {
                "enum": ["lf", "crlf", "mixed", "none"],
                "description": "Line ends in content; they are kept as they are.",
            },
        },
    )


def _tool(
    name: str,
    *,
    title: str,
    description: str,
    examples: tuple[str, ...],
    inputs: _Schema,
    required: list[str],
    outputs: _Schema,
    program: bool = False,
) -> RuntimeToolDescriptor:
    needed = Dependency(kind="program", name="rg", version=">=13,<15")
    size = SEARCH_OUTPUT_BYTES if program else RESULT_BYTES
    return RuntimeToolDescriptor(
        id=f"{SOURCE}/{name}",
        lane=LaneKind.BUILT_IN.value,
        origin=Origin.BUILT_IN,
        posture=Posture.BUILT_IN_SAFE,
        version=VERSION,
        name=name,
        title=title,
        description=description,
        examples=examples,
        input_schema={"$schema": _DIALECT, **_object(inputs, required)},
        output_schema={"$schema": _DIALECT, **_object(outputs)},
        effects=frozenset({Effect.WORKSPACE_READ}),
        dependencies=(needed,) if program else (),
        idempotent=True,
        limits=Limits(timeout_s=TIMEOUT_S, max_output_bytes=size),
        executor_ref=f"holon_builtin_workspace:{VERSION}",
    )


def _object(properties: _Schema, required: list[str] | None = None) -> _Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties) if required is None else required,
        "additionalProperties": False,
    }


def _text(description: str, **bounds: int) -> _Schema:
    return {"type": "string", "description": description, **bounds}


def _flag(description: str, **more: bool) -> _Schema:
    return {"type": "boolean", "description": description, **more}


def _number(description: str, most: int, usual: int | None = None, *, least: int = 1) -> _Schema:
    found: _Schema = {"type": "integer", "minimum": least, "maximum": most}
    if usual is not None:
        found["default"] = usual
    return {**found, "description": description}


def _count(description: str, *, null: bool = False, least: int | None = 0) -> _Schema:
    found: _Schema = {"type": ["integer", "null"] if null else "integer"}
    if least is not None:
        found["minimum"] = least
    return {**found, "description": description}


_LARGE = 2**53 - 1
_TRUNCATED = _flag("There is more than this page.")
_CURSOR: _Schema = {
    "type": ["string", "null"],
    "description": "Give it as cursor for the next page; null where there is none.",
}
_ASKED: _Schema = {
    "asked": _text("The path as it was asked for."),
    "path": _text("The same place relative to the workspace, without links and dots."),
}
_SCOPE: _Schema = {
    "include_ignored": _flag("Take also what ignore files exclude.", default=False),
    "include_hidden": _flag("Take also names that begin with a dot.", default=False),
}
_SEARCHED: _Schema = {
    "truncated": _TRUNCATED,
    "cut_by": {
        "enum": ["max_results", "size", "search_output", None],
        "description": "What ended the page: its number, its size, or what ripgrep may print.",
    },
    "next_cursor": _CURSOR,
    "ignore_rules_applied": _flag("Ignore files from the searched folder down counted."),
    "hidden_files_searched": _flag("Names that begin with a dot were searched."),
    "left_out_files_have_results": {
        "type": ["boolean", "null"],
        "description": "For an empty answer: ignored or hidden files would have results.",
    },
    "some_unreadable": _flag("ripgrep could not read everything."),
}
