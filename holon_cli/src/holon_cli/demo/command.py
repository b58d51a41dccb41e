"""`holon demo`: takes the steps and shows each as it happens."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holon_cli.common import NO_WORKSPACE, Setup, common_options
from holon_cli.exits import Exit
from holon_cli.helping import HelpfulCommand

if TYPE_CHECKING:
    from holon_cli.demo.step import Step
    from holon_cli.output import Output

DOC = (
    "See the guarded door at work on the folder you stand in (its git checkout, where there is "
    "one): tools are found, read it, one is refused, a write is held and approved; then evidence, "
    "and an edited store. Every "
    "step is a real call; the demo fails where one does not show what it has to. Nothing is "
    "written to the folder; the storage root is thrown away."
)
_LABEL = 30


def demo_command() -> click.Command:
    """Make the command."""

    @click.pass_context
    def run(context: click.Context, /, **_: object) -> int:
        given = Setup.of(context).workspace
        chosen = None if given in (None, NO_WORKSPACE) else Path(str(given))
        if chosen is not None and not chosen.is_dir():
            raise click.UsageError(f"--workspace {given}: no such folder")
        return demo(checkout(chosen or Path.cwd()), context.obj)

    return HelpfulCommand(
        name="demo",
        params=common_options(),
        callback=run,
        help=DOC,
        short_help="See the guarded door at work on the folder you stand in",
    )


def checkout(place: Path) -> Path:
    """Return the git checkout that holds a folder, or the folder itself."""
    place = place.resolve()
    return next((each for each in (place, *place.parents) if (each / ".git").exists()), place)


def demo(workspace: Path, out: Output) -> int:
    """Run the demo on a folder; return the exit code."""
    from holon_cli.demo.step import NotAsExpected
    from holon_cli.demo.story import Story

    steps: list[Step] = []
    if not out.for_programs:
        out.write(f"holon demo on {workspace.name or workspace}")
    with tempfile.TemporaryDirectory(prefix="holon-demo-") as scratch:
        try:
            with closing(Story(workspace, Path(scratch).resolve())) as story:
                for number, step in enumerate(story.steps(), start=1):
                    steps.append(step)
                    if not out.for_programs:
                        _show(number, step, out)
        except NotAsExpected as error:
            return _failed(str(error), steps, out)
    if out.for_programs:
        out.document({"status": "completed", "workspace": str(workspace), "steps": _facts(steps)})
    return Exit.COMPLETED


def _show(number: int, step: Step, out: Output) -> None:
    from rich.text import Text

    from holon_core.visible import escape_controls

    out.console.print(Text(f"\n{number}. {step.title}", style="bold cyan"))
    for label, told in step.lines:
        line = Text("   ")
        line.append(f"{escape_controls(label):{_LABEL}} ", "dim" if out.on_terminal else "")
        line.append(escape_controls(told))
        out.console.print(line)
    out.stream.flush()


def _failed(what: str, steps: list[Step], out: Output) -> int:
    text = f"not as it has to be: {what}"
    if out.for_programs:
        out.document({"status": "failed", "message": text, "steps": _facts(steps)})
    else:
        out.write(f"\nthe demo failed; {text}")
    return Exit.FAILED


def _facts(steps: list[Step]) -> list[dict[str, object]]:
    return [{"title": step.title, **step.facts} for step in steps]
