"""The command's entry: runs it, and turns whatever goes wrong into an exit code and one text."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from holon_cli.exits import Exit, of_status
from holon_cli.helping import NothingAsked
from holon_cli.output import Stream, Unwritable, claimed, open_closed_streams
from holon_core.errors import HolonError, Rejected

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from holon_cli.output import Output

JSON_FLAG = "--json"
TRACEBACK = "HOLON_TRACEBACK"
# click parts the choices of a missing argument by tabs, which a text that is made safe shows.
_CHOICES = re.compile(r"\n\t")


def main() -> NoReturn:
    """Run the command on the words of the command line."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # What a locale cannot write is shown escaped instead of ending the command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr = cast("TextIO", Stream(sys.stderr, quiet=True))
    sys.exit(run([_as_utf8(word) for word in sys.argv[1:]]))


def _as_utf8(word: str) -> str:
    """Read a word that the locale could not as UTF-8, where it is that."""
    try:
        word.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(word).decode()
        except UnicodeDecodeError:
            pass
    return word


def run(words: Sequence[str]) -> int:
    """Run the command.

    Args:
        words: The words after the command's name.

    Returns:
        The exit code. With ``--json`` standard output holds exactly one JSON document.
    """
    before_end = words[: words.index("--")] if "--" in words else words
    with claimed(for_programs=JSON_FLAG in before_end) as out:
        try:
            code = _run(words, out)
            # Here and not when the interpreter ends, where it would fail in its own words.
            out.stream.flush()
        except click.exceptions.Exit as error:
            return error.exit_code
        except Unwritable as error:
            _complain(str(error))
            return Exit.FAILED
        return code


def _run(words: Sequence[str], out: Output) -> int:
    from holon_cli.commands import root

    try:
        code = root().main(list(words), prog_name="holon", standalone_mode=False, obj=out)
        return int(code or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _fault(out, Exit.INTERRUPTED, "interrupted")
    except click.ClickException as error:
        return _usage(out, error)
    except HolonError as error:
        return _refused(out, error)
    except Unwritable:
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        text = f"internal fault: {type(error).__name__}: {error}; set {TRACEBACK}=1 to see where"
        return _fault(out, Exit.FAILED, text)


def _fault(out: Output, code: Exit, text: str) -> int:
    if out.for_programs:
        status = "interrupted" if code is Exit.INTERRUPTED else "failed"
        out.document({"status": status, "message": text})
    else:
        if code is Exit.INTERRUPTED and sys.stderr.isatty():
            # A question may stand in the line.
            sys.stderr.write("\n")
        _complain(text)
    return code


def _usage(out: Output, error: click.ClickException) -> int:
    text = _CHOICES.sub(" ", error.format_message())
    if out.for_programs:
        out.document({"status": "misused", "message": text})
    elif isinstance(error, NothingAsked):
        sys.stderr.write(text + "\n")
    else:
        _complain(text)
        context = getattr(error, "ctx", None)
        if context is not None:
            sys.stderr.write(f"{context.get_usage()}\n")
            sys.stderr.write(f"{context.command_path} --help says more\n")
    return Exit.USAGE


def _refused(out: Output, error: HolonError) -> int:
    from holon_core.operations.faults import problem_of

    problem = problem_of(error)
    if out.for_programs:
        out.document(problem.to_json())
    else:
        _present(error, problem.body)
    return of_status(problem.status.value)


def _present(error: HolonError, body: dict[str, Any]) -> None:
    from holon_cli.people import stderr_console
    from holon_cli.presenting import present_failure, present_findings

    if isinstance(error, Rejected):
        present_findings(error.subject, body["findings"], stderr_console())
    else:
        present_failure(body["failure"], stderr_console())


def _complain(text: str) -> None:
    from holon_core.visible import escape_controls

    shown = "\n".join(map(escape_controls, text.split("\n")))
    sys.stderr.write(f"holon: {shown}\n")
