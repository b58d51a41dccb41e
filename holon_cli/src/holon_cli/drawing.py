"""Drawings of an answer: never into a terminal, but to the file that is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holon_core.errors import Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from holon_core.records.operation import Operation

SVG = "svg"


def draws(row: Operation) -> bool:
    """Tell whether a row draws what it answers, where it is asked to."""
    return SVG in row.request["properties"] and SVG in row.response.get("properties", {})


def svg_option(text: str) -> click.Option:
    """Make the option that names the file."""
    return click.Option(
        [f"--{SVG}", SVG],
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"{text} Written to this file.",
    )


def written(answer: Mapping[str, Any], file: Path | None) -> dict[str, Any]:
    """Write an answer's drawing to a file; return the rest of the answer.

    Raises:
        Refused: ``dependency_missing``: nothing draws here.
        click.UsageError: The file can't be written.
    """
    rest = {name: value for name, value in answer.items() if name != SVG}
    if file is None:
        return rest
    drawn = answer[SVG]
    if drawn is None:
        raise Refused(failure("dependency_missing", "graphviz (dot) is not on this machine"))
    try:
        file.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {file}: {error.strerror}") from None
    return rest
