"""How large a package may be; `[lane.packages]` of holon.toml may say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from attrs.validators import and_, ge, instance_of, le

MIB = 1024 * 1024


def _whole(least: int, most: int) -> Any:
    return and_(instance_of(int), ge(least), le(most))


@frozen(kw_only=True)
class PackageLimits:
    """Bounds of one package: bytes of the archive and of all files together, and files."""

    max_bytes: int = field(default=10 * MIB, validator=_whole(1024, 1024 * MIB))
    max_files: int = field(default=2000, validator=_whole(1, 100_000))


def limits_of(config: Mapping[str, Any]) -> PackageLimits:
    """Read the limits of the lane's own table.

    Raises:
        TypeError: A name that is none of them, or a value of another type.
        ValueError: A value out of bounds.
    """
    return PackageLimits(**config)
