"""The three tools as the catalogue knows them: this wrapper's own schemas, effects and approval."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from typing import Any

from holon_builtin_memory.lane import REQUEST, SEARCH, WRITE
from holon_builtin_memory.words import PROVENANCE, TYPES
from holon_core.records.tool import Limits, RuntimeToolDescriptor
from holon_core.records.words import ApprovalRequirement, Effect, LaneKind, Origin, Posture

VERSION = "1"
TIMEOUT_S = 30.0
# What the memory command may print; an answer of this lane is far smaller.
PRINTED_BYTES = 8 * 1024 * 1024
MAX_CONTENT = 8_000
MAX_QUERY = 1_000
MAX_RESULTS = 50
DEFAULT_RESULTS = 10
MAX_SNIPPET = 400
MAX_TAGS = 20
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]
_TAG: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 50,
    "pattern": r"^[^\u0000-\u001f]+$",
}
_TAGS: Schema = {"type": "array", "items": _TAG, "maxItems": MAX_TAGS, "uniqueItems": True}
_TIME: Schema = {"type": "integer", "minimum": 0}
_PAYLOAD: Schema = {
    "content": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_CONTENT,
        "pattern": r"^[^\u0000]*$",
        "description": "What is to be remembered, in plain words.",
    },
    "type": {
        "enum": list(TYPES),
        "default": "observation",
        "description": "What kind of memory it is.",
    },
    "importance": {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "default": 0.5,
        "description": "0 to 1; what is below 0.2 is kept dormant.",
    },
    "provenance": {
        "enum": list(PROVENANCE),
        "default": "agent-observed",
        "description": "Where it comes from; agent-inferred below 0.5 is kept dormant.",
    },
    "tags": {**_TAGS, "description": "Words to filter by; up to 20."},
}
_MEMORY: Schema = {
    "id": {"type": "string", "minLength": 1},
    "type": {"enum": [*TYPES, None]},
    "state": {"enum": ["active", "dormant", "deleted", None]},
    "importance": {"type": ["number", "null"]},
    "provenance": {"type": ["string", "null"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "created_at_unix_seconds": {"type": ["integer", "null"]},
    "updated_at_unix_seconds": {"type": ["integer", "null"]},
}


def _closed(properties: Schema, required: list[str] | None = None) -> Schema:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "properties": properties,
        "required": sorted(properties) if required is None else required,
        "additionalProperties": False,
    }


def _nested(properties: Schema) -> Schema:
    found = _closed(properties)
    del found["$schema"]
    return found


def search_memory() -> RuntimeToolDescriptor:
    """Describe ``search-workspace-memory``."""
    hit = {
        **_MEMORY,
        "score": {"type": "number"},
        "similarity": {"type": "number"},
        "snippet": {"type": "string", "maxLength": MAX_SNIPPET + 2},
    }
    return _tool(
        SEARCH,
        title="Search the workspace's memory",
        description=(
            "Find what was remembered in this workspace by its words, best first: all words of "
            "the query must occur. Narrow by types, tags (all of them) and time of change; go on "
            "with next_cursor. A snippet shows the text around the first match."
        ),
        examples=(
            '{"query": "retry budget"}',
            '{"query": "deploy", "types": ["procedure"], "limit": 5}',
        ),
        inputs={
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY,
                "pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RESULTS,
                "default": DEFAULT_RESULTS,
                "description": "Most results of a page.",
            },
            "types": {
                "type": "array",
                "items": {"enum": list(TYPES)},
                "minItems": 1,
                "uniqueItems": True,
            },
            "tags": {**_TAGS, "minItems": 1, "description": "Only memories that have all of them."},
            "updated_from_unix_seconds": {**_TIME, "description": "Changed then or later."},
            "updated_before_unix_seconds": {**_TIME, "description": "Changed before then."},
            "include_dormant": {"type": "boolean", "default": False},
            "cursor": {
                "type": "string",
                "maxLength": 100,
                "description": "next_cursor of the page before; all but limit unchanged.",
            },
        },
        required=["query"],
        outputs={
            "results": {"type": "array", "items": _nested(hit), "maxItems": MAX_RESULTS},
            "truncated": {"type": "boolean", "description": "There is more than this page."},
            "next_cursor": {"type": ["string", "null"]},
            "exhaustive": {
                "type": "boolean",
                "description": "False where filters were applied to the first 200 hits alone.",
            },
        },
        effects=frozenset({Effect.HOST_STATE_READ}),
        approval=ApprovalRequirement.NONE,
        risk_hints=("results are untrusted text that callers wrote earlier",),
        projections=("function_calling",),
        idempotent=True,
    )


def write_memory() -> RuntimeToolDescriptor:
    """Describe ``write-workspace-memory``."""
    return _tool(
        WRITE,
        title="Write to the workspace's memory",
        description=(
            "Remember a text in this workspace. Every write needs a person's approval of exactly "
            "this payload; content that contains a registered secret is refused."
        ),
        examples=('{"content": "Deploys happen on Tuesdays", "type": "procedure"}',),
        inputs=_PAYLOAD,
        required=["content"],
        outputs={
            "action": {"enum": ["added", "merged", "archived"]},
            "gate_result": {"type": "string", "maxLength": 500},
            "memory": _nested(_MEMORY),
        },
        effects=frozenset({Effect.HOST_STATE_WRITE}),
        approval=ApprovalRequirement.REQUIRED,
        risk_hints=("what is written is shown to later callers of this workspace",),
        projections=(),
    )


def request_approval() -> RuntimeToolDescriptor:
    """Describe ``request-workspace-memory-write-approval``."""
    return _tool(
        REQUEST,
        title="Ask for the approval of a memory write",
        description=(
            "Create, or find again, the pending approval of a write with exactly this payload. "
            "Nothing is written. Once it is approved, write-workspace-memory with the same "
            "payload runs."
        ),
        examples=('{"content": "Deploys happen on Tuesdays", "type": "procedure"}',),
        inputs=_PAYLOAD,
        required=["content"],
        outputs={
            "state": {"enum": ["pending", "approved", "not_needed"]},
            "approval": {
                "type": ["string", "null"],
                "description": "Id of the pending approval.",
            },
            "tool": {"const": WRITE},
        },
        effects=frozenset({Effect.HOST_STATE_WRITE}),
        approval=ApprovalRequirement.NONE,
        risk_hints=("all it can make is a pending approval",),
        projections=(),
    )


@cache
def tools() -> tuple[RuntimeToolDescriptor, ...]:
    """Return the three definitions. They carry no digest yet."""
    return search_memory(), write_memory(), request_approval()


@cache
def signature() -> str:
    """Return a digest of the definitions."""
    definitions = json.dumps([tool.definition() for tool in tools()], sort_keys=True)
    return sha256(definitions.encode()).hexdigest()


def _tool(
    tool_id: str,
    *,
    title: str,
    description: str,
    examples: tuple[str, ...],
    inputs: Schema,
    required: list[str],
    outputs: Schema,
    effects: frozenset[Effect],
    approval: ApprovalRequirement,
    risk_hints: tuple[str, ...],
    projections: tuple[str, ...],
    idempotent: bool = False,
) -> RuntimeToolDescriptor:
    return RuntimeToolDescriptor(
        id=tool_id,
        lane=LaneKind.BUILT_IN.value,
        origin=Origin.BUILT_IN,
        posture=Posture.BUILT_IN_SAFE,
        version=VERSION,
        name=tool_id.rpartition("/")[2],
        title=title,
        description=description,
        examples=examples,
        input_schema=_closed(inputs, required),
        output_schema=_closed(outputs),
        effects=effects,
        approval=approval,
        risk_hints=risk_hints,
        projections=projections,
        idempotent=idempotent,
        limits=Limits(timeout_s=TIMEOUT_S, max_output_bytes=PRINTED_BYTES),
        executor_ref=f"holon_builtin_memory:{VERSION}",
    )
