"""Several records as a method returns them: a tuple that shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T_co = TypeVar("T_co", covariant=True)


# A kind of tuple may have no slots of its own, and this one holds a flag.
class Listing(tuple[T_co, ...]):  # noqa: SLOT001
    """A tuple of records; equal to, and usable as, the plain tuple of them.

    ``more`` says that it is a full page, which others may follow: ask again with ``after`` the
    last of it. It is false where these are all.
    """

    more: bool = False

    @classmethod
    def page(cls, items: Iterable[T_co], limit: int) -> Listing[T_co]:
        """Make a listing of at most ``limit`` records, which says whether it is full."""
        made = cls(items)
        made.more = len(made) >= limit
        return made

    def _repr_html_(self) -> str:
        from holon_core.render import listing_html

        shown = listing_html(self)
        if not self.more:
            return shown
        return f"{shown}<p>a full page of {len(self)}: more may follow, ask with after</p>"
