"""One search by ripgrep, in stable order: quick where it finds little, ordered where much.

ripgrep walks a tree with many threads in no order. What it finds is put in order here as long as
all of it fits into one page. Where there is more, or where a page goes on from a cursor, it walks
again in order with one thread and is ended as soon as the page is full.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from holon_builtin_workspace.bounds import Page
from holon_builtin_workspace.contain import Root
from holon_builtin_workspace.ignoring import Below, of_the_folder
from holon_builtin_workspace.places import Place
from holon_builtin_workspace.ripgrep import Enough, Filters, Ran, Ripgrep, anchored, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holon_builtin_workspace.globs import Glob
    from holon_builtin_workspace.timing import Clock
    from holon_core.guard.sealed import SealedCall

# The place of a result in the order: the names of its path, then what tells results of one file.
Key = tuple[tuple[bytes, ...], int]
# One result: its place and what is shown of it.
Found = tuple[Key, Any]


@frozen(kw_only=True)
class Search:
    """What is looked for.

    ``arguments`` makes ripgrep's arguments, given the filters' flags, whether in order, and the
    path. ``read`` makes a result of a record, or nothing; ``separator`` ends records.
    ``judge`` raises where ripgrep refused to search; ``drop`` gets the beginning of a record
    that is too long.
    """

    arguments: Callable[[list[str], bool, str], list[str]]
    read: Callable[[bytes], Found | None]
    judge: Callable[[Ran], None]
    drop: Callable[[bytes], None]
    separator: bytes
    glob: Glob | None
    include_ignored: bool
    include_hidden: bool
    most: int
    after: Key | None


@frozen(kw_only=True)
class Answer:
    """A page of results; ``hid`` says for an empty one whether left-out files have some."""

    items: list[Any]
    cut_by: str | None
    last: Key | None
    hid: bool | None
    incomplete: bool


@frozen
class Results:
    """Results of one run."""

    found: list[Found]
    ran: Ran


class Searcher:
    """One search in one place of one workspace."""

    def __init__(
        self, call: SealedCall, ripgrep: Ripgrep, root: Root, place: Place, clock: Clock
    ) -> None:
        self._call, self._root, self._place, self._clock = call, root, place, clock
        self._program = ripgrep.program(call)

    def page(self, search: Search, asked: str) -> Answer:
        """Return one page of a search."""
        with anchored(self._root, self._place, asked) as (cwd, path):
            results = self._results(search, cwd, path)
            page = Page(most=search.most, limits=self._call.limits)
            last = None
            for key, item in results.found:
                if not page.add(item):
                    break
                last = key
            hid = None
            if not results.found and search.after is None:
                hid = self._hides(search, cwd, path)
        ran = results.ran
        return Answer(
            items=page.items,
            cut_by=page.cut_by or ("search_output" if ran.cut else None),
            last=last,
            hid=hid,
            incomplete=ran.exit_code == 2,
        )

    def _results(self, search: Search, cwd: Path, path: str) -> Results:
        if search.after is None:
            quick = self._run(search, cwd, path, ordered=False, most=search.most + 1)
            if not (quick.ran.stopped or quick.ran.cut):
                quick.found.sort(key=lambda found: found[0])
                return quick
        return self._run(search, cwd, path, ordered=True, most=search.most + 1)

    def _hides(self, search: Search, cwd: Path, path: str) -> bool | None:
        if search.include_ignored and search.include_hidden:
            return None
        everything = evolve(search, include_ignored=True, include_hidden=True)
        return bool(self._run(everything, cwd, path, ordered=False, most=1).found)

    def _run(self, search: Search, cwd: Path, path: str, *, ordered: bool, most: int) -> Results:
        with ExitStack() as stack:
            files: list[str] = []
            if self._place.is_folder and not search.include_ignored:
                files = stack.enter_context(of_the_folder(self._place.folder))
            return self._run_with(search, cwd, path, ordered=ordered, most=most, files=files)

    def _run_with(
        self,
        search: Search,
        cwd: Path,
        path: str,
        *,
        ordered: bool,
        most: int,
        files: list[str],
    ) -> Results:
        results: list[Found] = []
        below = Below(self._root, self._place, ignoring=not search.include_ignored)
        skipped = 0 if self._place.path == b"." else self._place.path.count(b"/") + 1

        def take(record: bytes) -> None:
            found = search.read(record)
            if found is None or (search.after is not None and found[0] <= search.after):
                return
            if self._place.is_folder and below.leaves_out(b"/".join(found[0][0][skipped:])):
                return
            results.append(found)
            if len(results) >= most:
                raise Enough

        globs = search.glob.name_globs(hidden=search.include_hidden) if search.glob else []
        filters = Filters(
            include_hidden=search.include_hidden,
            ignore_files=tuple(files),
            name_globs=tuple(globs),
        )
        flags = filters.arguments(self._root, self._place)
        argv = [self._program, *search.arguments(flags, ordered, path)]
        ran = run(
            self._call,
            argv,
            cwd=cwd,
            separator=search.separator,
            take=take,
            drop=search.drop,
            clock=self._clock,
        )
        search.judge(ran)
        return Results(results, ran)


def key_of(path: bytes, position: int = 0) -> Key:
    """Return the place of a result; names are compared one by one, as ripgrep's order does."""
    return tuple(path.split(b"/")), position


def rules(search: Search, answer: Answer) -> dict[str, Any]:
    """Return the fields that say what was left out of a search."""
    return {
        "ignore_rules_applied": not search.include_ignored,
        "hidden_files_searched": search.include_hidden,
        "left_out_files_have_results": answer.hid,
        "some_unreadable": answer.incomplete,
    }
