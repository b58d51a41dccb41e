"""`holon workflow-run follow`: serves a run, and shows what happens in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holon_cli.common import Setup, common_options
from holon_cli.exits import Exit, of_run
from holon_cli.helping import HelpfulCommand
from holon_cli.host import opened

if TYPE_CHECKING:
    from holon_cli.output import Output

DOC = (
    "Serve a run until it has ended: run what is ready, wait for timers and retries, and show "
    "each event as it happens. Without --patient it leaves where the run waits for a person. "
    "With --all it serves every run of the storage root, and starts what is scheduled; several "
    "processes may. Interrupting it leaves the run where it is."
)


def follow_command() -> click.Command:
    """Make the command."""
    run_id = click.Argument(["run"], required=False)
    every = click.Option(["--all", "every"], is_flag=True, help="Serve every run.")
    patient = click.Option(["--patient"], is_flag=True, help="Also wait for persons.")
    idle = click.Option(["--until-idle"], is_flag=True, help="Leave when none of --all goes on.")
    seconds = click.Option(["--timeout"], type=float, metavar="S", help="Leave after S seconds.")

    @click.pass_context
    def follow(
        context: click.Context,
        /,
        *,
        run: str | None,
        every: bool,
        patient: bool,
        until_idle: bool,
        timeout: float | None,
        **_: object,
    ) -> int:
        if every == (run is not None):
            raise click.UsageError("name a run, or serve --all of them")
        out: Output = context.obj
        with opened(Setup.of(context)) as host:
            flows = host.runtime.service("workflows")
            if run is None:
                return _all(flows, out, until_idle=until_idle)
            return _one(flows, out, run, patient=patient, timeout=timeout)

    return HelpfulCommand(
        name="follow",
        params=[run_id, every, patient, idle, seconds, *common_options()],
        callback=follow,
        help=DOC,
        short_help="Serve a run, and show what happens in it",
    )


def _one(flows: Any, out: Output, run: str, *, patient: bool, timeout: float | None) -> int:
    if out.for_programs:
        view = flows.follow(run, patient=patient, timeout_s=timeout)
        out.document(view.to_json())
    elif out.on_terminal:
        view = _live(flows, out, run, patient=patient, timeout=timeout)
    else:
        view = flows.follow(
            run,
            patient=patient,
            timeout_s=timeout,
            progress=lambda event: out.write(flows.event_line(event)),
        )
        out.write("\n".join(flows.timeline(view)))
    if not out.for_programs and view.waits_for:
        from holon_cli.people import stderr_console
        from holon_cli.waiting import show_waits

        show_waits(view, stderr_console())
    return of_run(view.state)


def _live(flows: Any, out: Output, run: str, *, patient: bool, timeout: float | None) -> Any:
    """Follow a run with a bar for each step, drawn anew as it goes on."""
    from rich.live import Live
    from rich.text import Text

    def drawn(view: Any) -> Text:
        head = f"{view.definition}@{view.version}  {view.id}  {view.state}"
        return Text("\n".join([head, *flows.timeline(view)]))

    with Live(drawn(flows.read(run)), console=out.console, auto_refresh=False) as live:

        def show(_event: dict[str, Any]) -> None:
            live.update(drawn(flows.read(run)), refresh=True)

        view = flows.follow(run, patient=patient, timeout_s=timeout, progress=show)
        live.update(drawn(view), refresh=True)
    return view


def _all(flows: Any, out: Output, *, until_idle: bool) -> int:
    def show(run: Any) -> None:
        if not out.for_programs:
            out.write(f"{run.id}  {run.definition}  {run.state.value}")

    ended = flows.serve(until_idle=until_idle, progress=show)
    if out.for_programs:
        out.document({"ended": ended})
    return Exit.COMPLETED
