"""The type of a JSON value, and the limits that hold for one at every boundary."""

from __future__ import annotations

from typing import TypeAlias

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"

MAX_BYTES = 1_048_576
MAX_DEPTH = 128
MAX_INTEGER = 2**53 - 1
