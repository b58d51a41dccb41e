"""``holon mcp serve``: the governed catalogue of one caller, as an MCP server."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from holon_cli.common import Setup, common_options
from holon_cli.helping import HelpfulCommand
from holon_cli.host import APP, caller_of, load_tools, os_user

DOC = """Serve the tools of this caller to MCP clients, on standard input and output.

The caller is fixed: --actor, --workspace, --role, --profile, --plan-step and --run say who every
client calls as, and no message changes it. Only what callers may do is offered. A call that needs
an approval answers that it is held; with --approver, the client's user is asked where it can ask.
"""
LOOPBACK = "127.0.0.1"
TOKEN = "HOLON_MCP_TOKEN"
MIN_TOKEN = 16
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
        click.Option(
            ["--http"],
            type=click.IntRange(1, 65_535),
            metavar="PORT",
            help="Serve streamable HTTP on this port of 127.0.0.1 instead.",
        ),
        click.Option(
            ["--token-file"],
            metavar="FILE",
            help="Where the token of HTTP clients stands; else HOLON_MCP_TOKEN.",
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
def _serve(
    context: click.Context,
    /,
    *,
    approver: str | None,
    max_tools: int,
    http: int | None,
    token_file: str | None,
    **_: object,
) -> int:
    from holon_core.runtime import Runtime

    setup = Setup.of(context)
    if approver is not None and not approver.strip():
        raise click.UsageError("--approver is empty: leave it out, or say one")
    if approver is not None and approver == (setup.actor or os_user()):
        raise click.UsageError("--approver is the actor: nobody approves what they asked for")
    try:
        from holon_mcp.serving.server import ServeOptions
        from holon_mcp.serving.stdio import serve_stdio
    except ImportError:
        raise click.UsageError(MISSING) from None
    token = "" if http is None else _token(token_file)
    tools = [] if setup.tools is None else load_tools(setup.tools)
    # Nobody is at a prompt, so nobody may approve what they asked for themselves.
    runtime = Runtime.open(setup.root or None, app=setup.app or APP, tools=tools)
    try:
        caller = caller_of(runtime, setup, setup.actor or os_user())
        options = ServeOptions(approver=approver, max_tools=max_tools)
        if http is None:
            serve_stdio(runtime, caller, options)
        else:
            from holon_mcp.serving.http import serve_http

            serve_http(runtime, caller, options, host=LOOPBACK, port=http, token=token)
    finally:
        left = runtime.close()
    if left:
        sys.stderr.write(f"holon mcp serve: threads that cannot be ended: {', '.join(left)}\n")
    return 0


def _token(token_file: str | None) -> str:
    if token_file is None:
        token = os.environ.get(TOKEN, "")
    else:
        try:
            token = Path(token_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{token_file}: {error}") from None
    if len(token) < MIN_TOKEN:
        text = f"a token of {MIN_TOKEN} characters or more is needed: --token-file, or {TOKEN}"
        raise click.UsageError(text)
    return token
