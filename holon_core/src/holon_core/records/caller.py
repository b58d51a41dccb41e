"""Who calls: stated by the host's authentication, never by a request body."""

from attrs import frozen

from holon_core.records.words import Surface


# The hash is kept: the same caller is looked up on each of its calls.
@frozen(kw_only=True, cache_hash=True)
class CallerContext:
    """The caller of one session.

    ``workspace`` is a workspace id. An absent workspace, role or profile restricts nothing.
    ``run`` groups calls whose effects add up for policy; ``trace_id`` is for correlation only.
    """

    principal: str
    on_behalf_of: str | None = None
    workspace: str | None = None
    role: str | None = None
    profile: str | None = None
    plan_step: str | None = None
    run: str | None = None
    surface: Surface = Surface.RUNTIME
    trace_id: str | None = None
