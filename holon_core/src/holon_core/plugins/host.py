"""What a plugin may see of the runtime that asks it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from holon_core.clock import Clock
from holon_core.errors import Misuse


class PluginHost(Protocol):
    """A narrow view of a runtime: no way to approve or to call tools."""

    @property
    def folder(self) -> Path:
        """A folder of the plugin's own under the storage root.

        Raises:
            Misuse: The runtime is in memory and has none.
        """
        ...

    @property
    def clock(self) -> Clock:
        """The runtime's clock."""
        ...

    @property
    def logger(self) -> logging.Logger:
        """A logger of the plugin's own; Holon configures no logging."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """The plugin's own table of `holon.toml`, ``[lane.<name>]``."""
        ...


class Host:
    """The host that one plugin sees.

    Args:
        name: The plugin's name.
        root: The storage root; ``None`` in memory.
        clock: The runtime's clock.
        config: The plugin's own table.
    """

    def __init__(
        self, name: str, root: Path | None, clock: Clock, config: Mapping[str, Any]
    ) -> None:
        self._name = name
        self._root = root
        self.clock = clock
        self.config = config

    @property
    def folder(self) -> Path:
        """Make and return the plugin's folder."""
        if self._root is None:
            raise Misuse("a runtime in memory has no folder for plugins")
        folder = self._root / "plugins" / self._name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    @property
    def logger(self) -> logging.Logger:
        """Return the plugin's logger."""
        return logging.getLogger(f"holon.plugin.{self._name}")
