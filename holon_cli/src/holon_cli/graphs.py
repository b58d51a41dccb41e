"""Commands whose answer holds a graph: Mermaid's words for people, SVG for a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from holon_cli.derived import command_of, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_cli.host import Host
    from holon_cli.output import Output
    from holon_core.records.operation import Operation

SVG = "svg"
_ASKS = ("svg", "graph")


def graph_command(row: Operation) -> click.Command:
    """Make the command of a row whose answer may hold a graph as SVG."""
    flag = next(name for name in _ASKS if name in row.request["properties"])
    output = click.Option(
        ["--output", "output"],
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the graph to FILE as SVG, where graphviz is on this machine.",
    )

    def implied(options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {flag: True} if options["output"] is not None else {}

    def after(host: Host, out: Output, options: Mapping[str, Any], answer: Any) -> int | None:
        if options["output"] is not None:
            _written(answer[SVG], options["output"])
        if out.for_programs:
            return None
        code = show(row, {**answer, SVG: None}, out)
        _told(answer[SVG], options["output"])
        return code

    return command_of(row, extra=[output], implied=implied, after=after)


def _written(drawn: str | None, path: str) -> None:
    if drawn is None:
        raise click.UsageError("graphviz (dot) is not on this machine; leave --output away")
    try:
        Path(path).write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise click.FileError(path, error.strerror) from None


def _told(drawn: str | None, path: str | None) -> None:
    from holon_cli.people import stderr_console
    from holon_core.visible import escape_controls

    if path is not None:
        stderr_console().print(Text(f"written: {escape_controls(path)}", "dim"))
    elif drawn is not None:
        stderr_console().print(Text("SVG is for a file: --output FILE", "dim"))
