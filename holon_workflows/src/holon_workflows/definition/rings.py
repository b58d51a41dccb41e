"""Workflows that would start one another: the way back from one that is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_workflows.engine.starting import configs

if TYPE_CHECKING:
    from holon_workflows.definition.checking import Checking


def ring_of(about: Checking, name: str, version: str | None) -> tuple[str, ...]:
    """Return the workflows from one that is used back to the one that is checked.

    What names no version gets the newest, which the one that is checked would be. Nothing is
    returned where no way leads back.
    """
    return _ring(about, name, version, path=(), seen=set())


def _ring(
    about: Checking,
    name: str,
    version: str | None,
    *,
    path: tuple[str, ...],
    seen: set[tuple[str, str | None]],
) -> tuple[str, ...]:
    path = (*path, name)
    if name == about.own_id and version in (None, about.own_version):
        return path
    if (name, version) in seen:
        return ()
    seen.add((name, version))
    found = about.definition(name, version)
    uses = () if found is None else configs(found.document, "sub-workflow")
    for config in uses:
        ring = _ring(about, config["workflow"], config.get("version"), path=path, seen=seen)
        if ring:
            return ring
    return ()
