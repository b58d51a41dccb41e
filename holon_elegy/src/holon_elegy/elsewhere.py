"""What each contract that holds no skill is, and where it goes instead."""

from __future__ import annotations

from collections.abc import Mapping

_PACKAGE = "a package's {}, checked with it by plugin-package/register"
_MADE = "what {} made; it is read and checked, and there is nothing to import"

ELSEWHERE: Mapping[str, str] = {
    "agent-capability-profile": "a profile of an agent: agent-capability-profile/import",
    "agent-event-envelope": _MADE.format("a conversation of agents"),
    "agent-request-envelope": _MADE.format("a conversation of agents"),
    "agent-response-envelope": _MADE.format("a conversation of agents"),
    "canonical-workflow": "a workflow; its graph goes to workflow-definition/import-elegy",
    "canonical-workflow-graph": "a workflow: workflow-definition/import-elegy",
    "crystallized-capability": "a frozen tool of another host: crystallized-capability/import",
    "elegy-catalog-entry": "an entry of a shop of packages; get the package, then "
    "plugin-package/register",
    "elegy-cli-envelope": _MADE.format("a program"),
    "elegy-lock-v1": _PACKAGE.format("lock"),
    "elegy-package-v1": "a package, whose catalogue is a file of its own: import that, or the "
    "whole folder or archive by plugin-package/register",
    "elegy-plugin-lock-v1": _PACKAGE.format("lock"),
    "elegy-plugin-package": "a package: register its folder or archive by plugin-package/register",
    "elegy-plugin-readiness-v1": _PACKAGE.format("readiness"),
    "elegy-plugin-v1": "a manifest that names folders; import the skills in them",
    "elegy-plugin-v1-sdk": "a manifest that names folders; import the skills in them",
    "elegy-plugin-v2": "a manifest that names folders; import the skills in them",
    "elegy-plugin-v3": "a manifest that names folders; import the skills in them",
    "elegy-readiness-v1": _PACKAGE.format("readiness"),
    "elegy-sbom-v1": _PACKAGE.format("list of parts"),
    "execution-event": _MADE.format("a run") + " by hand: the mapping takes it in a workflow",
    "governed-memory-record": "a record of memory; it comes in with its memory's own command",
    "governed-memory-record-projection": "a record of memory; it comes in with its memory's own "
    "command",
    "install-receipt": _MADE.format("an installation"),
    "invocation-request": _MADE.format("a caller") + "; call the capability instead",
    "invocation-response": _MADE.format("a run") + " by hand: the mapping takes it from executors",
    "mcp-analysis-result": _MADE.format("an analysis of a server"),
    "mcp-server-descriptor": "a server of MCP: mcp-server/register",
    "mcp-tool-definition": "a tool of an MCP server; it comes in with its server, by "
    "mcp-server/register",
    "observation-event": _MADE.format("an observation"),
    "observation-session": _MADE.format("an observation"),
    "observation-summary": _MADE.format("an observation"),
    "piloting-adapter-manifest": "a part of a package's piloting, which nothing here runs",
    "piloting-fixture-pack": "a part of a package's piloting, which nothing here runs",
    "piloting-surface-descriptor": "a part of a package's piloting, which nothing here runs",
    "piloting-target-descriptor": "a part of a package's piloting, which nothing here runs",
    "structured-failure": _MADE.format("a run") + " by hand: the mapping takes it from executors",
    "summary-only-session-context-envelope": _MADE.format("a conversation of agents"),
    "tool-projection": "a projection of a skill; import the skill",
}
