"""Several records as a method returns them: a tuple that shows itself in a notebook."""

from __future__ import annotations

from typing import TypeVar

T_co = TypeVar("T_co", covariant=True)


class Listing(tuple[T_co, ...]):
    """A tuple of records; equal to, and usable as, the plain tuple of them."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from holon_core.render import listing_html

        return listing_html(self)
