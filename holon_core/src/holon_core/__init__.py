"""Holon governs what AI agents may do: one door for every call, with policy and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holon_core.agents.answering import ToolMessage
    from holon_core.errors import (
        CallFailed,
        HolonError,
        JsonRefused,
        Misuse,
        Refused,
        Rejected,
        RuntimeNotOpen,
        StoreError,
        StructuredFailureKind,
        UsedAfterFork,
        WorkspaceInsideRoot,
    )
    from holon_core.functions.decorator import tool
    from holon_core.guard.sealed import SealedCall
    from holon_core.plugins.host import PluginHost
    from holon_core.plugins.markers import hookimpl, hookspec
    from holon_core.process import ProcessOutcome, resolve_program
    from holon_core.records.agent import AgentProfile, AgentSession, Guardrails, PlanStep
    from holon_core.records.caller import CallerContext
    from holon_core.records.dialect import FunctionDialect, SchemaRules
    from holon_core.records.embedder import Embedder
    from holon_core.records.evidence import EvidenceHead, EvidenceRecord
    from holon_core.records.failure import StructuredFailure, failure
    from holon_core.records.fallback import FallbackKind
    from holon_core.records.finding import Finding
    from holon_core.records.frozen import (
        FrozenState,
        FrozenToolDefinition,
        FrozenToolRecord,
    )
    from holon_core.records.frozen_kind import FrozenTool, FrozenToolKind
    from holon_core.records.gate import GateCall
    from holon_core.records.lane import CapabilityLane, LaneExecutor, SkillSource
    from holon_core.records.operation import Operation
    from holon_core.records.outcome import (
        ExecutorEvidenceDraft,
        ExecutorFailure,
        ExecutorOutcome,
        ExecutorStatus,
        completed,
    )
    from holon_core.records.output import (
        OutputBudget,
        OutputClass,
        OutputFacts,
        OutputGate,
        OutputResult,
    )
    from holon_core.records.policy import PolicyRequest, Verdict
    from holon_core.records.result import ToolResult
    from holon_core.records.secret import SecretProvider
    from holon_core.records.sink import EvidenceSink
    from holon_core.records.skill import (
        CapabilityBindingRecord,
        ImportedCapability,
        ImportedSkill,
        SkillDefinitionRecord,
        SkillLifecycle,
        SkillOutcome,
        SkillState,
    )
    from holon_core.records.skill_source import SkillSourceDescriptor, SkillSourceKind
    from holon_core.records.tool import Dependency, Limits, RuntimeToolDescriptor, SecretSlot
    from holon_core.records.words import (
        ApprovalRequirement,
        Authority,
        Decision,
        Effect,
        LaneKind,
        Origin,
        Posture,
        Severity,
        Status,
    )
    from holon_core.records.workspace import Workspace
    from holon_core.runtime import Runtime
    from holon_core.session import Session
    from holon_core.sinks.jsonl import JsonLinesSink
    from holon_core.sinks.otel import OpenTelemetrySink
    from holon_core.tool_contract import contract_env, process_failure, read_output

# Name to module: loaded when first asked for, so that importing the library costs next to nothing.
_HOMES = {
    "AgentProfile": "records.agent",
    "AgentSession": "records.agent",
    "ApprovalRequirement": "records.words",
    "Authority": "records.words",
    "CallFailed": "errors",
    "CallerContext": "records.caller",
    "CapabilityBindingRecord": "records.skill",
    "CapabilityLane": "records.lane",
    "Decision": "records.words",
    "Dependency": "records.tool",
    "Effect": "records.words",
    "EvidenceHead": "records.evidence",
    "EvidenceRecord": "records.evidence",
    "Embedder": "records.embedder",
    "EvidenceSink": "records.sink",
    "ExecutorEvidenceDraft": "records.outcome",
    "ExecutorFailure": "records.outcome",
    "ExecutorOutcome": "records.outcome",
    "ExecutorStatus": "records.outcome",
    "FallbackKind": "records.fallback",
    "Finding": "records.finding",
    "FrozenState": "records.frozen",
    "FrozenTool": "records.frozen_kind",
    "FrozenToolDefinition": "records.frozen",
    "FrozenToolKind": "records.frozen_kind",
    "FrozenToolRecord": "records.frozen",
    "FunctionDialect": "records.dialect",
    "GateCall": "records.gate",
    "Guardrails": "records.agent",
    "HolonError": "errors",
    "ImportedCapability": "records.skill",
    "ImportedSkill": "records.skill",
    "JsonLinesSink": "sinks.jsonl",
    "JsonRefused": "errors",
    "LaneExecutor": "records.lane",
    "LaneKind": "records.words",
    "Limits": "records.tool",
    "Misuse": "errors",
    "OpenTelemetrySink": "sinks.otel",
    "Operation": "records.operation",
    "Origin": "records.words",
    "OutputBudget": "records.output",
    "OutputClass": "records.output",
    "OutputFacts": "records.output",
    "OutputGate": "records.output",
    "OutputResult": "records.output",
    "PlanStep": "records.agent",
    "PluginHost": "plugins.host",
    "PolicyRequest": "records.policy",
    "Posture": "records.words",
    "ProcessOutcome": "process",
    "Refused": "errors",
    "Rejected": "errors",
    "SchemaRules": "records.dialect",
    "Runtime": "runtime",
    "RuntimeNotOpen": "errors",
    "RuntimeToolDescriptor": "records.tool",
    "SealedCall": "guard.sealed",
    "SecretProvider": "records.secret",
    "SecretSlot": "records.tool",
    "Session": "session",
    "Severity": "records.words",
    "SkillDefinitionRecord": "records.skill",
    "SkillLifecycle": "records.skill",
    "SkillOutcome": "records.skill",
    "SkillSource": "records.lane",
    "SkillSourceDescriptor": "records.skill_source",
    "SkillSourceKind": "records.skill_source",
    "SkillState": "records.skill",
    "Status": "records.words",
    "StoreError": "errors",
    "StructuredFailure": "records.failure",
    "StructuredFailureKind": "errors",
    "ToolMessage": "agents.answering",
    "ToolResult": "records.result",
    "UsedAfterFork": "errors",
    "Verdict": "records.policy",
    "Workspace": "records.workspace",
    "WorkspaceInsideRoot": "errors",
    "completed": "records.outcome",
    "contract_env": "tool_contract",
    "failure": "records.failure",
    "hookimpl": "plugins.markers",
    "hookspec": "plugins.markers",
    "process_failure": "tool_contract",
    "read_output": "tool_contract",
    "resolve_program": "process",
    "tool": "functions.decorator",
}

__all__ = [
    "AgentProfile",
    "AgentSession",
    "ApprovalRequirement",
    "Authority",
    "CallFailed",
    "CallerContext",
    "CapabilityBindingRecord",
    "CapabilityLane",
    "Decision",
    "Dependency",
    "Effect",
    "Embedder",
    "EvidenceHead",
    "EvidenceRecord",
    "EvidenceSink",
    "ExecutorEvidenceDraft",
    "ExecutorFailure",
    "ExecutorOutcome",
    "ExecutorStatus",
    "FallbackKind",
    "Finding",
    "FrozenState",
    "FrozenTool",
    "FrozenToolDefinition",
    "FrozenToolKind",
    "FrozenToolRecord",
    "FunctionDialect",
    "GateCall",
    "Guardrails",
    "HolonError",
    "ImportedCapability",
    "ImportedSkill",
    "JsonLinesSink",
    "JsonRefused",
    "LaneExecutor",
    "LaneKind",
    "Limits",
    "Misuse",
    "OpenTelemetrySink",
    "Operation",
    "Origin",
    "OutputBudget",
    "OutputClass",
    "OutputFacts",
    "OutputGate",
    "OutputResult",
    "PlanStep",
    "PluginHost",
    "PolicyRequest",
    "Posture",
    "ProcessOutcome",
    "Refused",
    "Rejected",
    "Runtime",
    "RuntimeNotOpen",
    "RuntimeToolDescriptor",
    "SchemaRules",
    "SealedCall",
    "SecretProvider",
    "SecretSlot",
    "Session",
    "Severity",
    "SkillDefinitionRecord",
    "SkillLifecycle",
    "SkillOutcome",
    "SkillSource",
    "SkillSourceDescriptor",
    "SkillSourceKind",
    "SkillState",
    "Status",
    "StoreError",
    "StructuredFailure",
    "StructuredFailureKind",
    "ToolMessage",
    "ToolResult",
    "UsedAfterFork",
    "Verdict",
    "Workspace",
    "WorkspaceInsideRoot",
    "completed",
    "contract_env",
    "failure",
    "hookimpl",
    "hookspec",
    "process_failure",
    "read_output",
    "resolve_program",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
