"""The function by which a model finds tools that it was not shown."""

from __future__ import annotations

from typing import Any

SEARCH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1000,
            "description": "What is to be done, in any words.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 20,
            "description": "How many tools at most; 5 where left out.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}
SEARCH_DESCRIPTION = (
    "Find further tools by what they do. The tools it names can be called from the next turn on."
)
LIMIT = 5
