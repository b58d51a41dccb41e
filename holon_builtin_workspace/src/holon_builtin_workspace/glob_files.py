"""workspace-glob: the files whose path matches a glob, in stable order, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_builtin_workspace.contain import opened
from holon_builtin_workspace.cursors import cursor_at, place_of
from holon_builtin_workspace.globs import Glob
from holon_builtin_workspace.paths import given, shown
from holon_builtin_workspace.places import Place
from holon_builtin_workspace.refusals import refuse
from holon_builtin_workspace.ripgrep import Ran, Ripgrep
from holon_builtin_workspace.searching import Found, Search, Searcher, key_of, rules
from holon_builtin_workspace.timing import Clock
from holon_builtin_workspace.tool import WorkspaceTool, workspace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_core.guard.sealed import SealedCall

DEFAULT_PATHS = 200
MAX_PATHS = 2000


class GlobFiles(WorkspaceTool):
    """Finds files by their path; links are neither followed nor listed."""

    operation = "find files by ripgrep"

    def __init__(self) -> None:
        self._ripgrep = Ripgrep()

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Find one page."""
        arguments = call.arguments
        clock = Clock(call)
        glob = Glob(arguments["pattern"])
        asked = arguments.get("path", ".")
        before = place_of(call)
        after = None if before is None else key_of(given(before))
        with opened(workspace_of(call)) as root:
            place = root.find(asked)
            if not place.is_folder:
                raise refuse("not_a_directory", path=asked)
            search = Search(
                arguments=_arguments,
                read=_reader(place, glob),
                judge=_judge,
                drop=_drop,
                separator=b"\0",
                glob=glob,
                include_ignored=arguments.get("include_ignored", False),
                include_hidden=arguments.get("include_hidden", False),
                most=arguments.get("max_results", DEFAULT_PATHS),
                after=after,
            )
            answer = Searcher(call, self._ripgrep, root, place, clock).page(search, asked)
        cut = answer.cut_by is not None
        return {
            "asked": asked,
            "path": shown(place.path),
            "paths": answer.items,
            "truncated": cut,
            "cut_by": answer.cut_by,
            "next_cursor": cursor_at(answer.items[-1], call) if cut and answer.items else None,
            **rules(search, answer),
        }

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show also the program and what it is given."""
        Glob(call.arguments["pattern"])
        program = self._ripgrep.name(call)
        return {
            **super().preview(call),
            "program": program,
            "ripgrep_arguments": _arguments([], False, "./"),
        }


def _arguments(flags: list[str], ordered: bool, path: str) -> list[str]:
    return ["--files", "--null", *flags, *(["--sort=path"] if ordered else []), "--", path]


def _reader(place: Place, glob: Glob) -> Any:
    prefix = b"" if place.path == b"." else place.path + b"/"

    def read(record: bytes) -> Found | None:
        path = record.removeprefix(b"./")
        if not glob.matches(path):
            return None
        full = prefix + path
        return key_of(full), shown(full)

    return read


def _judge(ran: Ran) -> None:
    if ran.exit_code == 2 and "error parsing" in ran.stderr:
        raise refuse("invalid_glob", ran.stderr.strip()[:500])


def _drop(head: bytes) -> None:
    raise AssertionError("no path is as long as a record may be")
