"""``holon serve``: the operations over standard input and output, for one caller."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from holon_cli.common import Setup, common_options
from holon_cli.helping import HelpfulCommand
from holon_cli.host import APP, caller_of, load_tools, os_user
from holon_core.records.words import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from holon_cli.output import Output
    from holon_core.operations.serve import Server

DOC = """Serve JSON-RPC 2.0 on standard input and output, one message a line.

The caller is fixed: --actor, --workspace, --role, --profile, --plan-step and --run say who asks,
and no message changes it. Only what callers may do is offered, unless --operator or --approver
says more.

A bad line is answered and never ends it. Requests run at once; `$/cancelRequest` with an `id`
cancels one, and `$/progress` tells how far a call is. At the end of the input what runs is
finished while somebody reads the answers. What tools print goes to standard error.
"""


def serve_command() -> click.Command:
    """Make the command."""
    options: list[click.Parameter] = [
        click.Option(["--operator"], is_flag=True, help="Offer what operators may do, too."),
        click.Option(
            ["--approver"],
            metavar="NAME",
            help="Offer the deciding of approvals, too, in this name; not of its own calls.",
        ),
    ]
    return HelpfulCommand(
        name="serve",
        params=[*options, *common_options()],
        callback=_serve,
        help=DOC,
        short_help="Serve JSON-RPC 2.0 on standard input and output",
    )


@click.pass_context
def _serve(context: click.Context, /, operator: bool, approver: str | None, **_: object) -> int:
    from holon_core.operations.lines import claimed_streams
    from holon_core.operations.serve import Server
    from holon_core.runtime import Runtime

    out: Output = context.obj
    setup = Setup.of(context)
    granted = {Authority.CALLER}
    if operator:
        granted.add(Authority.OPERATOR)
    if approver is not None:
        if not approver.strip():
            raise click.UsageError("--approver is empty: leave it out, or say one")
        granted.add(Authority.APPROVER)
    with claimed_streams(out.stream.fileno()) as (source, sink):
        tools = [] if setup.tools is None else load_tools(setup.tools)
        # Nobody is at a prompt, so nobody may approve what they asked for themselves.
        runtime = Runtime.open(setup.root or None, app=setup.app or APP, tools=tools)
        try:
            caller = caller_of(runtime, setup, setup.actor or os_user())
            server = Server(runtime, caller, authorities=granted, approver=approver)
            with _ending_on_signal(server):
                server.run(source, sink)
        finally:
            left = runtime.close()
    if left:
        sys.stderr.write(f"holon serve: threads that cannot be ended: {', '.join(left)}\n")
    return 0


@contextmanager
def _ending_on_signal(server: Server) -> Iterator[None]:
    def end(_: int, __: FrameType | None) -> None:
        server.stop()

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
