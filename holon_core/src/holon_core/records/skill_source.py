"""Where definitions of skills and tools come from; apart, since every opening reads it."""

from __future__ import annotations

from attrs import frozen

from holon_core.records.base import Record
from holon_core.records.words import Origin, Word


class SkillSourceKind(Word):
    """The kinds of skill source."""

    ELEGY_V2 = "elegy_v2"
    PLUGIN_PACKAGE = "plugin_package"
    LANE = "lane"


@frozen(kw_only=True, eq=False, repr=False)
class SkillSourceDescriptor(Record):
    """A source of skill definitions: one that a plugin offers, or one that was registered."""

    id: str
    kind: SkillSourceKind
    origin: Origin = Origin.IMPORTED_STATE
    title: str = ""
