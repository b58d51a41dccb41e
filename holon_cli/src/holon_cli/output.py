"""What the command writes: one JSON document for programs, or text for people."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from holon_cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from rich.console import Console


class Output:
    """Where one run of the command writes.

    For programs, ``stream`` is all of standard output: whatever else prints there, tools
    included, goes to standard error.
    """

    def __init__(self, stream: TextIO, *, for_programs: bool) -> None:
        self.stream = stream
        self.for_programs = for_programs
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """A terminal's console for people."""
        if self._console is None:
            from holon_cli.people import console_on

            self._console = console_on(self.stream)
        return self._console

    @property
    def on_terminal(self) -> bool:
        """Whether a person reads it."""
        return self.stream.isatty()

    def document(self, value: Any) -> None:
        """Write the one JSON document, in ASCII so that any locale can carry it."""
        self.write(json.dumps(value, indent=2))

    def write(self, text: str) -> None:
        """Write a line; a reader that went away ends the command."""
        with ending_on_broken_pipe(self.stream):
            self.stream.write(text + "\n")
            self.stream.flush()


@contextmanager
def ending_on_broken_pipe(stream: TextIO) -> Iterator[None]:
    """End the command quietly where nobody reads any more."""
    try:
        yield
    except BrokenPipeError:
        # What is still buffered would be written, and fail again, when the interpreter ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        raise click.exceptions.Exit(Exit.BROKEN_PIPE) from None


@contextmanager
def claimed(*, for_programs: bool) -> Iterator[Output]:
    """Take standard output, for programs as a whole."""
    if not for_programs:
        yield Output(sys.stdout, for_programs=False)
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    stream = os.fdopen(os.dup(kept), "w", encoding="ascii")
    try:
        yield Output(stream, for_programs=True)
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        stream.close()
