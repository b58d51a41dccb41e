"""What the check of a definition may look up: kinds, tools, other definitions, bridges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.records.finding import Finding
from holon_core.records.words import Severity

if TYPE_CHECKING:
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_workflows.definition.model import Definition
    from holon_workflows.records import NodeKind


@frozen(kw_only=True)
class Checking:
    """What is known around a definition while it is checked."""

    kinds: Mapping[str, NodeKind]
    tool: Callable[[str], RuntimeToolDescriptor | None]
    unknown_tool: Callable[[str], StructuredFailure]
    definition: Callable[[str, str | None], Definition | None]
    definitions: Callable[[], Iterable[str]]
    output_class: Callable[[str], Mapping[str, Any] | None]
    own_id: str = ""
    own_version: str = ""


def wrong(
    code: str, message: str, path: str = "", *, severity: Severity = Severity.ERROR
) -> Finding:
    """Make a finding."""
    return Finding(code=code, message=message, path=path, severity=severity)


def pointer(*parts: str | int) -> str:
    """Write a JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
