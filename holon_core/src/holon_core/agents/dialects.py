"""The five dialects of the core, as data."""

from __future__ import annotations

from holon_core.records.dialect import FunctionDialect, Nullable, SchemaRules
from holon_core.wire.dialects import ALL_KEYWORDS

_OPENAI_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_OPENAI_STRICT = SchemaRules(
    keywords=frozenset(
        {
            *("pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum"),
            *("exclusiveMaximum", "minItems", "maxItems"),
        }
    ),
    formats=_OPENAI_FORMATS,
    strict=True,
    all_required=True,
    closed=True,
    max_depth=10,
    max_text_chars=120_000,
    max_long_enum_chars=15_000,
)
_ANTHROPIC_STRICT = SchemaRules(
    formats=_OPENAI_FORMATS | {"uri"},
    strict=True,
    closed=True,
    max_depth=10,
    max_enum_values=500,
)
_AS_IS = SchemaRules(keywords=ALL_KEYWORDS, as_is=True)
_GEMINI = SchemaRules(
    keywords=frozenset(
        {
            *("pattern", "minimum", "maximum", "minItems", "maxItems"),
            *("minLength", "maxLength", "minProperties", "maxProperties"),
        }
    ),
    formats=frozenset({"date-time", "enum", "float", "double", "int32", "int64"}),
    nullable=Nullable.KEYWORD,
    string_enums=True,
    upper_types=True,
)

OPENAI_RESPONSES = FunctionDialect(
    id="openai-responses",
    tool={
        "type": "function",
        "name": "$name",
        "description": "$description",
        "parameters": "$schema",
        "strict": "$strict",
    },
    call_marks={"type": "function_call"},
    call_name=("name",),
    call_arguments=("arguments",),
    call_id=("call_id",),
    result={"type": "function_call_output", "call_id": "$id", "output": "$text"},
    response_format={
        "format": {"type": "json_schema", "name": "$name", "schema": "$schema", "strict": "$strict"}
    },
    strict=_OPENAI_STRICT,
    lax_format=True,
    loose=_AS_IS,
    max_tools=128,
)
OPENAI_CHAT = FunctionDialect(
    id="openai-chat",
    tool={
        "type": "function",
        "function": {
            "name": "$name",
            "description": "$description",
            "parameters": "$schema",
            "strict": "$strict",
        },
    },
    call_marks={"type": "function"},
    call_name=("function", "name"),
    call_arguments=("function", "arguments"),
    call_id=("id",),
    result={"role": "tool", "tool_call_id": "$id", "content": "$text"},
    response_format={
        "type": "json_schema",
        "json_schema": {"name": "$name", "schema": "$schema", "strict": "$strict"},
    },
    strict=_OPENAI_STRICT,
    lax_format=True,
    loose=_AS_IS,
    max_tools=128,
)
ANTHROPIC = FunctionDialect(
    id="anthropic",
    tool={
        "name": "$name",
        "description": "$description",
        "input_schema": "$schema",
        "strict": "$strict",
    },
    call_marks={"type": "tool_use"},
    call_name=("name",),
    call_arguments=("input",),
    call_id=("id",),
    result={
        "type": "tool_result",
        "tool_use_id": "$id",
        "content": "$text",
        "is_error": "$failed",
    },
    response_format={"format": {"type": "json_schema", "schema": "$schema"}},
    strict=_ANTHROPIC_STRICT,
    loose=_AS_IS,
    property_pattern=r"[A-Za-z0-9_.-]{1,64}",
    max_description=4096,
    max_strict_tools=20,
    max_strict_optional=24,
    max_strict_unions=16,
)
GEMINI = FunctionDialect(
    id="gemini",
    tool={"name": "$name", "description": "$description", "parameters": "$schema"},
    call_name=("name",),
    call_arguments=("args",),
    call_id=("id",),
    result={"function_response": {"id": "$id", "name": "$name", "response": "$value"}},
    loose=_GEMINI,
    property_pattern=r"[A-Za-z_][A-Za-z0-9_]{0,63}",
    max_tools=128,
)
MCP = FunctionDialect(
    id="mcp",
    tool={
        "name": "$name",
        "title": "$title",
        "description": "$description",
        "inputSchema": "$schema",
        "outputSchema": "$output_schema",
        "annotations": "$annotations",
    },
    call_name=("name",),
    call_arguments=("arguments",),
    result={
        "content": [{"type": "text", "text": "$text"}],
        "structuredContent": "$structured",
        "isError": "$unfinished",
    },
    loose=_AS_IS,
    max_description=4096,
)
DIALECTS = {each.id: each for each in (OPENAI_RESPONSES, OPENAI_CHAT, ANTHROPIC, GEMINI, MCP)}
