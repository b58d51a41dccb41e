"""The four tools as the catalogue knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_builtin_workspace.bounds import RESULT_BYTES
from holon_builtin_workspace.glob_files import DEFAULT_PATHS, MAX_PATHS, GlobFiles
from holon_builtin_workspace.grep_files import (
    DEFAULT_LINE_BYTES,
    DEFAULT_MATCHES,
    MAX_LINE_BYTES,
    MAX_MATCHES,
    GrepFiles,
)
from holon_builtin_workspace.lane import SOURCE
from holon_builtin_workspace.list_dir import DEFAULT_ENTRIES, MAX_ENTRIES, ListDir
from holon_builtin_workspace.read_file import DEFAULT_BYTES, MAX_BYTES, ReadFile
from holon_builtin_workspace.schemas import (
    ASKED,
    CURSOR,
    LARGE,
    SCOPE,
    SEARCHED,
    TRUNCATED,
    Schema,
    closed_object,
    count,
    flag,
    number,
    text,
)
from holon_core.records.tool import Dependency, Limits, RuntimeToolDescriptor
from holon_core.records.words import Effect, LaneKind, Origin, Posture

if TYPE_CHECKING:
    from holon_builtin_workspace.tool import WorkspaceTool

VERSION = "1"
TIMEOUT_S = 30.0
# A search's own answer is bounded by RESULT_BYTES; this is what it may read of ripgrep's output.
SEARCH_OUTPUT_BYTES = 16 * 1024 * 1024
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


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
            "pattern": text("The glob, as in '**/*.md'.", minLength=1, maxLength=1000),
            "path": text("Folder to search, relative to the workspace; its root by default."),
            "max_results": number("Most paths to return.", MAX_PATHS, DEFAULT_PATHS),
            **SCOPE,
            "cursor": text("next_cursor of the page before this one; the rest unchanged."),
        },
        required=["pattern"],
        outputs={
            **ASKED,
            "paths": {"type": "array", "items": text("Path of a file."), "maxItems": MAX_PATHS},
            **SEARCHED,
        },
        program=True,
    )


def workspace_grep() -> RuntimeToolDescriptor:
    """Describe ``workspace-grep``."""
    match = {
        "path": text("Path of the file."),
        "line": count("Number of the line, from 1."),
        "column": count("Character of the line at which the first match begins, from 1."),
        "offset": count("Byte at which the first match begins, a byte order mark not counted."),
        "text": text("The line without its end; only the part around the match where cut."),
        "count": count("How many matches the line has."),
        "cut": flag("The line is longer than text."),
        "lossy": flag("The line is not UTF-8; text shows U+FFFD for what is none."),
    }
    return _tool(
        "workspace-grep",
        title="Find text in files",
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
            "pattern": text("The regular expression.", minLength=1, maxLength=10_000),
            "path": text("Folder or file to search; the workspace's root by default."),
            "glob": text("Only files that match, as in workspace-glob.", maxLength=1000),
            "case": {
                "enum": ["sensitive", "insensitive", "smart"],
                "description": "smart: insensitive while the pattern has no capital letter.",
                "default": "sensitive",
            },
            "literal": flag("The pattern is plain text.", default=False),
            "whole_words": flag("Only matches that are whole words.", default=False),
            "max_results": number("Most lines to return.", MAX_MATCHES, DEFAULT_MATCHES),
            "max_per_file": number("Most lines of one file.", MAX_MATCHES),
            "max_line_bytes": number(
                "Most bytes of one line to show, around its first match.",
                MAX_LINE_BYTES,
                DEFAULT_LINE_BYTES,
                least=20,
            ),
            **SCOPE,
            "cursor": text("next_cursor of the page before this one; the rest unchanged."),
        },
        required=["pattern"],
        outputs={
            **ASKED,
            "matches": {"type": "array", "items": closed_object(match), "maxItems": MAX_MATCHES},
            "too_long": {
                "type": "array",
                "items": text("Path of a file with a match in a line too long to be shown."),
            },
            **SEARCHED,
        },
        program=True,
    )


def workspace_list_dir() -> RuntimeToolDescriptor:
    """Describe ``workspace-list-dir``."""
    entry = {
        "name": text("Name in the folder."),
        "path": text("Path to use with the other tools."),
        "type": {"enum": ["file", "dir", "symlink", "fifo", "socket", "device", "other"]},
        "size_bytes": count("Size of a file.", null=True),
        "modified_at_unix_seconds": count("Last change of it.", null=True, least=None),
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
            "path": text("Folder, relative to the workspace; its root by default."),
            "max_entries": number("Most entries to return.", MAX_ENTRIES, DEFAULT_ENTRIES),
            "cursor": text("next_cursor of the page before this one; the rest unchanged."),
        },
        required=[],
        outputs={
            **ASKED,
            "entries": {"type": "array", "items": closed_object(entry), "maxItems": MAX_ENTRIES},
            "truncated": TRUNCATED,
            "next_cursor": CURSOR,
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
            "path": text("File, relative to the workspace, or absolute and inside it."),
            "encoding": {
                "enum": ["utf-8", "base64"],
                "description": "How content is given.",
                "default": "utf-8",
            },
            "start_line": number("First line, from 1.", LARGE),
            "end_line": number("Last line, included.", LARGE),
            "offset": number("First byte, from 0; not with lines.", LARGE, least=0),
            "max_bytes": number("Most bytes of the file to return.", MAX_BYTES, DEFAULT_BYTES),
        },
        required=["path"],
        outputs={
            **ASKED,
            "encoding": {"enum": ["utf-8", "base64"]},
            "content": text("The text, or base64."),
            "offset": count("Byte of the file at which content begins."),
            "size_bytes": count("Bytes of the file that content holds."),
            "total_size": count("Size of the file in bytes."),
            "next_offset": count("Where to go on; null at the end of the file.", null=True),
            "start_line": count("Number of the first line, where known.", null=True),
            "end_line": count("Number of the last line in content, where known.", null=True),
            "next_line": count("The line that begins at next_offset.", null=True),
            "truncated": flag("Content ends before what was asked for does."),
            "bom": flag("The file begins with a UTF-8 byte order mark."),
            "nul_bytes": flag("Content holds NUL: perhaps no text after all."),
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
    inputs: Schema,
    required: list[str],
    outputs: Schema,
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
        input_schema={"$schema": _DIALECT, **closed_object(inputs, required)},
        output_schema={"$schema": _DIALECT, **closed_object(outputs)},
        effects=frozenset({Effect.WORKSPACE_READ}),
        dependencies=(needed,) if program else (),
        idempotent=True,
        limits=Limits(timeout_s=TIMEOUT_S, max_output_bytes=size),
        executor_ref=f"holon_builtin_workspace:{VERSION}",
    )
