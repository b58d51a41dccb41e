"""What each step of a call would say, asked beforehand."""

from __future__ import annotations

from attrs import frozen

from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class ExplainStep(Record):
    """One step of the guarded call and what it said."""

    step: str
    verdict: str
    detail: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Explanation(Record):
    """What each step of the guarded call would say, in order."""

    tool: str
    outcome: str
    steps: tuple[ExplainStep, ...]

    def _repr_html_(self) -> str:
        from holon_core.render import explanation_html

        return explanation_html(self)
