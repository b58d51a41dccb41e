"""A call as the gates of its lane see it."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.caller import CallerContext
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Posture
from holon_core.records.workspace import Workspace


@frozen(kw_only=True, eq=False, repr=False)
class GateCall(Record):
    """A call as a gate of its lane sees it.

    ``arguments`` are a copy of the gate's own, normalised and valid; a discovery asks with none.
    ``workspace`` is ``None`` outside of one.
    """

    tool: RuntimeToolDescriptor
    caller: CallerContext
    arguments: dict[str, Any] = field(repr=False)
    posture: Posture
    workspace: Workspace | None = None
