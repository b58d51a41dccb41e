"""The JSON Schema of a definition, `holon-workflow/v1`."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

VERSION = "holon-workflow/v1"
NODE_ID = "^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"
MAX_NODES = 500
MAX_EDGES = 2000
# Seconds: a hundred years; what lies further ahead is a mistake.
MAX_SECONDS = 100 * 366 * 86_400


def _object(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": list(required)} if required else made


def _text(limit: int, **more: Any) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": limit, **more}


_ID = _text(64, pattern=NODE_ID)
_ANY_OBJECT: Schema = {"type": "object"}
EXPRESSION = _text(1000, description="A JMESPath expression on inputs, variables, steps and run.")
INPUT = {
    "description": "Where an input comes from: an expression, or a value as it stands.",
    **_object(
        (),
        **{
            "from": EXPRESSION,
            "optional": {
                "type": "boolean",
                "description": "Leave the input out where the expression gives null.",
            },
            "value": {},
        },
    ),
    "oneOf": [{"required": ["from"]}, {"required": ["value"]}],
    "dependentRequired": {"optional": ["from"]},
}
INPUTS: Schema = {"type": "object", "maxProperties": 200, "additionalProperties": INPUT}
RETRY = _object(
    ("max_attempts",),
    max_attempts={"type": "integer", "minimum": 1, "maximum": 100},
    delay_s={"type": "number", "minimum": 0, "maximum": 86_400},
    backoff={"type": "number", "minimum": 1, "maximum": 10},
    max_delay_s={"type": "number", "minimum": 0, "maximum": 86_400},
)
NODE = _object(
    ("id", "kind"),
    id=_ID,
    kind=_text(64),
    title=_text(200),
    config=_ANY_OBJECT,
    inputs=INPUTS,
    output_schema={"type": ["object", "boolean"]},
    on_failure={
        "description": "What a failure of this step means for the run: stop, continue, or go_to.",
        # Each keyword binds one of the types, so that a finding says what is wrong with it.
        **_object(("go_to",), go_to=_ID),
        "type": ["string", "object"],
        "pattern": "^(stop|continue)$",
    },
    retry=RETRY,
    timeout_s={"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS},
    needs_bridges={"type": "array", "items": _text(200), "maxItems": 20},
    repair=_object(
        ("ai",),
        ai=_ANY_OBJECT,
        max_attempts={"type": "integer", "minimum": 1, "maximum": 3},
    ),
)
EDGE = _object(("from", "to"), **{"from": _ID, "to": _ID})
OUTPUTS: Schema = {"type": "object", "maxProperties": 100, "additionalProperties": EXPRESSION}
GRAPH = _object(
    ("nodes",),
    entry=_ID,
    nodes={"type": "array", "items": NODE, "minItems": 1, "maxItems": MAX_NODES},
    edges={"type": "array", "items": EDGE, "maxItems": MAX_EDGES},
    outputs=OUTPUTS,
)
SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A workflow of governed steps",
    **_object(
        ("schema_version", "id", "version", "nodes"),
        schema_version={"const": VERSION},
        id=_text(200, pattern="^[a-z0-9][a-z0-9._-]*$"),
        version=_text(64, pattern="^[A-Za-z0-9][A-Za-z0-9._+-]*$"),
        title=_text(200),
        description=_text(4000),
        inputs={"type": ["object", "boolean"]},
        variables=_ANY_OBJECT,
        plan_digest=_text(64, pattern="^[0-9a-f]{64}$"),
        **GRAPH["properties"],
    ),
}
