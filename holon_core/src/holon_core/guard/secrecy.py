"""Finding the values of secrets in what somebody wants kept: known ones, and all registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.guard.redaction import MAX_VALUES
from holon_core.records.failure import StructuredFailure, failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holon_core.guard.guard import Guard
    from holon_core.guard.redaction import Redactor


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


def know_registered(guard: Guard, more: Iterable[str] = ()) -> StructuredFailure | None:
    """Fetch every registered secret, so that its value is found in whatever is looked at next.

    Registered is what ``holon.toml`` binds under ``[secrets]`` and what any tool of the catalogue
    names in a secret slot. A reference that has no value here (a variable that is not set, a file
    that is not there, no provider) has none that could be found, and is passed over. Only for
    what is about to be kept in plain: nothing else fetches what no tool is about to use.

    Args:
        guard: The parts.
        more: References besides.

    Returns:
        ``secret_unresolved`` where a provider fails, or more secrets are registered than can be
        known at a time: then nobody can tell what a text holds. Else ``None``.
    """
    found = dict.fromkeys([*more, *guard.secrets.references, *guard.catalogue.secret_references()])
    if len(found) > MAX_VALUES:
        text = f"more than {MAX_VALUES} secrets are registered, too many to look for in a text"
        return failure("secret_unresolved", text)
    for ref in found:
        lack = guard.secrets.check(ref)
        value = guard.secrets.fetch(ref) if lack is None else lack
        if not isinstance(value, StructuredFailure):
            guard.redactor.register(ref, value.reveal())
        elif "exception" in value.details:
            text = f"nobody can tell whether a registered secret is in it: {value.message}"
            return failure("secret_unresolved", text, **value.details)
    return None
