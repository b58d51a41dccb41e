"""A tool as the catalogue knows it: what it takes, gives, touches and needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen
from attrs.validators import ge, gt, le, optional

from holon_core.records.base import Record
from holon_core.records.words import (
    EFFECT_ORDER,
    ApprovalRequirement,
    Effect,
    Origin,
    Posture,
    Readiness,
)

MAX_TIMEOUT_S = 3600
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
# Outside of every projection for models, whatever a definition says (taxonomy of tools,
# "Built-In Memory Bridge Boundary").
RUNTIME_ONLY = frozenset(
    {
        "holon.built-in.memory/write-workspace-memory",
        "holon.built-in.memory/request-workspace-memory-write-approval",
    }
)


@frozen(kw_only=True, eq=False, repr=False)
class Limits(Record):
    """Ceilings on one execution. Policy may lower them, never raise them."""

    timeout_s: float | None = field(default=None, validator=optional([gt(0), le(MAX_TIMEOUT_S)]))
    max_output_bytes: int = field(default=256 * 1024, validator=[ge(1), le(MAX_OUTPUT_BYTES)])


@frozen(kw_only=True, eq=False, repr=False)
class Provenance(Record):
    """Which installed distribution brought a tool; empty for the host's own functions."""

    distribution: str = ""
    version: str = ""
    plugin: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Dependency(Record):
    """Something a tool needs on the machine: a program or a Python package."""

    kind: str
    name: str
    version: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class SecretSlot(Record):
    """A secret that a tool needs, by purpose; ``ref`` is the host's binding, never a value."""

    name: str
    ref: str
    purpose: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class RuntimeToolDescriptor(Record):
    """A callable operation boundary: a capability with schemas, effects and requirements.

    ``digest`` identifies the definition: it covers all fields but itself, ``origin``,
    ``provenance``, ``projections``, ``posture``, ``lifecycle``, ``workspace`` and ``runs_here``
    (design, section 6).
    ``executor_ref`` names what runs: an artifact's digest where there is one, the version of a
    host function.
    ``examples`` are requests that it serves, in the words of those who ask; ``keywords`` are other
    names of it, of its skill, and words that it is looked for by. Both are for discovery.
    ``runs_here`` is the catalogue's word and no part of the definition: false where the lane, or
    what runs the tool, is not installed or was refused. ``lifecycle`` is the state of a frozen
    tool, and empty for every other. A tool with a ``workspace``, which its id names as well, is
    for callers in that workspace alone: for every other caller it is not there.
    """

    id: str
    lane: str
    origin: Origin
    posture: Posture
    version: str
    name: str
    title: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    effects: frozenset[Effect] = frozenset({Effect.UNKNOWN})
    approval: ApprovalRequirement = ApprovalRequirement.NONE
    risk_hints: tuple[str, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    secret_slots: tuple[SecretSlot, ...] = ()
    projections: tuple[str, ...] = ("function_calling",)
    idempotent: bool = False
    limits: Limits = Limits()
    executor_ref: str = ""
    provenance: Provenance = Provenance()
    digest: str = ""
    runs_here: bool = True
    lifecycle: str = ""
    workspace: str | None = None

    @property
    def side_effect_class(self) -> Effect:
        """The strictest effect, as the wire shows it."""
        return max(self.effects, key=EFFECT_ORDER.__getitem__)

    @property
    def projectable(self) -> bool:
        """Whether models may be shown it at all; what is runtime-only never is, whoever asks."""
        return "function_calling" in self.projections and self.id not in RUNTIME_ONLY

    @property
    def readiness(self) -> Readiness:
        """Base readiness, from the definition and what is installed, never from who asks."""
        if Effect.UNKNOWN in self.effects or not self.runs_here:
            return Readiness.CATALOG_ONLY
        if self.projectable:
            return Readiness.MODEL_CALLABLE
        return Readiness.CONTEXT_LOADABLE

    def definition(self) -> dict[str, Any]:
        """Return what the digest covers, as plain JSON."""
        return {
            "id": self.id,
            "lane": self.lane,
            "version": self.version,
            "description": self.description,
            "examples": list(self.examples),
            **({"keywords": list(self.keywords)} if self.keywords else {}),
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "effects": sorted(effect.value for effect in self.effects),
            "approval": self.approval.value,
            "risk_hints": list(self.risk_hints),
            "dependencies": [[d.kind, d.name, d.version] for d in self.dependencies],
            "secret_slots": [[s.name, s.ref, s.purpose] for s in self.secret_slots],
            "limits": [self.limits.timeout_s, self.limits.max_output_bytes],
            "executor": self.executor_ref,
        }

    def with_digest(self, digest: str) -> RuntimeToolDescriptor:
        """Return the same tool carrying the digest of its definition."""
        return evolve(self, digest=digest)

    def _repr_html_(self) -> str:
        from holon_core.render import tool_html

        return tool_html(self)
