"""What a policy is asked, and what it may answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from attrs import field, frozen
from attrs.validators import instance_of

from holon_core.errors import Misuse
from holon_core.records.base import Record
from holon_core.records.caller import CallerContext
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Decision, Effect, Posture


def _decision(_: Any, attribute: Any, value: Any) -> None:
    if type(value) is not Decision:
        raise Misuse(f"{attribute.name} is Decision.ALLOW, ASK or DENY, not {value!r:.100}")


@frozen(kw_only=True, eq=False, repr=False)
class PolicyRequest(Record):
    """One call as policy sees it: normalised arguments, effects, who and under which posture.

    ``effects_used`` are those that earlier calls of the same run were allowed.
    """

    tool: RuntimeToolDescriptor
    caller: CallerContext
    arguments: Mapping[str, Any]
    posture: Posture
    effects_used: frozenset[Effect] = frozenset()


@frozen(kw_only=True, eq=False, repr=False)
class Verdict(Record):
    """What one policy says: the decision, the rule that made it, and why.

    ``confined`` requires that the tool runs confined, whatever decides in the end; a call that
    can't be confined is refused.
    """

    decision: Decision = field(validator=_decision)
    rule: str
    reason: str = ""
    confined: bool = field(default=False, validator=instance_of(bool))

    @property
    def detail(self) -> str:
        """The rule, what it says beside its decision, and why; for people."""
        said = f"{self.rule} (confined)" if self.confined else self.rule
        return f"{said}: {self.reason}" if self.reason else said


class Policy(Protocol):
    """What a plugin offers by ``holon_policies``."""

    @property
    def name(self) -> str:
        """A name that is stable across versions."""
        ...

    def evaluate(self, request: PolicyRequest, /) -> Verdict:
        """Decide one call; quick, without side effects."""
        ...
