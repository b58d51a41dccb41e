"""workspace-list-dir: what is in one folder, in stable order, a page at a time."""

from __future__ import annotations

import heapq
import stat as modes
from typing import TYPE_CHECKING, Any

from holon_builtin_workspace.bounds import Page
from holon_builtin_workspace.contain import opened
from holon_builtin_workspace.cursors import cursor_at, place_of
from holon_builtin_workspace.handles import is_link
from holon_builtin_workspace.paths import given, shown
from holon_builtin_workspace.places import Place, type_of
from holon_builtin_workspace.refusals import refuse, refused_by_system
from holon_builtin_workspace.tool import WorkspaceTool, workspace_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.guard.sealed import SealedCall

DEFAULT_ENTRIES = 200
MAX_ENTRIES = 1000


class ListDir(WorkspaceTool):
    """Lists a folder without looking into what is in it; links are shown, not followed."""

    operation = "list a folder"

    def run(self, call: SealedCall) -> dict[str, Any]:
        """List one page."""
        arguments = call.arguments
        asked = arguments.get("path", ".")
        most = arguments.get("max_entries", DEFAULT_ENTRIES)
        after = given(place_of(call) or "")
        with opened(workspace_of(call)) as root:
            place = root.find(asked)
            if not place.is_folder:
                raise refuse("not_a_directory", path=asked)
            try:
                names = heapq.nsmallest(most + 1, _later(place, after))
                return _answer(call, asked, place, names, most)
            except OSError as error:
                raise refused_by_system(error, asked) from None


def _later(place: Place, after: bytes) -> Iterator[bytes]:
    return (name for name in place.folder.names() if name > after)


def _answer(
    call: SealedCall, asked: str, place: Place, names: list[bytes], most: int
) -> dict[str, Any]:
    page = Page(most=most, limits=call.limits)
    last = None
    for name in names:
        entry = _entry(place, name)
        # Gone since its name was read: it is in no listing any more.
        if entry is not None and not page.add(entry):
            break
        last = name
    cut = page.cut_by is not None
    return {
        "asked": asked,
        "path": shown(place.path),
        "entries": page.items,
        "truncated": cut,
        "next_cursor": cursor_at(shown(last), call) if cut and last is not None else None,
    }


def _entry(place: Place, name: bytes) -> dict[str, Any] | None:
    try:
        found = place.folder.entry(name)
    except FileNotFoundError:
        return None
    path = name if place.path == b"." else place.path + b"/" + name
    # The size of a link is the length of its target's name, and no business of anybody.
    own = not is_link(found)
    return {
        "name": shown(name),
        "path": shown(path),
        "type": type_of(found),
        "size_bytes": found.st_size if own and modes.S_ISREG(found.st_mode) else None,
        "modified_at_unix_seconds": int(found.st_mtime) if own else None,
    }
