"""``holon mcp probe``: ask a server what it offers, and register or refresh it by that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holon_cli.common import Setup, common_options
from holon_cli.helping import HelpfulCommand
from holon_cli.host import opened

if TYPE_CHECKING:
    from holon_cli.output import Output
    from holon_mcp.probing.probe import Probed

DOC = """Start an MCP server, list what it offers, and end it. No tool of it is ever called.

The server runs in an empty folder, with none of this shell's secrets, for a bounded time, and
without a network where the machine can do that. Give the command after --. What it answered is
shown; --save keeps it, --register and --refresh take it into the catalogue.
"""


def probe_command() -> click.Command:
    """Make the command."""
    options: list[click.Parameter] = [
        click.Argument(["command"], nargs=-1, required=True, metavar="-- COMMAND [ARG]..."),
        click.Option(["--register"], metavar="NAME", help="Register the server by this name."),
        click.Option(["--refresh"], metavar="NAME", help="Refresh the server of this name."),
        click.Option(["--save"], metavar="FILE", help="Write its answers to a new file."),
        click.Option(
            ["--env"],
            multiple=True,
            metavar="NAME=VALUE",
            help="A variable that the server needs; dummy credentials often do.",
        ),
        click.Option(["--network"], is_flag=True, help="Let the server have the network."),
        click.Option(
            ["--timeout-s"],
            type=click.FloatRange(1, 600),
            default=60.0,
            show_default=True,
            help="Seconds that all of it may take.",
        ),
        *common_options(),
    ]
    return HelpfulCommand(
        name="probe",
        params=options,
        callback=_probe,
        help=DOC,
        short_help="Ask an MCP server what it offers, calling nothing",
    )


@click.pass_context
def _probe(
    context: click.Context,
    /,
    *,
    command: tuple[str, ...],
    register: str | None,
    refresh: str | None,
    save: str | None,
    env: tuple[str, ...],
    network: bool,
    timeout_s: float,
    **_: object,
) -> int:
    from holon_mcp.probing.probe import ProbeLimits, probe

    if register is not None and refresh is not None:
        raise click.UsageError("register a server or refresh it, not both")
    made = probe(
        command,
        env=_variables(env),
        limits=ProbeLimits(timeout_s=timeout_s, silence_s=min(10.0, timeout_s / 2)),
        network=network,
    )
    if save is not None:
        _save(save, made)
    answer = _shown(made)
    name = register or refresh
    if name is not None:
        verb = "register" if register is not None else "refresh"
        with opened(Setup.of(context)) as host:
            params = {"name": name, "text": json.dumps(made.answers())}
            answer["server"] = host.dispatch(f"mcp-server/{verb}", params)
    _show(context.obj, answer)
    return 0


def _variables(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if not all(name and equals for name, equals, _ in pairs):
        raise click.UsageError("--env is NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _save(save: str, made: Probed) -> None:
    try:
        with Path(save).open("x", encoding="utf-8") as file:
            json.dump(made.answers(), file, ensure_ascii=False, indent=1)
    except OSError as error:
        raise click.UsageError(f"{save}: {error.strerror}") from None


def _shown(made: Probed) -> dict[str, Any]:
    listing = made.listing
    return {
        "server_name": listing.server_name,
        "server_version": listing.server_version,
        "protocol": listing.protocol,
        "without_network": made.confined,
        "lists": {kind: len(items) for kind, items in listing.lists.items()},
        "errors": dict(listing.errors),
        "lines_that_are_no_messages": made.noise,
    }


def _show(out: Output, answer: dict[str, Any]) -> None:
    if out.for_programs:
        out.document(answer)
        return
    from holon_core.visible import escape_unseen

    server = answer.pop("server", None)
    for name, value in answer.items():
        out.write(escape_unseen(f"{name.replace('_', ' ')}: {value}"))
    if server is not None:
        from holon_cli.people import show_table

        show_table(out.console, ("entry", "kind", "state", "risk_hints"), server["items"])
        waiting = server["waiting"]
        if waiting and waiting["waiting"]:
            out.write(f"{len(waiting['waiting'])} wait to be accepted: see holon mcp diff")
