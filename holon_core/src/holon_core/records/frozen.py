"""Frozen tools: what one is made of, what proves it, and where it stands in its life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from attrs.validators import ge, gt, le, max_len, min_len, optional

from holon_core.errors import StructuredFailureKind
from holon_core.records.base import Record
from holon_core.records.fallback import FallbackKind
from holon_core.records.tool import MAX_OUTPUT_BYTES, MAX_TIMEOUT_S, Dependency, SecretSlot
from holon_core.records.words import ApprovalRequirement, Effect, Status, Word

DEFAULT_TIMEOUT_S = 30.0
K = StructuredFailureKind


class FrozenState(Word):
    """The life of a frozen tool (design; source documents, "Frozen Tool Promotion")."""

    PROPOSED = "proposed"
    CANDIDATE = "candidate"
    VALIDATED = "validated"
    FROZEN = "frozen"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    BLOCKED = "blocked"
    ARCHIVED = "archived"


# In which a tool may run at all, and in which of them each call needs its own approval.
RUNNING_STATES = frozenset(
    {FrozenState.VALIDATED, FrozenState.FROZEN, FrozenState.ACTIVE, FrozenState.DEPRECATED}
)
TRIAL_STATES = frozenset({FrozenState.VALIDATED, FrozenState.FROZEN})
# In which what it is made of may still be changed.
OPEN_STATES = frozenset({FrozenState.PROPOSED, FrozenState.CANDIDATE, FrozenState.VALIDATED})


class FixtureStatus(Word):
    """How a fixture expects a run to end."""

    COMPLETED = "completed"
    FAILED = "failed"


@frozen(kw_only=True, eq=False, repr=False)
class Fallback(Record):
    """What happens when the tool fails: who does what next.

    ``triggers`` are the kinds of failure at which it is offered; a caller's own mistakes are
    none.
    """

    kind: FallbackKind
    who: str = field(default="", validator=max_len(200))
    instructions: str = field(default="", validator=max_len(4000))
    triggers: tuple[StructuredFailureKind, ...] = (
        K.TIMEOUT,
        K.PROCESS_FAILED,
        K.TOOL_FAILED,
        K.INVALID_OUTPUT,
        K.OUTPUT_LIMIT,
        K.CIRCUIT_OPEN,
        K.LIFECYCLE_BLOCKED,
        K.ARTIFACT_NOT_READY,
        K.DEPENDENCY_MISSING,
    )


@frozen(kw_only=True, eq=False, repr=False)
class FrozenPolicy(Record):
    """Side effects, approval requirement and limits of one execution."""

    effects: frozenset[Effect] = field(validator=min_len(1))
    approval: ApprovalRequirement = ApprovalRequirement.NONE
    timeout_s: float = field(default=DEFAULT_TIMEOUT_S, validator=[gt(0), le(MAX_TIMEOUT_S)])
    max_output_bytes: int = field(default=256 * 1024, validator=[ge(1), le(MAX_OUTPUT_BYTES)])


@frozen(kw_only=True, eq=False, repr=False)
class Expectation(Record):
    """What a fixture's run has to come to: an exact output, one of a schema, or a failure."""

    status: FixtureStatus = FixtureStatus.COMPLETED
    output: Any = None
    output_schema: Mapping[str, Any] | None = None
    code: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Fixture(Record):
    """One example that the runtime itself runs: input, what to expect, files of its workspace.

    ``files`` maps relative paths to texts; the run's workspace is a fresh folder that holds
    these and nothing else.
    """

    name: str = field(validator=[min_len(1), max_len(100)])
    input: Mapping[str, Any] = field(factory=dict)
    expect: Expectation = field(factory=Expectation)
    files: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class SourceFile(Record):
    """A file of a tool, by the digest of its bytes; the bytes are kept in the store."""

    path: str
    sha256: str
    size_bytes: int


