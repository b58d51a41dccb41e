"""`holon lane new` and `holon lane check`: begin a lane, and hold it to the rules of lanes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holon_cli.common import common_options
from holon_cli.exits import Exit
from holon_cli.helping import HelpfulCommand

if TYPE_CHECKING:
    from holon_cli.output import Output
    from holon_core.testing import Lane, Report

NEW = (
    "Write a complete small lane into a new folder: packaging, source, executor, evidence sink, "
    "operation, tests with the conformance suite, and a file for continuous integration."
)
CHECK = (
    "Run the conformance suite on an installed lane and print a row for each check and tool. "
    "Sample calls come from --suite, a test file with a LaneSuite, else from what the input "
    "schemas state. It ends with 1 where a check failed."
)


def new_command() -> click.Command:
    """Make the command that begins a lane."""

    @click.pass_context
    def run(context: click.Context, /, *, name: str, folder: str | None, **_: object) -> int:
        from holon_cli.lane_files import core_range, lane_files, name_problem, write_lane

        problem = name_problem(name)
        if problem is not None:
            raise click.UsageError(problem, context)
        place = Path(folder or name)
        made = lane_files(name, core_range=core_range())
        try:
            write_lane(place, made)
        except FileExistsError:
            raise click.UsageError(f"{place} is there already", context) from None
        except OSError as error:
            raise click.UsageError(f"{place}: {error.strerror}", context) from None
        except ValueError:
            raise click.UsageError("--folder is no path: it holds a NUL", context) from None
        return _show_new(context.obj, place, sorted(made))

    return HelpfulCommand(
        name="new",
        params=[
            click.Argument(["name"], metavar="NAME"),
            click.Option(["--folder"], metavar="PATH", help="Where; else ./NAME."),
            *common_options(),
        ],
        callback=run,
        help=NEW,
        short_help="Write a complete small lane into a new folder",
    )


def _show_new(out: Output, place: Path, names: list[str]) -> int:
    if out.for_programs:
        out.document({"folder": str(place), "files": names})
    else:
        for name in names:
            out.write(str(place / name))
        out.write(f"next: cd {place} && pip install -e .[dev] && pytest")
    return Exit.COMPLETED


def check_command() -> click.Command:
    """Make the command that runs the conformance suite."""

    @click.pass_context
    def run(context: click.Context, /, *, distribution: str, suite: str | None, **_: object) -> int:
        from holon_core.testing import Lane, check_lane

        lane = Lane(distribution=distribution) if suite is None else _lane_of(suite, distribution)
        return _show_report(context.obj, check_lane(lane))

    return HelpfulCommand(
        name="check",
        params=[
            click.Argument(["distribution"], metavar="DISTRIBUTION"),
            click.Option(
                ["--suite"],
                metavar="FILE",
                help="A Python file with a subclass of holon_core.testing.LaneSuite.",
            ),
            *common_options(),
        ],
        callback=run,
        help=CHECK,
        short_help="Run the conformance suite on an installed lane",
    )


def _lane_of(suite: str, distribution: str) -> Lane:
    """Return the lane of the suite class in a file that is for this distribution."""
    from holon_core.testing import LaneSuite

    if not Path(suite).is_file():
        raise click.UsageError(f"{suite} is no file")
    found = [
        each
        for each in _names_of(Path(suite)).values()
        if isinstance(each, type) and issubclass(each, LaneSuite)
    ]
    fitting = [each for each in found if each.distribution == distribution]
    if len(fitting) != 1:
        named = ", ".join(each.distribution for each in found if each.distribution) or "none"
        raise click.UsageError(
            f"{suite} has to have one LaneSuite for {distribution}; it has some for: {named}"
        )
    return fitting[0].lane()


def _names_of(suite: Path) -> dict[str, Any]:
    """Run a file, with its own folder on the import path, and return what it defines."""
    import sys
    from runpy import run_path

    folder = str(suite.resolve().parent)
    sys.path.insert(0, folder)
    try:
        return run_path(str(suite))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # The file is its author's: what it raises is no fault of the command.
        raise click.UsageError(f"--suite {suite}: {_raised_at(error, suite)}") from None
    finally:
        sys.path.remove(folder)


def _raised_at(error: BaseException, suite: Path) -> str:
    """Say what a file raised, and at which of its lines."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    lines = [each.lineno for each in frames if each.filename == str(suite)]
    at = f" at line {lines[-1]}" if lines else ""
    return f"importing it raised {type(error).__name__}{at}: {error}"


def _show_report(out: Output, report: Report) -> int:
    if out.for_programs:
        out.document(report.to_json())
    else:
        from holon_cli.people import show_table

        rows = [row.to_json() for row in report.results]
        show_table(out.console, ("verdict", "check", "tool", "reason"), rows)
        counts = report.to_json()["counts"]
        warned = f"{counts['warn']} warned of, " if counts["warn"] else ""
        out.write(
            f"{report.distribution}: {counts['pass']} passed, {counts['fail']} failed, "
            f"{warned}{counts['skip']} not checked"
        )
    return Exit.COMPLETED if report.conforms else Exit.FAILED
