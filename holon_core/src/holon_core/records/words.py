"""Closed word lists that cross the wire: one enum a concept."""

from enum import Enum


class Word(str, Enum):
    """A closed choice whose text is what goes over the wire."""

    __str__ = str.__str__
    # As quick as a text's and equal to it; an enum's own hash is a Python function.
    __hash__ = str.__hash__
    __format__ = str.__format__  # type: ignore[assignment]


class Status(Word):
    """How a governed call ended for its caller (design, section 4)."""

    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"


class Severity(Word):
    """How much a finding matters: an error keeps its subject out, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Effect(Word):
    """What a tool may touch (design, section 6), from harmless to unknown."""

    NONE = "none"
    WORKSPACE_READ = "workspace_read"
    HOST_STATE_READ = "host_state_read"
    MACHINE_READ = "machine_read"
    NETWORK_READ = "network_read"
    WORKSPACE_WRITE = "workspace_write"
    HOST_STATE_WRITE = "host_state_write"
    MACHINE_WRITE = "machine_write"
    NETWORK_WRITE = "network_write"
    PROCESS = "process"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


# Strictness is the order of declaration: `side_effect_class` on the wire is the highest member.
EFFECT_ORDER: dict[Effect, int] = {effect: rank for rank, effect in enumerate(Effect)}
READ_ONLY: frozenset[Effect] = frozenset(
    {
        Effect.NONE,
        Effect.WORKSPACE_READ,
        Effect.HOST_STATE_READ,
        Effect.MACHINE_READ,
        Effect.NETWORK_READ,
    }
)


class LaneKind(Word):
    """The lane kinds that Holon itself reserves (design, section 3)."""

    BUILT_IN = "built_in"
    HOST = "host"
    ELEGY = "elegy"
    PLUGIN_PACKAGE = "plugin_package"
    MCP = "mcp"
    SCRIPT_ARTIFACT = "script-artifact"
    RUST_CODE_TOOL = "rust-code-tool"
    ADAPTER = "adapter"


class Posture(Word):
    """Under which authority a call runs; part of every policy request and record."""

    BUILT_IN_SAFE = "built_in_safe"
    HOST_FUNCTION = "host_function"
    MODEL_INVOKED = "model_invoked"
    ADAPTER_FORWARDED = "adapter_forwarded"
    ADAPTER_LIVE = "adapter_live"
    PLUGIN_PACKAGE_LIVE = "plugin_package_live"
    FROZEN_TOOL_LIVE = "frozen_tool_live"
    LANE_LIVE = "lane_live"
    DRY_RUN = "dry_run"


class Surface(Word):
    """Through which door a caller came."""

    RUNTIME = "runtime"
    FUNCTION_CALLING = "function_calling"
    WORKFLOW = "workflow"


class Decision(Word):
    """What a policy says of a call; the strictest of all answers wins."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Origin(Word):
    """Where a catalogue entry comes from."""

    HOST = "host"
    BUILT_IN = "built_in"
    PLUGIN = "plugin"
    IMPORTED_STATE = "imported_state"
    REGISTERED = "registered"
    FROZEN = "frozen"


class Readiness(Word):
    """Base readiness, the only kind that `runtime-tool/list` knows."""

    CATALOG_ONLY = "catalog_only"
    CONTEXT_LOADABLE = "context_loadable"
    MODEL_CALLABLE = "model_callable"


class Availability(Word):
    """Whether a caller could call a tool now; only discovery says it, never a listing."""

    EXECUTABLE = "executable"
    BLOCKED = "blocked"


class ApprovalRequirement(Word):
    """Whether a tool itself insists on an approval, whatever policy says."""

    NONE = "none"
    REQUIRED = "required"

    @staticmethod
    def told(value: object) -> str:
        """Say for people what a tool itself requires; policy may ask whatever that is."""
        return "an approval" if value == ApprovalRequirement.REQUIRED else "no approval"


class ApprovalState(Word):
    """The life of an approval; `pending` and `approved` are the only unspent ones."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    REVOKED = "revoked"
    CONSUMED = "consumed"
    EDITED = "edited"


class HeldState(Word):
    """The life of a held call."""

    HELD = "held"
    RELEASED = "released"
    DENIED = "denied"
    REPLACED = "replaced"
    WITHDRAWN = "withdrawn"


class Authority(Word):
    """Who may use an operation (design, section 6, "Authority")."""

    CALLER = "caller"
    OPERATOR = "operator"
    APPROVER = "approver"
