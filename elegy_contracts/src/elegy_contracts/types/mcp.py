"""Descriptors of MCP servers; none of them says how a server is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class McpServerTool:
    """One tool of a server descriptor."""

    name: str
    description: str | Unset | None = UNSET
    input_schema: Mapping[str, Any] | Unset | None = UNSET


@frozen(kw_only=True)
class McpServerDescriptor:
    """A server and its tools."""

    server_name: str
    transport: str
    tools: tuple[McpServerTool, ...]


@frozen(kw_only=True)
class McpAnalysisTool:
    """The tool of an analysis."""

    name: str
    description: str | Unset | None = UNSET
    input_schema: Mapping[str, Any] | Unset | None = UNSET


@frozen(kw_only=True)
class McpAnalysisExtractedTriggers:
    """One extracted trigger of an analysis."""

    pattern: str
    description: str | Unset | None = UNSET


@frozen(kw_only=True)
class McpAnalysisAnalyses:
    """One analysis of an analysis."""

    tool: McpAnalysisTool
    extracted_triggers: tuple[McpAnalysisExtractedTriggers, ...]
    has_valid_schema: bool


@frozen(kw_only=True)
class McpAnalysisResult:
    """What was found out about the tools of a server."""

    server_name: str
    analyses: tuple[McpAnalysisAnalyses, ...]
