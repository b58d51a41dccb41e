"""One row of the operations table (design, section 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from holon_core.records.words import Authority, Effect


@frozen(kw_only=True)
class Operation:
    """An operation: protocol method ``noun/verb``, command ``holon noun verb``, typed handler.

    ``request`` is the JSON Schema of its parameters, ``response`` that of its answer;
    ``handler(runtime, caller, params)`` does the work. ``columns`` are the fields that the
    command's table shows. ``doc`` is its reference text, ``command`` false for protocol only.
    """

    noun: str
    verb: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    authority: Authority
    handler: Callable[..., Any]
    doc: str
    effects: frozenset[Effect] = frozenset({Effect.NONE})
    columns: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The protocol method."""
        return f"{self.noun}/{self.verb}"
