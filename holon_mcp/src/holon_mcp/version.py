"""Which version of this distribution speaks: to clients, and to servers that are probed."""

from __future__ import annotations

from functools import lru_cache

NAME = "holon-mcp"


@lru_cache(maxsize=1)
def distribution_version() -> str:
    """Return the version of the installed distribution; ``0`` where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(NAME)
    except PackageNotFoundError:
        return "0"
