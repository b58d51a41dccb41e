"""What a lane's plugins offer, asked of their hooks by hand, before a runtime judges it."""

from __future__ import annotations

import inspect
import logging
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import field, frozen

from holon_core.clock import SystemClock
from holon_core.errors import RuntimeNotOpen
from holon_core.plugins.loader import find_installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from holon_core.testing.bench import Bench

MAX_ITEMS = 100_000


@frozen(kw_only=True)
class Loaded:
    """One plugin of the lane: the object, or why there is none."""

    name: str
    plugin: Any = None
    problem: str = ""


class OpeningHost:
    """A host as a plugin sees it while a runtime opens: folder, clock, logger, configuration."""

    def __init__(self, name: str, folder: Path, config: Mapping[str, Any]) -> None:
        self.name = name
        self.clock = SystemClock()
        self.logger = logging.getLogger(f"holon.plugin.{name}")
        self.config = config
        self._folder = folder

    @property
    def folder(self) -> Path:
        """Make and return the plugin's folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def documents(self, *_: Any) -> NoReturn:
        """Refuse: the runtime is not open."""
        raise RuntimeNotOpen("the runtime of this host is not open yet")

    service = offers = register_source = remove_source = documents


def loaded(bench: Bench) -> list[Loaded]:
    """Return the lane's plugins; an empty list where nothing of the name is installed."""
    lane = bench.lane
    if lane.plugin is not None:
        return [Loaded(name=lane.distribution, plugin=lane.plugin)]
    found = find_installed([lane.distribution])
    return [Loaded(name=f.name, plugin=f.plugin, problem=f.problem) for f in found]


def offered(bench: Bench, hook: str) -> list[Any]:
    """Return what the lane's plugins answer to a hook, as far as they came."""
    items: list[Any] = []
    for each in loaded(bench):
        function = getattr(each.plugin, hook, None)
        if function is None:
            continue
        config = bench.lane.config.get("lane", {}).get(each.name, {})
        host = OpeningHost(each.name, bench.folder / "offered" / each.name, config)
        given = [host][: len(inspect.signature(function).parameters)]
        # What breaks here breaks at opening, too, where a check of its own reports it.
        items += _until_broken(lambda function=function, given=given: function(*given) or ())
    return items


@frozen(kw_only=True)
class Definitions:
    """What one source gave when it was read."""

    source: str
    items: list[Any] = field(factory=list)


def definitions(bench: Bench) -> list[Definitions]:
    """Read every source of the lane, once, and keep what it gave until it broke."""
    return [
        Definitions(source=source.descriptor.id, items=_until_broken(source.read))
        for source in offered(bench, "holon_skill_sources")
    ]


def _until_broken(answer: Any) -> list[Any]:
    return list(_items(answer))


def _items(answer: Any) -> Iterator[Any]:
    try:
        yield from islice(answer(), MAX_ITEMS)
    except Exception:
        return
