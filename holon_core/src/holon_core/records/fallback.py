"""What is offered where a frozen tool can't serve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.words import Word


class FallbackKind(Word):
    """What is offered where a frozen tool can't serve; never taken by itself."""

    AI = "ai_fallback"
    MANUAL = "manual_handoff"
    REGENERATION = "regeneration"
    NONE = "none"


@frozen(kw_only=True, eq=False, repr=False)
class FallbackOffer(Record):
    """What is offered where a frozen tool could not serve; nobody has acted on it."""

    kind: FallbackKind
    who: str
    next_action: str
    instructions: str
    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
