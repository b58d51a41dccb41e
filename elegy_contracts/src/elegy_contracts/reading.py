"""Reading contract data: recognised, made to fit where versions differ, checked, made a record."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from attrs import frozen

from elegy_contracts.engine import findings as schema_findings
from elegy_contracts.finding import ContractError, Finding, Severity, has_errors
from elegy_contracts.model import from_data, to_data
from elegy_contracts.recognising import recognise
from elegy_contracts.repairs import repaired
from elegy_contracts.rules import beyond_schema
from elegy_contracts.spelling import contract_names
from elegy_contracts.strict import canonical, check, parse

# The type of each contract that has one, as its module and its name.
TYPES: Mapping[str, tuple[str, str]] = {
    "skill-definition": ("skill_v1", "SkillDefinitionV1"),
    "skill": ("skill", "SkillDefinition"),
    "capability-definition": ("capability", "CapabilityDefinition"),
    "tool-projection": ("capability", "ToolProjection"),
    "skill-discovery-index": ("discovery", "SkillDiscoveryIndex"),
    "elegy-plugin-package": ("plugin_package", "PluginPackage"),
    "elegy-plugin-readiness-v1": ("plugin_package", "PluginReadiness"),
    "elegy-plugin-lock-v1": ("plugin_package", "PluginLock"),
    "elegy-capability-catalog-v1": ("catalogue_v1", "CapabilityCatalogV1"),
    "elegy-capability-catalog-v2": ("catalogue_v2", "CapabilityCatalogV2"),
    "elegy-package-v1": ("package", "ElegyPackage"),
    "elegy-lock-v1": ("package", "ElegyLock"),
    "elegy-sbom-v1": ("package", "ElegySbom"),
    "elegy-readiness-v1": ("package", "ElegyReadiness"),
    "invocation-request": ("invocation", "InvocationRequest"),
    "invocation-response": ("invocation", "InvocationResponse"),
    "structured-failure": ("invocation", "StructuredFailure"),
    "execution-event": ("invocation", "ExecutionEvent"),
    "canonical-workflow-graph": ("workflow", "WorkflowGraph"),
    "agent-capability-profile": ("profile", "AgentCapabilityProfile"),
    "elegy-cli-envelope": ("cli", "CliEnvelope"),
    "mcp-server-descriptor": ("mcp", "McpServerDescriptor"),
    "mcp-analysis-result": ("mcp", "McpAnalysisResult"),
    "piloting-target-descriptor": ("piloting", "PilotingTargetDescriptor"),
    "piloting-surface-descriptor": ("piloting", "PilotingSurfaceDescriptor"),
    "piloting-adapter-manifest": ("piloting", "PilotingAdapterManifest"),
    "piloting-fixture-pack": ("piloting", "PilotingFixturePack"),
    "memory-add-input": ("memory", "MemoryAddInput"),
    "memory-search-input": ("memory", "MemorySearchInput"),
    "memory-add-result": ("memory", "MemoryAddResult"),
    "memory-search-result": ("memory", "MemorySearchResult"),
    "memory-list-result": ("memory", "MemoryListResult"),
    "memory-inspect-result": ("memory", "MemoryInspectResult"),
    "memory-health-report": ("memory", "MemoryHealthReport"),
    "memory-purge-report": ("memory", "MemoryPurgeReport"),
    "memory-reembed-result": ("memory", "MemoryReembedResult"),
    "memory-contradictions-result": ("memory", "MemoryContradiction"),
    "crystallized-capability": ("crystallized", "CrystallizedCapabilityDefinition"),
}


@frozen(kw_only=True)
class Reading:
    """What reading came to: the contract, its data, and everything that was found.

    ``data`` is in the contract's own spelling, with what was made to fit; of refused data it is
    as far as that went. ``contract`` is empty where it is none that is known.
    """

    contract: str
    data: Any
    findings: tuple[Finding, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether nothing refuses it; there may be warnings."""
        return bool(self.contract) and not has_errors(self.findings)

    @property
    def value(self) -> Any:
        """The record; plain data for contracts without a type of their own.

        Raises:
            ContractError: It is refused.
        """
        if not self.valid:
            raise ContractError(self.contract or "unknown contract", self.findings)
        kind = type_of(self.contract)
        if kind is None:
            return self.data
        if isinstance(self.data, list):
            return tuple(from_data(kind, each) for each in self.data)
        return from_data(kind, self.data)

    def canonical(self) -> bytes:
        """Return the canonical bytes (RFC 8785) of the data."""
        return canonical(self.data)


def type_of(contract: str) -> Any:
    """Return the attrs class of a contract, ``None`` where it has none."""
    if contract not in TYPES:
        return None
    module, name = TYPES[contract]
    return getattr(import_module(f"elegy_contracts.types.{module}"), name)


def examine(contract: str | None, data: Any) -> Reading:
    """Read data whatever is wrong with it; nothing raises on account of the data.

    Args:
        contract: Which contract it should be; ``None`` recognises it.
        data: JSON, as ``strict.parse`` or any JSON reader gives it.
    """
    try:
        check(data)
    except ValueError as error:
        return _refused(contract or "", data, "not_json", str(error))
    contract = contract or recognise(data)
    if contract is None:
        return _refused("", data, "unknown_contract", "no contract of Elegy has this form")
    named, found = contract_names(contract, data)
    if isinstance(named, dict):
        named, told = repaired(contract, named)
        found += told
    errors = schema_findings(contract, named)
    found += errors
    if contract == "invocation-response" and not errors:
        found += _events(named)
    if isinstance(named, dict):
        broken = frozenset(each.path for each in found if each.severity is Severity.ERROR)
        found += beyond_schema(contract, named, broken=broken)
    return Reading(contract=contract, data=named, findings=tuple(found))


def _refused(contract: str, data: Any, code: str, message: str) -> Reading:
    return Reading(contract=contract, data=data, findings=(Finding(code=code, message=message),))


def _events(data: Mapping[str, Any]) -> list[Finding]:
    from attrs import evolve

    found = []
    for at, each in enumerate(data.get("events", ())):
        inner = examine("execution-event", each).findings
        found += [evolve(one, path=f"/events/{at}{one.path}") for one in inner]
    return found


def read(data: Any, *, contract: str | None = None) -> Any:
    """Read data and return its record.

    Args:
        data: JSON, or JSON text as ``str`` or ``bytes``.
        contract: Which contract it has to be; recognised where left out.

    Returns:
        The attrs record of its contract; plain data for contracts without a type.

    Raises:
        ContractError: It is refused; with every finding and its path.
    """
    if isinstance(data, (str, bytes)):
        data = parse(data)
    return examine(contract, data).value


def write(value: Any) -> Any:
    """Return the contract data of a record, in camelCase, without what is absent."""
    return to_data(value)
