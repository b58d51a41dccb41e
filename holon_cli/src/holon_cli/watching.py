"""`holon approval watch`: a person walks through what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holon_cli.common import Setup, common_options
from holon_cli.exits import Exit
from holon_cli.helping import HelpfulCommand
from holon_cli.host import Host, opened

if TYPE_CHECKING:
    from rich.console import Console

    from holon_cli.output import Output

POLL_S = 0.5
DOC = (
    "Walk through the calls that wait for a person: facts first, then the request, the payload, "
    "its difference from the last approved one, flags, and last what the tool says of itself. "
    "Keys: a approve, d deny, e edit, g grant, n next, ? help, q quit. It needs a terminal."
)


def watch_command() -> click.Command:
    """Make the command."""
    once = click.Option(["--once"], is_flag=True, help="End when nothing waits any more.")

    @click.pass_context
    def run(context: click.Context, /, *, once: bool, **_: object) -> int:
        from holon_cli.keys import has_person

        out: Output = context.obj
        if out.for_programs or not has_person():
            raise click.UsageError(
                "approval watch asks a person and needs a terminal; programs use "
                "`holon approval list --json` and `holon approval approve ID --reason TEXT`"
            )
        with opened(Setup.of(context)) as host:
            return _watch(host, once=once)

    return HelpfulCommand(
        name="watch",
        params=[once, *common_options()],
        callback=run,
        help=DOC,
        short_help="Walk through the calls that wait for a person",
    )


def _watch(host: Host, *, once: bool) -> int:
    from holon_cli.asking import Answer, Desk
    from holon_cli.people import stderr_console

    console = stderr_console()
    desk = Desk(host, console)
    left: set[str] = set()
    while True:
        call_id = _next(host, left)
        if call_id is None and not once:
            call_id = _awaited(host, console, left)
        if call_id is None:
            return Exit.COMPLETED
        decided = desk.ask(call_id)
        left |= {call_id, decided.call_id}
        if decided.answer is Answer.QUIT:
            return Exit.COMPLETED
        if decided.answer is Answer.APPROVED:
            console.print(f"approved; its caller runs it: holon tool release {decided.call_id}")


def _next(host: Host, left: set[str]) -> str | None:
    after = ""
    while page := host.runtime.approvals.held(after=after, limit=100):
        for held in page:
            pending = host.runtime.approvals.read(held.call_id).state == "pending"
            if held.call_id not in left and pending:
                return held.call_id
        after = page[-1].call_id
    return None


def _awaited(host: Host, console: Console, left: set[str]) -> str | None:
    """Wait for the next call, saying so once; ``None`` where the person wants to leave."""
    from holon_cli.keys import read_key

    more = " but what you left" if left else ""
    console.print(f"nothing waits{more}; q to quit ", end="")
    call_id, key = None, None
    while call_id is None and key not in ("q", ""):
        key = read_key(timeout_s=POLL_S)
        call_id = _next(host, left)
    console.print()
    return None if key in ("q", "") else call_id
