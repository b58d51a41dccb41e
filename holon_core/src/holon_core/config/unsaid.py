"""The settings of a storage root that nobody said anything about: nothing is read for them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.config.records import FILE, Config

if TYPE_CHECKING:
    from pathlib import Path

# What the variables of all settings begin with.
PREFIX = "HOLON_"


class Defaults(Mapping[str, str]):
    """Says of every setting that it is the default."""

    def __getitem__(self, key: str) -> str:
        if key not in self._keys():
            raise KeyError(key)
        return "default"

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())

    def __repr__(self) -> str:
        return repr(dict(self))

    @staticmethod
    def _keys() -> tuple[str, ...]:
        from holon_core.config.settings import SETTINGS

        return tuple(setting.key for setting in SETTINGS)


def settings_of(root: Path | None, env: Mapping[str, str], overrides: Mapping[str, Any]) -> Config:
    """Return the settings of a storage root as ``load`` does, which is asked only where needed."""
    if not overrides and not _has_file(root) and not any(name.startswith(PREFIX) for name in env):
        return Config(sources=Defaults())
    from holon_core.config.settings import load

    return load(root, env, overrides=overrides)


def _has_file(root: Path | None) -> bool:
    """Tell whether there is anything to read; what cannot be looked at is for the reader to say."""
    if root is None:
        return False
    try:
        os.lstat(root / FILE)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
