"""Operations of plugins, found by opening the runtime: only for nouns that are not the core's."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from holon_cli.common import Setup
from holon_cli.host import APP

if TYPE_CHECKING:
    import click

    from holon_core.records.operation import Operation

ROOT_OPTION = "--root"


def rows_of(noun: str, context: click.Context, words: Sequence[str]) -> tuple[Operation, ...]:
    """Return what plugins offer under a noun.

    Args:
        noun: A word that is no noun of the core's.
        context: Of the command above, whose options were read.
        words: What follows the noun and was not read yet; it may name the storage root.

    Raises:
        StoreError: The store cannot be opened.
        Rejected: ``holon.toml`` is refused.
    """
    from holon_core.runtime import Runtime

    with (
        _root(_given(words) or Setup.of(context).root) as root,
        Runtime.open(root, app=APP) as runtime,
    ):
        return tuple(row for row in runtime._parts.operations.values() if row.noun == noun)


def _given(words: Sequence[str]) -> str | None:
    """Find the storage root among words that click reads later."""
    found = None
    for position, word in enumerate(words):
        if word == "--":
            break
        if word == ROOT_OPTION and position + 1 < len(words):
            found = words[position + 1]
        elif word.startswith(f"{ROOT_OPTION}="):
            found = word.partition("=")[2]
    return found


@contextmanager
def _root(given: str | None) -> Iterator[Path]:
    """Give the storage root, or one that is thrown away: a misspelt noun makes no folder."""
    from holon_core.runtime import default_root

    root = Path(given) if given else default_root()
    if os.path.lexists(root):
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="holon-") as scratch:
        yield Path(scratch).resolve() / "root"
