"""The schemas of the seven classes of structured output."""

from __future__ import annotations

from typing import Any

from holon_core.errors import StructuredFailureKind
from holon_core.records.words import ApprovalRequirement, Effect

Schema = dict[str, Any]

FALLBACKS = ("ai_fallback", "manual_handoff", "regeneration", "none")
STEP_FALLBACKS = ("deterministic_answer", "human_gate", "fail")
INTERPRETERS = ("python3", "sh", "bash", "node")
REPAIRS = ("retry", "call", "answer", "manual_handoff", "regenerate", "fail")


def _object(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": list(required)} if required else made


def _text(limit: int = 4000, **more: Any) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": limit, **more}


def _list(items: Schema, *, least: int = 0, most: int = 200) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _choice(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _count(least: int = 0) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": 2**53 - 1}


_NAME = _text(64, pattern="^[a-z0-9][a-z0-9_-]*$")
_TOOL = _text(400)
_ANY_OBJECT: Schema = {"type": "object"}
_EVIDENCE = _object(("chain", "seq"), chain=_text(200), seq=_count(1))
_EFFECTS = _list(_choice(*(effect.value for effect in Effect)), least=1, most=len(Effect))
_DIGEST = _text(64, pattern="^[0-9a-f]{64}$")
_FAILURE = _object(
    ("kind", "code", "message"),
    kind=_choice(*(kind.value for kind in StructuredFailureKind)),
    code=_text(100),
    message=_text(),
    details=_ANY_OBJECT,
)
_FALLBACK = _object(
    ("policy",), policy=_choice(*FALLBACKS), triggers=_list(_text(100)), note=_text()
)

PLANNER_OUTPUT = _object(
    ("goal", "steps"),
    goal=_text(),
    steps=_list(
        _object(
            ("id", "summary"),
            id=_NAME,
            summary=_text(),
            tool=_TOOL,
            arguments=_ANY_OBJECT,
            instruction=_text(20_000),
            question=_text(),
            depends_on=_list(_NAME),
            allowed_tools=_list(_TOOL),
            output_schema=_ANY_OBJECT,
        ),
        least=1,
    ),
    assumptions=_list(_text()),
    risks=_list(_text()),
)
REVIEWER_OUTPUT = _object(
    ("verdict", "summary", "findings"),
    verdict=_choice("approve", "request_changes", "reject"),
    summary=_text(),
    plan_digest=_DIGEST,
    findings=_list(
        _object(
            ("severity", "message"),
            severity=_choice("error", "warning", "note"),
            message=_text(),
            path=_text(1000),
            step=_NAME,
        )
    ),
)
TOOL_RESULT: Schema = _object(
    ("status",),
    status=_choice("completed", "failed", "blocked"),
    output={},
    failure=_FAILURE,
)
AI_STEP_RESULT = _object(
    ("output", "attempts", "usage", "fallback"),
    output={},
    model=_text(200),
    attempts=_count(1),
    usage=_object(
        ("input_tokens", "output_tokens", "duration_ms"),
        input_tokens=_count(),
        output_tokens=_count(),
        duration_ms=_count(),
        cost_micros=_count(),
    ),
    fallback=_object(
        ("policy", "used"),
        policy=_choice(*STEP_FALLBACKS),
        used={"type": "boolean"},
        reason=_text(),
    ),
)
_FIXTURE = _object(
    ("name", "input", "expect"),
    name=_text(100),
    input=_ANY_OBJECT,
    expect=_object(
        ("status",),
        status=_choice("completed", "failed"),
        output={},
        output_schema=_ANY_OBJECT,
    ),
    files={"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 100},
)
SCRIPT_ARTIFACT_PROPOSAL = _object(
    ("name", "purpose", "inputs", "outputs", "command", "files", "side_effects", "validation"),
    name=_NAME,
    purpose=_text(),
    inputs=_ANY_OBJECT,
    outputs=_ANY_OBJECT,
    command=_list(_text(1000), least=2, most=50),
    files={
        "type": "object",
        "additionalProperties": {"type": "string", "maxLength": 262_144},
        "minProperties": 1,
        "maxProperties": 100,
    },
    side_effects=_EFFECTS,
    approval=_choice(*(each.value for each in ApprovalRequirement)),
    secrets=_list(_object(("name", "purpose"), name=_text(100), purpose=_text()), most=20),
    fallback=_FALLBACK,
    validation=_list(_FIXTURE, least=1),
)
FROZEN_TOOL_PROPOSAL = _object(
    (
        "name",
        "kind",
        "purpose",
        "input_schema",
        "output_schema",
        "provenance",
        "validation_evidence",
        "policy",
        "fallback",
    ),
    name=_NAME,
    kind=_text(64, pattern="^[a-z0-9][a-z0-9._-]*$"),
    purpose=_text(),
    input_schema=_ANY_OBJECT,
    output_schema=_ANY_OBJECT,
    provenance=_object(
        ("evidence",),
        runs=_list(_text(200)),
        evidence=_list(_EVIDENCE, least=1),
    ),
    validation_evidence=_list(_EVIDENCE, least=1),
    policy=_object(
        ("effects", "approval"),
        effects=_EFFECTS,
        approval=_choice(*(each.value for each in ApprovalRequirement)),
    ),
    fallback=_FALLBACK,
    implementation=_ANY_OBJECT,
)
REPAIR_FALLBACK_PROPOSAL = _object(
    ("step", "failure", "action", "reason"),
    step=_text(200),
    failure=_object(
        ("kind", "code"),
        kind=_choice(*(kind.value for kind in StructuredFailureKind)),
        code=_text(100),
    ),
    action=_choice(*REPAIRS),
    reason=_text(),
    tool=_TOOL,
    arguments=_ANY_OBJECT,
    output={},
)