@frozen(kw_only=True, eq=False, repr=False)
class FrozenToolDefinition(Record):
    """What a frozen tool is made of: all that its digest covers.

    ``content`` is what its kind needs to know (a command, a manifest). ``deterministic`` claims
    that equal input gives equal output. ``derived`` names schemas that were made from recorded
    runs and that no person has tightened yet.
    """

    name: str = field(validator=[min_len(1), max_len(80)])
    kind: str = field(validator=[min_len(1), max_len(64)])
    purpose: str = field(validator=[min_len(1), max_len(2000)])
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    policy: FrozenPolicy
    fallback: Fallback
    fixtures: tuple[Fixture, ...] = ()
    deterministic: bool = False
    content: Mapping[str, Any] = field(factory=dict)
    files: tuple[SourceFile, ...] = ()
    secret_slots: tuple[SecretSlot, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    risk_hints: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class ProvenanceRef(Record):
    """Where a frozen tool comes from: a record of evidence that exists in the store.

    ``kind`` is ``call`` (a guarded call that completed), ``evidence`` (a record that an accepted
    output names), ``structured_output`` (that output) or ``crystallized`` (an imported portable
    definition); the last two by their digest in ``digest``.
    """

    kind: str
    chain: str
    seq: int
    call_id: str = ""
    tool: str = ""
    digest: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class ArtifactRecord(Record):
    """What a kind built of the sources: its digest, by which call, and facts of the kind's own."""

    sha256: str
    call_id: str
    built_at_unix_seconds: int
    facts: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class FixtureResult(Record):
    """What one fixture's run came to, and the evidence of it."""

    name: str
    passed: bool
    status: Status
    call_id: str
    code: str = ""
    why: str = ""
    chain: str = ""
    seqs: tuple[int, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class ValidationRun(Record):
    """All fixtures of one digest, run by the runtime itself; proof of validation if passed."""

    digest: str
    artifact: str = ""
    passed: bool
    at_unix_seconds: int
    by: str
    fixtures: tuple[FixtureResult, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class LifecycleMove(Record):
    """One move that was made: by whom, why, under which approval."""

    source: FrozenState | None
    target: FrozenState
    at_unix_seconds: int
    by: str
    reason: str = ""
    approval_id: str = ""
    approved_by: str = ""
    call_id: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class FrozenToolRecord(Record):
    """A frozen tool of one workspace, from its proposal on.

    ``id`` is that of the tool, ``frozen.<workspace>/<name>~<version>``. ``digest`` covers the
    definition and nothing else. ``revision`` counts every change of this record.
    ``secrets_bound_by`` is the operator who proposed it, whose word every reference of a secret
    has; without one only names that ``holon.toml`` binds are fetched.
    """

    id: str
    workspace: str
    name: str
    version: int
    state: FrozenState
    definition: FrozenToolDefinition
    digest: str
    proposed_by: str
    created_at_unix_seconds: int
    provenance: tuple[ProvenanceRef, ...] = ()
    artifact: ArtifactRecord | None = None
    validation: ValidationRun | None = None
    moves: tuple[LifecycleMove, ...] = ()
    replaces: str = ""
    secrets_bound_by: str = ""
    revision: int = field(default=0, validator=ge(0))
    blocked_reason: str | None = field(default=None, validator=optional(max_len(2000)))

    @property
    def executor_ref(self) -> str:
        """What runs: the digest of the definition and, where there is one, of the artifact."""
        built = "" if self.artifact is None else f"+{self.artifact.sha256}"
        # What was approved before a block covers nothing after it was lifted.
        lifted = sum(move.source is FrozenState.BLOCKED for move in self.moves)
        return f"{self.definition.kind}:{self.digest}{built}" + (f"#{lifted}" if lifted else "")

    @property
    def proven(self) -> bool:
        """Whether the runtime ran and passed the fixtures of exactly this digest and artifact."""
        run = self.validation
        built = "" if self.artifact is None else self.artifact.sha256
        return (
            run is not None
            and run.passed
            and bool(run.fixtures)
            and (run.digest, run.artifact) == (self.digest, built)
        )
