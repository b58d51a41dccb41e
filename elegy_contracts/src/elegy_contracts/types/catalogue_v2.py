"""Capability catalogues, version 2: the kind of an entry decides its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class CatalogV2CapabilityInvocation:
    """The capability invocation of a catalogue, version 2."""

    command: tuple[str, ...]
    executable: str
    input_schema: Any = UNSET
    optional_args: tuple[str, ...] | Unset = UNSET
    output_schema: Any = UNSET
    required_args: tuple[str, ...] | Unset = UNSET


@frozen(kw_only=True)
class CatalogV2Capability:
    """One capability of a catalogue, version 2."""

    contract_version: str
    description: str
    id: str
    kind: str
    readiness: str
    side_effect_class: str
    invocation: CatalogV2CapabilityInvocation | Unset = UNSET
    output_schema: Mapping[str, Any] | Unset = UNSET
    resource_uri: str | Unset = UNSET
    input_schema: Mapping[str, Any] | Unset = UNSET
    tool_name: str | Unset = UNSET


@frozen(kw_only=True)
class CapabilityCatalogV2:
    """The capabilities of one plugin, version 2."""

    capabilities: tuple[CatalogV2Capability, ...]
    plugin: str
    plugin_version: str
    schema_version: str
    digest: str | Unset | None = UNSET
    generated_at: str | Unset | None = UNSET
