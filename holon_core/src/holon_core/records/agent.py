"""Agents as runtime concepts: profiles, steps of a plan, guardrails, and their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from attrs.validators import ge, optional

from holon_core.records.words import Effect, Word


class ProfileState(Word):
    """Whether agents may work under a profile."""

    ACTIVE = "active"
    ARCHIVED = "archived"


class AgentSessionState(Word):
    """The life of an agent's session; only an open one calls tools."""

    OPEN = "open"
    FINISHED = "finished"
    CLOSED = "closed"


@frozen(kw_only=True)
class PlanStep:
    """One step of a plan; its tools are those that the profile allows, and these patterns."""

    id: str
    description: str = ""
    allowed_tools: tuple[str, ...] = ("*",)
    excluded_tools: tuple[str, ...] = ()


@frozen(kw_only=True)
class Guardrails:
    """Limits of one session; ``None`` where there is none.

    ``max_calls`` counts calls that ran; of calls that their tools block, ten times as many are
    tried. ``max_duration_s`` counts from the opening of the session, refuses calls after it, and
    ends those that run then, as their own time limits would.
    ``effects_ceiling`` is the strictest effect that a tool may have, in the order of effects.
    """

    max_calls: int | None = field(default=None, validator=optional(ge(0)))
    max_duration_s: int | None = field(default=None, validator=optional(ge(1)))
    max_output_bytes: int | None = field(default=None, validator=optional(ge(0)))
    effects_ceiling: Effect | None = None


@frozen(kw_only=True)
class AgentProfile:
    """What an agent is: its role, its instructions, what it may use, and how it ends.

    Patterns are of ids (``*``, ``?``, ``[…]``); excluding wins. Patterns of skills hold for what
    an agent may load, and for the tools that came with a skill: one of a skill that is not allowed
    is allowed by its very id alone. ``output_class`` or ``output_schema`` is the contract of its
    answer: then a session ends by ``finish`` alone.
    """

    id: str
    role: str = ""
    description: str = ""
    instructions_ref: str = ""
    allowed_tools: tuple[str, ...] = ("*",)
    excluded_tools: tuple[str, ...] = ()
    allowed_skills: tuple[str, ...] = ("*",)
    excluded_skills: tuple[str, ...] = ()
    plan_steps: tuple[PlanStep, ...] = ()
    guardrails: Guardrails = Guardrails()
    output_class: str | None = None
    output_schema: Mapping[str, Any] | None = field(default=None, repr=False)
    state: ProfileState = ProfileState.ACTIVE
    revision: int = 0

    @property
    def restricts_skills(self) -> bool:
        """Whether its patterns leave any skill out."""
        return self.allowed_skills != ("*",) or bool(self.excluded_skills)

    @property
    def has_contract(self) -> bool:
        """Whether its answers have to pass a gate."""
        return self.output_class is not None or self.output_schema is not None


@frozen(kw_only=True)
class AgentSession:
    """What is kept of an agent's session; it survives the runtime.

    ``calls`` are those that were accepted and that their tools did not block; ``blocked_calls`` the
    others, of which nothing ran. ``outputs`` are ids of accepted outputs. ``reserved_bytes`` are
    those of calls that run, and of calls whose process died. Times are Unix seconds.
    """

    id: str
    principal: str
    workspace: str | None = None
    profile: str
    run: str = ""
    plan_step: str | None = None
    state: AgentSessionState = AgentSessionState.OPEN
    opened_at_unix_seconds: int
    opened_at_fraction: float = 0.0
    ended_at_unix_seconds: int | None = None
    calls: int = 0
    blocked_calls: int = 0
    output_bytes: int = 0
    reserved_bytes: int = 0
    outputs: tuple[str, ...] = ()
