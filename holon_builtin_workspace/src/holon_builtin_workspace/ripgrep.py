"""ripgrep: which program that is, with which flags it runs, and its output as it comes.

Nothing outside the arguments made here changes what runs: no configuration file, no preprocessor,
no ignore file but those given. The program is the one that the package
``ripgrep`` installed into the environment of this process, else one on PATH that lies outside
the workspace. The environment is trusted wherever it lies, as its Python files are.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from holon_builtin_workspace.contain import Root
from holon_builtin_workspace.handles import HeldFolder, identity
from holon_builtin_workspace.places import Place
from holon_builtin_workspace.refusals import Refused, refuse
from holon_builtin_workspace.reserved import RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holon_builtin_workspace.timing import Clock
    from holon_core.guard.sealed import SealedCall

OLDEST, BELOW = (13, 0), (15, 0)
# Longer records (one line of a file with all that is found in it) are dropped.
MAX_RECORD_BYTES = 4 * 1024 * 1024
_HEAD_BYTES = 32 * 1024
ADVICE = "install the Python package ripgrep (14.1 or a later 14), or ripgrep 13 or 14 on PATH"
_VERSION = re.compile(r"ripgrep (\d+)\.(\d+)")
_FIXED = (
    "--no-config",
    "--no-pre",
    "--no-follow",
    "--no-search-zip",
    "--color=never",
    "--no-ignore",
    "--no-ignore-messages",
    *(("--path-separator=/",) if os.name == "nt" else ()),
)
# File systems of the kernel; they are below the root only where that is the root of everything.
_KERNEL = ("/proc", "/sys", "/dev")


class Enough(Exception):
    """Raised by a taker of records that needs no more; the program is ended."""


@frozen(kw_only=True)
class Ran:
    """How one run of ripgrep ended.

    ``stopped`` by its taker, or ``cut`` at the limit of output.
    """

    stopped: bool = False
    cut: bool = False
    exit_code: int = 0
    stderr: str = ""


@frozen(kw_only=True)
class Filters:
    """What of a tree is searched."""

    include_hidden: bool
    ignore_files: tuple[str, ...] = ()
    name_globs: tuple[str, ...] = ()

    def arguments(self, root: Root, place: Place) -> list[str]:
        """Return the flags for this, below one place of a workspace."""
        made = list(_FIXED)
        made += [f"--ignore-file={path}" for path in self.ignore_files]
        made += ["--hidden"] if self.include_hidden else ["--no-hidden"]
        # Only spares the walk: results are checked again, whatever is found there.
        at_top = place.path == b"."
        kept_out = [f"/{os.fsdecode(RESERVED)}"] if at_top and self.include_hidden else []
        kept_out += _KERNEL if root.path == b"/" and at_top else ()
        folds = sys.platform in ("darwin", "win32")
        made += [f"--{'iglob' if folds else 'glob'}=!{name}" for name in kept_out]
        # A type does not overrule ignore rules, as a glob of ripgrep would.
        made += [f"--type-add=holon:{glob}" for glob in self.name_globs]
        return [*made, "--type=holon"] if self.name_globs else made


class Ripgrep:
    """The program, found once; its runs within one call share that call's time."""

    def __init__(self) -> None:
        self._accepted: dict[str, bool] = {}
        self._packaged: str | None = None

    def program(self, call: SealedCall) -> str:
        """Find the program; one on PATH says its version first.

        Raises:
            Refused: ``dependency_missing``, with what to install.
        """
        name = self.name(call)
        if name is None:
            raise refuse("dependency_missing", f"ripgrep (rg) is not installed; {ADVICE}")
        if name != self._packaged and not self._is_good(call, name):
            text = f"{name} is not ripgrep 13 or 14; {ADVICE}"
            raise refuse("dependency_missing", text)
        return name

    def name(self, call: SealedCall) -> str | None:
        """Return the absolute path of the program, without starting anything."""
        from holon_core.process import resolve_program

        if self._packaged is None or not os.access(self._packaged, os.X_OK):
            self._packaged = packaged()
        if self._packaged is not None:
            return self._packaged
        walls = [Path(call.workspace.root_path)] if call.workspace else []
        return resolve_program("rg", outside=walls)

    def _is_good(self, call: SealedCall, name: str) -> bool:
        if name not in self._accepted:
            outcome = call.run_process((name, "--version"), cwd=Path(name).parent, timeout_s=5)
            text = outcome.stdout.head.decode("utf-8", "replace")
            found = _VERSION.match(text)
            version = tuple(map(int, found.groups())) if found else (0, 0)
            self._accepted[name] = OLDEST <= version < BELOW
        return self._accepted[name]


