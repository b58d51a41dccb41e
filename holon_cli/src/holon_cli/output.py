"""What the command writes: one JSON document for programs, or text for people."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from holon_cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from rich.console import Console


class Unwritable(Exception):
    """Standard output takes no more, and not since its reader went away."""


class Stream:
    """A text stream that can fail: its reader gone, its disk full, closed from the start.

    ``quiet`` swallows that, for standard error: there is nowhere left to say it. All else is the
    stream's own.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text.

        Raises:
            click.exceptions.Exit: The reader went away.
            Unwritable: It cannot be written.
        """
        with self._failing():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered; fails as ``write``."""
        with self._failing():
            self._stream.flush()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # What is still buffered would fail again when the interpreter ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            if self._quiet:
                return
            if isinstance(error, BrokenPipeError):
                raise click.exceptions.Exit(Exit.BROKEN_PIPE) from None
            raise Unwritable(f"cannot write standard output: {error.strerror}") from None


def open_closed_streams() -> None:
    """Give this process the standard streams that it was started without.

    What it opened otherwise would get their numbers. Reading finds nothing; writing standard
    output fails, as it should; standard error goes nowhere.
    """
    for number, name, how in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        setattr(sys, name, os.fdopen(number, how, closefd=False))


class Output:
    """Where one run of the command writes.

    For programs, ``stream`` is all of standard output: whatever else prints there, tools
    included, goes to standard error.
    """

    def __init__(self, stream: Stream, *, for_programs: bool) -> None:
        self.stream = stream
        self.for_programs = for_programs
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """A terminal's console for people."""
        if self._console is None:
            from holon_cli.people import console_on

            self._console = console_on(cast("TextIO", self.stream))
        return self._console

    @property
    def on_terminal(self) -> bool:
        """Whether a person reads it."""
        return bool(self.stream.isatty())

    def document(self, value: Any) -> None:
        """Write the one JSON document, in ASCII so that any locale can carry it."""
        self.write(json.dumps(value, indent=2))

    def write(self, text: str) -> None:
        """Write a line; a reader that went away ends the command."""
        self.stream.write(text + "\n")
        self.stream.flush()


@contextmanager
def claimed(*, for_programs: bool) -> Iterator[Output]:
    """Take standard output, for programs as a whole."""
    if not for_programs:
        yield Output(Stream(sys.stdout), for_programs=False)
        return
    # What tools print there goes where nothing fails.
    printed = Stream(sys.stdout, quiet=True)
    printed.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    stream = os.fdopen(os.dup(kept), "w", encoding="ascii")
    try:
        yield Output(Stream(stream), for_programs=True)
    finally:
        printed.flush()
        os.dup2(kept, 1)
        os.close(kept)
        stream.close()
