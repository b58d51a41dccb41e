"""What a handler works with: a runtime's facets, the caller's session, and its authorities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import Misuse, Refused
from holon_core.names import several
from holon_core.records.base import Record
from holon_core.records.failure import failure
from holon_core.records.words import Authority

if TYPE_CHECKING:
    from holon_core.cancel import CancelToken
    from holon_core.records.caller import CallerContext
    from holon_core.runtime import Runtime
    from holon_core.session import Session

Params = Mapping[str, Any]


@frozen(kw_only=True, eq=False, repr=False)
class Door(Record):
    """One request's way into a runtime; the caller comes from the host, never from the request.

    ``cancel`` is raised where whoever asked no longer wants the answer.
    """

    runtime: Runtime
    session: Session
    authorities: frozenset[Authority]
    cancel: CancelToken | None = None

    @property
    def caller(self) -> CallerContext:
        """Who asks."""
        return self.session.caller

    @property
    def sees_all(self) -> bool:
        """Whether it sees what belongs to others: operators and approvers do."""
        return bool(self.authorities & {Authority.OPERATOR, Authority.APPROVER})

    def may(self, authority: Authority) -> bool:
        """Tell whether the caller holds an authority."""
        return authority in self.authorities

    def owns(self, *, principal: str | None, workspace: str | None) -> bool:
        """Tell whether something belongs to exactly this caller."""
        return (principal, workspace) == (self.caller.principal, self.caller.workspace)

    def workspace_of(self, params: Params) -> str | None:
        """Return the workspace that a request speaks of; its caller's where it names none.

        Raises:
            Refused: ``not_allowed``: it is not the caller's, and the caller sees only its own.
        """
        wanted: str | None = params.get("workspace", self.caller.workspace)
        if wanted != self.caller.workspace and not self.sees_all:
            raise not_allowed("a caller sees its own workspace")
        return wanted


def granted(authorities: Iterable[Authority]) -> frozenset[Authority]:
    """Return the authorities that a host gives a caller.

    Raises:
        Misuse: One of them is no authority.
    """
    given = tuple(several(authorities, "authorities"))
    if not all(type(each) is Authority for each in given):
        raise Misuse(f"authorities are words of Authority: {', '.join(map(str, Authority))}")
    return frozenset(given)


def not_allowed(message: str, **details: Any) -> Refused:
    """Make the refusal of what this caller may not do."""
    return Refused(failure("not_allowed", message, **details))