def packaged() -> str | None:
    """Return the program that the package ``ripgrep`` installed beside this process's Python.

    Only the environment's own folders are looked at: a folder on the import path, such as the
    working directory, could hold a package of anybody.
    """
    import sysconfig
    from importlib.metadata import Distribution

    here = str(Path(__file__).resolve().parents[1])
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), here]
    wanted = "rg.exe" if os.name == "nt" else "rg"
    for distribution in Distribution.discover(name="ripgrep", path=list(dict.fromkeys(folders))):
        for file in distribution.files or ():
            if file.name == wanted:
                program = os.path.realpath(str(distribution.locate_file(file)))
                if os.access(program, os.X_OK):
                    return program
    return None


def run(
    call: SealedCall,
    argv: Sequence[str],
    *,
    cwd: Path,
    separator: bytes,
    take: Callable[[bytes], None],
    drop: Callable[[bytes], None],
    clock: Clock,
) -> Ran:
    """Run ripgrep and hand over its records one by one.

    Args:
        call: The call for which it runs.
        argv: The program and its arguments.
        cwd: The folder in which it runs.
        separator: What ends each record.
        take: Given each record; raises ``Enough`` to end the program.
        drop: Given the beginning of a record that is too long.
        clock: The time that is left.

    Raises:
        Refused: It could not run, or was ended by a limit, a signal or the caller.
    """
    from holon_core.process import ProcessCause
    from holon_core.tool_contract import process_failure

    records = _Records(separator, take, drop)
    try:
        outcome = call.run_process(
            tuple(argv),
            cwd=cwd,
            timeout_s=clock.left_s(),
            cut_at_limit=True,
            on_stdout=records.feed,
        )
    except Enough:
        call.draft("ripgrep", {"program": argv[0], "ended": "enough results"})
        return Ran(stopped=True)
    if outcome.cause is not ProcessCause.EXITED or outcome.exit_code not in (0, 1, 2):
        problem = process_failure(outcome)
        if problem is not None:
            raise Refused(problem)
    return Ran(
        cut=outcome.cause is ProcessCause.OUTPUT_LIMIT,
        exit_code=outcome.exit_code or 0,
        stderr=outcome.stderr.head.decode("utf-8", "replace"),
    )


class _Records:
    """Splits a stream; of a record that never ends, no more than the limit is kept."""

    def __init__(
        self,
        separator: bytes,
        take: Callable[[bytes], None],
        drop: Callable[[bytes], None],
    ) -> None:
        self._separator, self._take, self._drop = separator, take, drop
        self._rest = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        *whole, rest = data.split(self._separator)
        for record in whole:
            self._rest += record
            complete, self._rest = bytes(self._rest), bytearray()
            if not self._skipping:
                self._take(complete)
            self._skipping = False
        if self._skipping:
            return
        self._rest += rest
        if len(self._rest) > MAX_RECORD_BYTES:
            head, self._rest = bytes(self._rest[:_HEAD_BYTES]), bytearray()
            self._skipping = True
            self._drop(head)


@contextmanager
def anchored(root: Root, place: Place, asked: str) -> Iterator[tuple[Path, str]]:
    """Give the working directory and the path argument by which ripgrep reaches a place.

    On Linux both name the very folder or file that was checked, by its descriptor, whatever its
    path stands for by then. Elsewhere they are the checked canonical path: somebody who exchanges
    a folder of it in that moment leads the search elsewhere.
    """
    if place.is_folder:
        yield _folder(root, place.folder, place.path), "./"
        return
    _, descriptor = root.open(asked)
    try:
        held = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
        if _is_same(held, os.fstat(descriptor)):
            yield _folder(root, root.folder, b"."), str(held)
        else:
            parent, name = os.path.split(place.path)
            yield Path(os.fsdecode(os.path.join(root.path, parent))), f"./{os.fsdecode(name)}"
    finally:
        os.close(descriptor)


def _folder(root: Root, folder: object, path: bytes) -> Path:
    if isinstance(folder, HeldFolder):
        held = Path(f"/proc/{os.getpid()}/fd/{folder.descriptor}")
        if _is_same(held, folder.stat()):
            return held
    return Path(os.fsdecode(os.path.normpath(os.path.join(root.path, path))))


def _is_same(path: Path, wanted: os.stat_result) -> bool:
    try:
        return identity(path.stat()) == identity(wanted)
    except OSError:
        return False
