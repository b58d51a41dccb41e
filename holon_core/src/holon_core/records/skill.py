"""Skills: where they come from, what they say, and what they bind to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.records.words import Origin, Word


class SkillSourceKind(Word):
    """The kinds of skill source."""

    ELEGY_V2 = "elegy_v2"
    PLUGIN_PACKAGE = "plugin_package"
    LANE = "lane"


@frozen(kw_only=True)
class SkillSourceDescriptor:
    """A registered source of skill definitions."""

    id: str
    kind: SkillSourceKind
    origin: Origin = Origin.IMPORTED_STATE
    title: str = ""


@frozen(kw_only=True)
class SkillDefinitionRecord:
    """A skill as Holon keeps it: identity, discovery and governance metadata, contracts.

    It carries no execution authority, secret material or approval state.
    """

    id: str
    source: str
    version: str
    name: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(factory=dict)
    digest: str = ""


@frozen(kw_only=True)
class CapabilityBindingRecord:
    """How one capability of a skill maps onto a catalogue entry."""

    skill: str
    capability: str
    tool: str
    lane: str
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
