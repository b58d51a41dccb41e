"""Codecs of pydantic models; pydantic is used where a model brings it, never imported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holon_core.functions.codec import (
    JSON_KINDS,
    ArgumentRefused,
    Codec,
    Convert,
    Unsupported,
    plain,
)

if TYPE_CHECKING:
    from holon_core.functions.hints import Compiler

_REFERENCE = "#/$defs/{model}"
# Texts of these kinds are the model author's own and may hold the value.
_AUTHORED = frozenset({"value_error", "assertion_error"})


def is_model(cls: Any) -> bool:
    """Tell a pydantic model (of pydantic 2) by what it can do."""
    return isinstance(cls, type) and all(
        hasattr(cls, name) for name in ("model_json_schema", "model_validate_json", "model_dump")
    )


def _close(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def _document(cls: Any, *, output: bool, suffix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a model's schema: its own body, and its definitions under suffixed names."""
    try:
        document = cls.model_json_schema(
            mode="serialization" if output else "validation",
            ref_template=_REFERENCE + suffix,
        )
    except Exception as error:
        kind = type(error).__name__
        raise Unsupported(f"{cls.__name__} has no JSON Schema ({kind}: {error})") from error
    definitions = {
        f"{name}{suffix}": _close(body) for name, body in document.pop("$defs", {}).items()
    }
    return _close(document), definitions


def _body(compiler: Compiler, cls: Any) -> dict[str, Any]:
    number = 1
    body, definitions = _document(cls, output=compiler.output, suffix="")
    while not compiler.definitions.adopt(definitions):
        number += 1
        body, definitions = _document(cls, output=compiler.output, suffix=f"_{number}")
    if "$ref" in body:  # a model that names itself
        beside = {key: value for key, value in body.items() if key != "$ref"}
        body = {**definitions[body["$ref"].rpartition("/")[2]], **beside}
    return body


def _refusal(error: Any, cls: type) -> ArgumentRefused:
    """Say what pydantic refused, and where, without the value."""
    listed = getattr(error, "errors", None)
    if listed is None:
        return ArgumentRefused(f"{cls.__name__} refuses the value ({type(error).__name__})")
    first = listed()[0]
    text = first["type"] if first["type"] in _AUTHORED else f"{first['type']}: {first['msg']}"
    refusal = ArgumentRefused(f"{cls.__name__} refuses the value ({text})")
    for step in reversed(first["loc"]):
        refusal = refusal.under(step)
    return refusal


def _load(cls: Any) -> Convert:
    def load(value: Any) -> Any:
        try:
            # Strict and from text: enums and dates are read, nothing is coerced.
            return cls.model_validate_json(json.dumps(value), strict=True)
        except Exception as error:
            raise _refusal(error, cls) from error

    return load


def model_codec(compiler: Compiler, cls: Any) -> Codec:
    """Make the codec of a pydantic model.

    Raises:
        Unsupported: pydantic itself cannot describe the model.
    """
    body = _body(compiler, cls)
    is_object = body.get("type") == "object"
    load = _load(cls)

    def match(value: Any) -> bool:
        try:
            load(value)
        except ArgumentRefused:
            return False
        return True

    def owns(value: Any) -> bool:
        return isinstance(value, cls)

    def dump(value: Any) -> Any:
        if not owns(value):
            return plain(value)
        return value.model_dump(mode="json", by_alias=True, warnings=False)

    return Codec(
        schema=body,
        kinds=frozenset({dict}) if is_object else JSON_KINDS,
        match=match,
        owns=owns,
        load=load,
        dump=dump,
        is_object=is_object,
    )
