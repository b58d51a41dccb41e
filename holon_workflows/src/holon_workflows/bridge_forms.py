"""The forms of what bridges consist of, near the descriptors of piloting in the Elegy contracts."""

from __future__ import annotations

from typing import Any


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _text(limit: int = 200) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": limit}


def _texts(limit: int = 500) -> dict[str, Any]:
    return {"type": "array", "items": _text(limit), "maxItems": 100}


_ID = {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,99}$"}
FORMS: dict[str, dict[str, Any]] = {
    "target-descriptor": _object(
        ["id", "product_name", "version_range", "platforms"],
        id=_ID,
        product_name=_text(),
        version_range=_text(),
        platforms=_texts(50),
        launch_hints=_object([], executables=_texts(), arguments=_texts(), urls=_texts()),
        attach_hints=_object(
            [], process_names=_texts(), window_titles=_texts(), surface_urls=_texts()
        ),
    ),
    "surface-map": _object(
        ["id", "target", "surfaces"],
        id=_ID,
        target=_ID,
        surfaces={
            "type": "array",
            "minItems": 1,
            "maxItems": 200,
            "items": _object(
                ["id", "surface_kind", "stability"],
                id=_ID,
                surface_kind=_text(50),
                stability=_text(50),
                selectors={
                    "type": "array",
                    "maxItems": 100,
                    "items": _object(
                        ["strategy", "value"],
                        strategy=_text(50),
                        value=_text(1000),
                        description=_text(500),
                    ),
                },
                semantic_anchors=_texts(),
            ),
        },
    ),
    "bridge-binding": _object(
        ["id", "surface_map"],
        id=_ID,
        surface_map=_ID,
        description=_text(2000),
        needs={"type": "array", "items": _ID, "maxItems": 20},
        max_age_s={"type": "number", "exclusiveMinimum": 0, "maximum": 86_400},
    ),
    "bridge-session": _object(
        ["id", "binding", "status"],
        id=_ID,
        binding=_ID,
        status={"enum": ["starting", "ready", "busy", "lost"]},
        endpoint=_text(500),
        note=_text(2000),
    ),
}
