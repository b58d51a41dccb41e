"""The table ``[lane.rust-tools]``: which cargo, which catalogue, and the bounds of a build."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from holon_core import Limits, Misuse
from holon_rust_tools.catalogue import Catalogue, extended

MAX_CARGO_OUTPUT_BYTES = 32 * 1024 * 1024
_KEYS = frozenset({"cargo", "catalogue", "build_timeout_s", "max_disk_mb", "offline"})


@frozen(kw_only=True)
class Settings:
    """What a host sets.

    ``cargo`` is an absolute path; ``None`` searches PATH. ``build_timeout_s`` bounds one build,
    or one test, as a whole; ``max_disk_bytes`` what it may hold on disk. ``offline`` never asks
    the registry.
    """

    catalogue: Catalogue
    cargo: str | None = None
    build_timeout_s: float = 600.0
    max_disk_bytes: int = 2 * 1024**3
    offline: bool = False

    @property
    def limits(self) -> Limits:
        """The bounds of one build as the core keeps them."""
        return Limits(timeout_s=self.build_timeout_s, max_output_bytes=MAX_CARGO_OUTPUT_BYTES)


def read_settings(config: Mapping[str, Any]) -> Settings:
    """Read the lane's table.

    Raises:
        Misuse: A key or a value is none that it knows; the lane is then not loaded.
    """
    unknown = sorted(set(config) - _KEYS)
    if unknown:
        raise Misuse(f"[lane.rust-tools] has no {', '.join(unknown)}")
    for name in ("cargo", "catalogue"):
        given = config.get(name)
        if given is not None and not (isinstance(given, str) and Path(given).is_absolute()):
            raise Misuse(f"{name} of [lane.rust-tools] is an absolute path")
    timeout, disk = config.get("build_timeout_s", 600), config.get("max_disk_mb", 2048)
    if type(timeout) not in (int, float) or not 1 <= timeout <= 3600:
        raise Misuse("build_timeout_s of [lane.rust-tools] is 1 to 3600")
    if type(disk) is not int or not 1 <= disk <= 1024 * 1024:
        raise Misuse("max_disk_mb of [lane.rust-tools] is 1 to 1048576")
    offline = config.get("offline", False)
    if type(offline) is not bool:
        raise Misuse("offline of [lane.rust-tools] is true or false")
    return Settings(
        catalogue=extended(config.get("catalogue")),
        cargo=config.get("cargo"),
        build_timeout_s=float(timeout),
        max_disk_bytes=disk * 1024 * 1024,
        offline=offline,
    )
