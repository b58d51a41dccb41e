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


def _hints(**properties: Any) -> dict[str, Any]:
    """Make hints, of which at least one says something."""
    said = [{"required": [name], "properties": {name: {"minItems": 1}}} for name in properties]
    return {**_object([], **properties), "anyOf": said}


# The words are those of the descriptors of piloting.
_ID = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"}
_PLATFORM = {"type": "string", "enum": ["windows", "macos", "linux", "browser"]}
_SURFACE = {"type": "string", "enum": ["ui", "api", "browser", "desktop"]}
_STABILITY = {"type": "string", "enum": ["experimental", "volatile", "stable", "pinned"]}
FORMS: dict[str, dict[str, Any]] = {
    "target-descriptor": {
        **_object(
            ["id", "product_name", "version_range", "platforms"],
            id=_ID,
            product_name=_text(),
            version_range=_text(),
            platforms={
                "type": "array",
                "items": _PLATFORM,
                "minItems": 1,
                "maxItems": 4,
                "uniqueItems": True,
            },
            launch_hints=_hints(executables=_texts(), arguments=_texts(), urls=_texts()),
            attach_hints=_hints(
                process_names=_texts(), window_titles=_texts(), surface_urls=_texts()
            ),
        ),
        "anyOf": [{"required": ["launch_hints"]}, {"required": ["attach_hints"]}],
    },
    "surface-map": _object(
        ["id", "target", "surfaces"],
        id=_ID,
        target=_ID,
        surfaces={
            "type": "array",
            "minItems": 1,
            "maxItems": 200,
            "items": {
                **_object(
                    ["id", "surface_kind", "stability"],
                    id=_ID,
                    surface_kind=_SURFACE,
                    stability=_STABILITY,
                    selectors={
                        "type": "array",
                        "minItems": 1,
                        "maxItems": 100,
                        "items": _object(
                            ["strategy", "value"],
                            strategy=_text(50),
                            value=_text(1000),
                            description=_text(500),
                        ),
                    },
                    semantic_anchors={**_texts(), "minItems": 1},
                ),
                "anyOf": [{"required": ["selectors"]}, {"required": ["semantic_anchors"]}],
            },
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
