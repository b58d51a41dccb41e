"""Settings of the lane: which interpreters, and whether scripts run confined by bubblewrap."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from holon_core import Misuse

MODES = ("off", "if_available", "required")


@frozen(kw_only=True)
class Settings:
    """The table ``[lane.script-tools]``."""

    mode: str = "off"
    interpreters: Mapping[str, str] = {}

    @property
    def required(self) -> bool:
        """Whether nothing runs without confinement."""
        return self.mode == "required"


def read_settings(config: Mapping[str, Any]) -> Settings:
    """Read the lane's table.

    Raises:
        Misuse: A key or a value is none that it knows; the lane is then not loaded.
    """
    unknown = sorted(set(config) - {"confinement", "interpreters"})
    if unknown:
        raise Misuse(f"[lane.script-tools] has no {', '.join(unknown)}")
    mode = config.get("confinement", "off")
    if mode not in MODES:
        raise Misuse(f"confinement is one of {', '.join(MODES)}")
    given = config.get("interpreters", {})
    named = isinstance(given, Mapping) and all(isinstance(each, str) for each in given.values())
    if not named or not all(Path(each).is_absolute() for each in given.values()):
        raise Misuse("interpreters maps names of the list to absolute paths")
    return Settings(mode=mode, interpreters=dict(given))


def prefix_of(interpreter: str) -> tuple[Path, ...]:
    """Return the folder of an interpreter that is not the system's: its library is beside it."""
    folder = Path(interpreter).resolve().parent.parent
    return () if str(folder) in ("/", "/usr") else (folder,)
