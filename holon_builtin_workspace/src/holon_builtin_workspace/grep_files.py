"""workspace-grep: the lines that match a regular expression, in stable order, a page at a time."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from holon_builtin_workspace.bounds import boundary_before
from holon_builtin_workspace.contain import opened
from holon_builtin_workspace.cursors import cursor_at, place_of
from holon_builtin_workspace.globs import Glob
from holon_builtin_workspace.paths import given, shown
from holon_builtin_workspace.places import Place, require_file
from holon_builtin_workspace.refusals import refuse
from holon_builtin_workspace.ripgrep import Ran, Ripgrep
from holon_builtin_workspace.searching import Found, Key, Search, Searcher, key_of, rules
from holon_builtin_workspace.timing import Clock
from holon_builtin_workspace.tool import WorkspaceTool, workspace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.guard.sealed import SealedCall

DEFAULT_MATCHES = 100
MAX_MATCHES = 1000
DEFAULT_LINE_BYTES = 500
MAX_LINE_BYTES = 8000
_CASES = {
    "sensitive": "--case-sensitive",
    "insensitive": "--ignore-case",
    "smart": "--smart-case",
}


class GrepFiles(WorkspaceTool):
    """Searches the content of files; links are not followed."""

    operation = "search files by ripgrep"

    def __init__(self) -> None:
        self._ripgrep = Ripgrep()

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Search for one page."""
        arguments = call.arguments
        clock = Clock(call)
        asked = arguments.get("path", ".")
        if "\0" in arguments["pattern"]:
            raise refuse("invalid_pattern", "the pattern holds a NUL character; write \\x00")
        glob = Glob(arguments["glob"]) if "glob" in arguments else None
        before = place_of(call)
        after = None if before is None else _after(before)
        with opened(workspace_of(call)) as root:
            place = root.find(asked)
            if not place.is_folder:
                require_file(place, asked)
            reader = _Reader(place, glob, arguments.get("max_line_bytes", DEFAULT_LINE_BYTES))
            search = Search(
                arguments=_Arguments(arguments),
                read=reader.read,
                judge=reader.judge,
                drop=reader.drop,
                separator=b"\n",
                glob=glob if place.is_folder else None,
                include_ignored=arguments.get("include_ignored", False) or not place.is_folder,
                include_hidden=arguments.get("include_hidden", False) or not place.is_folder,
                most=arguments.get("max_results", DEFAULT_MATCHES),
                after=after,
            )
            answer = Searcher(call, self._ripgrep, root, place, clock).page(search, asked)
        cut = answer.cut_by is not None
        return {
            "asked": asked,
            "path": shown(place.path),
            "matches": answer.items,
            "truncated": cut,
            "cut_by": answer.cut_by,
            "next_cursor": cursor_at(_place(answer.last), call) if cut and answer.last else None,
            "too_long": sorted(reader.too_long)[:20],
            **rules(search, answer),
        }

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show also the program and what it is given."""
        first = _Arguments(call.arguments)([], False, "./")
        program = self._ripgrep.name(call)
        return {**super().preview(call), "program": program, "ripgrep_arguments": first}


class _Arguments:
    """Makes ripgrep's arguments; the pattern and the path cannot become flags in any of them."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments

    def __call__(self, flags: list[str], ordered: bool, path: str) -> list[str]:
        given = self._arguments
        made = ["--json", *flags, _CASES[given.get("case", "sensitive")]]
        made += ["--fixed-strings"] if given.get("literal", False) else []
        made += ["--word-regexp"] if given.get("whole_words", False) else []
        most = given.get("max_per_file")
        if not ordered:
            # ripgrep keeps all of a file's matches in memory until it is done with that file.
            page = given.get("max_results", DEFAULT_MATCHES) + 1
            most = page if most is None else min(most, page)
        made += [f"--max-count={most}"] if most is not None else []
        made += ["--sort=path"] if ordered else []
        return [*made, "-e", given["pattern"], "--", path]


class _Reader:
    """Makes results of ripgrep's messages."""

    def __init__(self, place: Place, glob: Glob | None, line_bytes: int) -> None:
        self._glob, self._line_bytes = glob, line_bytes
        self._only = None if place.is_folder else place.path
        self._prefix = b"" if place.path == b"." else place.path + b"/"
        self._searched = False
        self.too_long: set[str] = set()

    def read(self, record: bytes) -> Found | None:
        """Read one message; matches alone become results."""
        message = json.loads(record)
        if message["type"] == "summary":
            self._searched = True
        if message["type"] != "match":
            return None
        data = message["data"]
        path = self._path(data["path"])
        if not self._wanted(path):
            return None
        number = data["line_number"]
        return key_of(path, number), {"path": shown(path), "line": number, **self._line(data)}

    def drop(self, head: bytes) -> None:
        """Keep the path of a match whose line is too long to be read."""
        found = head.partition(b',"lines":')[0]
        path = self._path(json.loads(found + b"}}")["data"]["path"])
        if self._wanted(path):
            self.too_long.add(shown(path))

    def judge(self, ran: Ran) -> None:
        """Raise where ripgrep refused the pattern."""
        searched, self._searched = self._searched, False
        if ran.exit_code == 2 and not searched:
            text = ran.stderr.strip().removeprefix("rg: ")[:1000]
            raise refuse("invalid_pattern", text or "ripgrep refuses the pattern")

    def _path(self, found: Mapping[str, str]) -> bytes:
        return self._only or self._prefix + bytes_of(found).removeprefix(b"./")

    def _wanted(self, path: bytes) -> bool:
        if self._glob is None:
            return True
        below = os.path.basename(path) if self._only else path[len(self._prefix) :]
        return self._glob.matches(below)

    def _line(self, data: Mapping[str, Any]) -> dict[str, Any]:
        line = bytes_of(data["lines"]).removesuffix(b"\n").removesuffix(b"\r")
        parts = data["submatches"]
        first = min(parts[0]["start"], len(line)) if parts else 0
        kept = window(line, first, self._line_bytes)
        text = kept.decode("utf-8", "replace")
        return {
            "column": len(line[:first].decode("utf-8", "replace")) + 1,
            "offset": data["absolute_offset"] + first,
            "text": text,
            "count": len(parts),
            "cut": len(kept) < len(line),
            "lossy": text.encode() != kept,
        }


def bytes_of(found: Mapping[str, str]) -> bytes:
    """Return the bytes of a text as ripgrep writes it: plain, or base64 where not UTF-8."""
    return found["text"].encode() if "text" in found else b64decode(found["bytes"])


def window(line: bytes, first: int, size: int) -> bytes:
    """Cut a line around a place in it, between characters."""
    if len(line) <= size:
        return line
    begin = boundary_before(line, max(0, min(first - size // 4, len(line) - size)))
    return line[begin : boundary_before(line, begin + size)]


def _place(key: Key) -> str:
    return f"{key[1]}:{shown(b'/'.join(key[0]))}"


def _after(place: str) -> Key:
    number, colon, path = place.partition(":")
    if not colon or not number.isdecimal() or len(number) > 15:
        raise refuse("arguments_invalid", "not a cursor of this tool", path="/cursor")
    return key_of(given(path), int(number))
