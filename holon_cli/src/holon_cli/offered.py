"""Operations of plugins, found by opening the runtime: only for nouns that are not the core's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holon_cli.common import Setup
from holon_cli.host import APP, Wanted, storage_root

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
        storage_root(_given(words) or Setup.of(context).root, Wanted.READ) as root,
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
