"""TOML, read by the standard library where it has it."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads

MAX_TOML_BYTES = 256 * 1024


def read_toml(text: str) -> dict[str, Any]:
    """Read a document.

    Raises:
        ValueError: It is no TOML, nested too deep, or longer than 256 KiB.
    """
    if len(text) > MAX_TOML_BYTES:
        raise ValueError(f"more than {MAX_TOML_BYTES} characters")
    try:
        return loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except TOMLDecodeError as error:
        raise ValueError(str(error)) from None
