"""Finding the values of known secrets in what somebody wants kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.guard.redaction import Redactor
    from holon_core.records.failure import StructuredFailure


def where_secret(redactor: Redactor, value: Any, path: str = "") -> Iterator[str]:
    """Yield a pointer to each place of a JSON value that holds the value of a known secret.

    Args:
        redactor: Knows the secrets, in every shape.
        value: JSON, normalised before: bounded in size and depth.
        path: Of the value itself. A name that holds a secret is told by its object's.
    """
    if not redactor.active:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if redactor.text(key) != key:
                yield path
            else:
                name = key.replace("~", "~0").replace("/", "~1")
                yield from where_secret(redactor, item, f"{path}/{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from where_secret(redactor, item, f"{path}/{number}")
    elif redactor.value(value) is not value:
        yield path


def kept_secret(redactor: Redactor, value: Any, path: str = "") -> StructuredFailure | None:
    """Say that a value holds a secret, and where first; ``None`` where it holds none."""
    found = next(where_secret(redactor, value, path), None)
    return None if found is None else failure("secret_in_content", path=found)
