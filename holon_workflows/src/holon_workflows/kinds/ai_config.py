"""What the config of an `ai-step` may hold, deterministic and live."""

from __future__ import annotations

from typing import Any

_EXPRESSION = {"type": "string", "minLength": 1, "maxLength": 1000}
_COUNT = {"type": "integer", "minimum": 1, "maximum": 2**53 - 1}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_GATE = {
    "output_class": {"type": "string", "minLength": 1, "maxLength": 200},
    "output_schema": {"type": "object"},
}
_ANSWERS = {
    "recorded": {
        "description": "Answers by the digest of the inputs.",
        "type": "object",
        "propertyNames": {"pattern": "^[0-9a-f]{64}$"},
        "maxProperties": 1000,
    },
    "rules": {
        "description": "The answer of the first rule that holds; it sees the step's own inputs.",
        "type": "array",
        "maxItems": 100,
        "items": _object(["when", "answer"], when=_EXPRESSION, answer={}),
    },
    "answer": {"description": "The answer where nothing else gives one."},
}
_LIVE = {
    "model": {"type": "string", "minLength": 1, "maxLength": 200},
    "base_url": {"type": "string", "pattern": "^https?://", "maxLength": 500},
    "api_key": {"type": "string", "pattern": "^[a-z][a-z0-9_-]*:.+$", "maxLength": 1200},
    "prompt": {"type": "string", "minLength": 1, "maxLength": 20_000},
    "budget": _object(
        [],
        max_attempts={"type": "integer", "minimum": 1, "maximum": 3},
        max_tokens=_COUNT,
        max_output_tokens=_COUNT,
        max_duration_ms=_COUNT,
        max_cost_micros=_COUNT,
    ),
    "price": _object(
        [],
        input_micros_per_token={"type": "number", "minimum": 0},
        output_micros_per_token={"type": "number", "minimum": 0},
    ),
    "fallback": {
        "description": "What then: fail, this answer, or a person who is asked this question.",
        "oneOf": [
            {"const": "fail"},
            _object(["answer"], answer={}),
            _object(
                ["ask"],
                ask={"type": "string", "minLength": 1, "maxLength": 4000},
                assignee={"type": "string", "minLength": 1, "maxLength": 200},
            ),
        ],
    },
}
CONFIG: dict[str, Any] = {
    "type": "object",
    "properties": {"mode": {"enum": ["deterministic", "live"]}, **_ANSWERS, **_LIVE, **_GATE},
    "required": ["mode"],
    "additionalProperties": False,
    "oneOf": [
        _object(
            ["mode"], mode={"const": "deterministic"}, prompt=_LIVE["prompt"], **_ANSWERS, **_GATE
        ),
        _object(
            ["mode", "model", "base_url", "api_key", "prompt"],
            mode={"const": "live"},
            **_LIVE,
            **_GATE,
        ),
    ],
}
