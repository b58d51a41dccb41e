"""One row of the operations table (design, section 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from holon_core.records.base import Record
from holon_core.records.words import Authority, Effect


@frozen(kw_only=True, eq=False, repr=False)
class Operation(Record):
    """An operation: protocol method ``noun/verb`` and command ``holon noun verb``.

    ``request`` is the JSON Schema of its parameters, ``response`` that of its answer;
    ``handler(door, params)`` does the work, ``doc`` is its reference text. ``effects`` are those
    of the operation itself; a governed call has its tool's besides. ``listing`` names the member
    of the answer that is a list of things, ``columns`` the fields of each that the command's
    table shows. ``positional`` are the parameters that the command takes by position.
    ``unread`` are parameters that the guarded call judges, so that a refusal of them is recorded
    and answered as the result of a call. ``also`` are authorities that open it instead of
    ``authority``.
    """

    noun: str
    verb: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    authority: Authority
    handler: Callable[..., Any]
    doc: str
    effects: frozenset[Effect] = frozenset({Effect.NONE})
    listing: str | None = None
    columns: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    also: frozenset[Authority] = frozenset()

    @property
    def method(self) -> str:
        """The protocol method."""
        return f"{self.noun}/{self.verb}"

    def open_to(self, authorities: frozenset[Authority]) -> bool:
        """Tell whether somebody of these authorities may ask it."""
        return not authorities.isdisjoint({self.authority, *self.also})
