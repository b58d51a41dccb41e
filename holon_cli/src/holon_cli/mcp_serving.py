"""``holon mcp serve``: the governed catalogue of one caller, as an MCP server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from holon_cli.common import Setup, common_options
from holon_cli.helping import HelpfulCommand
from holon_cli.host import APP, caller_of, load_tools, os_user

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime

DOC = """Serve the tools of this caller to MCP clients, on standard input and output.

The caller is fixed: --actor, --workspace, --role and --profile say who every client calls as,
and no message changes it. Only what callers may do is offered. A call that needs an approval
answers that it is held; with --approver, the client's user is asked where the client can ask.
"""
MISSING = "serving MCP needs more: pip install 'holon-mcp[serve]'"


def serve_command() -> click.Command:
    """Make the command."""
    options: list[click.Parameter] = [
        click.Option(
            ["--approver"],
            metavar="NAME",
            help="Let the client's user decide held calls, in this name; not that of --actor.",
        ),
        click.Option(
            ["--max-tools"],
            type=click.IntRange(1, 10_000),
            default=100,
            show_default=True,
            help="List at most so many; search_tools finds the others.",
        ),
        *common_options(),
    ]
    return HelpfulCommand(
        name="serve",
        params=options,
        callback=_serve,
        help=DOC,
        short_help="Serve the governed catalogue to MCP clients",
    )


@click.pass_context
def _serve(context: click.Context, /, approver: str | None, max_tools: int, **_: object) -> int:
    from holon_core.runtime import Runtime

    setup = Setup.of(context)
    if approver is not None and not approver.strip():
        raise click.UsageError("--approver is empty: leave it out, or say one")
    try:
        import mcp.server.stdio  # noqa: F401
    except ImportError:
        raise click.UsageError(MISSING) from None
    tools = [] if setup.tools is None else load_tools(setup.tools)
    # Nobody is at a prompt, so nobody may approve what they asked for themselves.
    runtime = Runtime.open(setup.root or None, app=setup.app or APP, tools=tools)
    try:
        caller = caller_of(runtime, setup, setup.actor or os_user())
        _run(runtime, caller, approver=approver, max_tools=max_tools)
    finally:
        left = runtime.close()
    if left:
        sys.stderr.write(f"holon mcp serve: threads that cannot be ended: {', '.join(left)}\n")
    return 0


def _run(runtime: Runtime, caller: CallerContext, *, approver: str | None, max_tools: int) -> None:
    from holon_mcp.serving.server import ServeOptions
    from holon_mcp.serving.stdio import serve_stdio

    options = ServeOptions(approver=approver, max_tools=max_tools)
    serve_stdio(runtime, caller, options)
