"""`holon rust-code-tool new`: the proposal of a small working Rust tool, to start from."""

from __future__ import annotations

import json
from pathlib import Path

import click

from holon_cli.common import common_options
from holon_cli.exits import Exit
from holon_cli.helping import HelpfulCommand
from holon_cli.output import Output

NEW = (
    "Write the proposal of a small working Rust tool into NAME.json, to start from: change it, "
    "then validate it."
)


def new_command() -> click.Command:
    """Make the command."""

    @click.pass_context
    def run(context: click.Context, /, *, name: str, file: str | None, **_: object) -> int:
        from holon_rust_tools.template import name_problem, new_proposal

        problem = name_problem(name)
        if problem is not None:
            raise click.UsageError(problem, context)
        place = Path(file or f"{name}.json")
        text = json.dumps(new_proposal(name), indent=1) + "\n"
        try:
            with place.open("x", encoding="utf-8") as made:
                made.write(text)
        except FileExistsError:
            raise click.UsageError(f"{place} is there already", context) from None
        except OSError as error:
            raise click.UsageError(f"{place}: {error.strerror}", context) from None
        return _show(context.obj, place)

    return HelpfulCommand(
        name="new",
        params=[
            click.Argument(["name"], metavar="NAME"),
            click.Option(["--file"], metavar="PATH", help="Where; else ./NAME.json."),
            *common_options(),
        ],
        callback=run,
        help=NEW,
        short_help="Write a proposal to start from",
    )


def _show(out: Output, place: Path) -> int:
    if out.for_programs:
        out.document({"file": str(place)})
    else:
        out.write(str(place))
        out.write(f"next: holon rust-code-tool validate {place}")
    return Exit.COMPLETED
