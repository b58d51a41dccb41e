"""Capability catalogues, version 1."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class CatalogV1AppBinding:
    """The app binding of a catalogue, version 1."""

    connector: str
    category: str | Unset | None = UNSET


@frozen(kw_only=True)
class CatalogV1CapabilityInvocation:
    """The capability invocation of a catalogue, version 1."""

    command: tuple[str, ...]
    executable: str
    optional_args: tuple[str, ...] | Unset = UNSET
    required_args: tuple[str, ...] | Unset = UNSET
    tool_name: str | Unset | None = UNSET


@frozen(kw_only=True)
class CatalogV1CapabilityFallback:
    """The capability fallback of a catalogue, version 1."""

    invocation: CatalogV1CapabilityInvocation
    kind: str


@frozen(kw_only=True)
class CatalogV1Capability:
    """One capability of a catalogue, version 1."""

    contract_version: str
    description: str
    id: str
    side_effect_class: str
    app_binding: CatalogV1AppBinding | Unset | None = UNSET
    fallback: CatalogV1CapabilityFallback | Unset | None = UNSET
    input_schema: Any = UNSET
    invocation: CatalogV1CapabilityInvocation | Unset | None = UNSET
    kind: str | Unset = UNSET
    output_schema: Any = UNSET


@frozen(kw_only=True)
class CapabilityCatalogV1:
    """The capabilities of one plugin, version 1."""

    capabilities: tuple[CatalogV1Capability, ...]
    plugin: str
    plugin_version: str
    schema_version: str
    digest: str | Unset | None = UNSET
    generated_at: str | Unset | None = UNSET
