"""The curated interpreters: where each is found, and how it runs one sealed program."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from holon_core import resolve_program

# Where the program is read from: standard input is a sealed file, opened anew by this name.
PROGRAM = "/proc/self/fd/0"


@frozen(kw_only=True)
class Interpreter:
    """One interpreter.

    ``flags`` keep what is the user's own out: settings, start-up files, site folders.
    ``archives`` says that it runs an archive of several modules as it runs one file.
    """

    name: str
    flags: tuple[str, ...] = ()
    archives: bool = False


INTERPRETERS: Mapping[str, Interpreter] = {
    each.name: each
    for each in (
        Interpreter(name="python3", flags=("-I", "-B"), archives=True),
        Interpreter(name="sh"),
        Interpreter(name="bash", flags=("--noprofile", "--norc")),
        # Without it node looks for the real path of its program, and a sealed one has none.
        Interpreter(name="node", flags=("--preserve-symlinks", "--preserve-symlinks-main")),
    )
}


def find(name: str, configured: Mapping[str, str], *, outside: Sequence[Path] = ()) -> str | None:
    """Return the absolute path of an interpreter, or ``None``.

    Args:
        name: A name of the list.
        configured: Paths that the host's settings state.
        outside: Folders from which none is taken.
    """
    if name in configured:
        return resolve_program(configured[name], outside=outside)
    if name == "python3":
        # The interpreter that runs this, without its environment: a shim on PATH costs more.
        own = getattr(sys, "_base_executable", "") or sys.executable
        found = resolve_program(os.path.realpath(own), outside=outside) if own else None
        if found is not None:
            return found
    return resolve_program(name, outside=outside)
