"""Schemas of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12, each with all that it refers to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from holon_adapters.openapi.document import Unresolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_adapters.openapi.document import Document

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Where a schema holds further schemas: one, a list of them, or a map of them.
_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema")  # fmt: skip
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
# What says nothing about values, or is no JSON Schema.
_DROPPED = frozenset(
    {"$anchor", "$comment", "$dynamicAnchor", "$id", "$schema", "deprecated",
     "$recursiveAnchor", "discriminator", "example", "examples", "externalDocs", "nullable",
     "readOnly", "writeOnly", "xml", "$ref", "$defs", "definitions"}
)  # fmt: skip
_DYNAMIC = ("$dynamicRef", "$recursiveRef")
# Formats that are no annotation of use: of numbers, and of what is written otherwise.
_FORMATS = frozenset({"binary", "byte", "double", "float", "int32", "int64", "password"})
_BOUNDS = ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf")
_COUNTS = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_WHOLE = 2**53 - 1
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
MAX_DEPTH = 60
MAX_SHARED = 400
# How long a description inside a schema may be: thousands of them make up a catalogue.
MAX_DESCRIPTION = 600


class Schemas:
    """Converts schemas of one document for one side of its operations.

    Args:
        document: Where references lead.
        hidden: The mark of properties that this side never sees: ``readOnly`` of requests,
            ``writeOnly`` of responses.
    """

    def __init__(self, document: Document, *, hidden: str) -> None:
        self._document = document
        self._hidden = hidden
        self._names: dict[str, str] = {}
        self._made: dict[str, Any] = {}
        self._refers: dict[str, set[str]] = {}
        self._failed: dict[str, Unresolved] = {}
        self._queue: list[tuple[str, Any]] = []
        self._referred: set[str] = set()

    def convert(self, schema: Any) -> tuple[Any, set[str]]:
        """Convert a schema.

        Returns:
            It, and the names of the shared schemas that it refers to, itself or by others.

        Raises:
            Unresolved: A reference leads outside the document or to nothing.
        """
        roots = self._referred = set()
        made = self._at(schema, 0)
        # One after the other, not one inside the other: chains of references are long.
        while self._queue:
            name, target = self._queue.pop()
            self._referred = self._refers[name]
            try:
                self._made[name] = self._at(target, 0)
            except Unresolved as problem:
                self._failed[name] = problem
        return made, self._closure(roots)

    def shared(self, names: set[str]) -> dict[str, Any]:
        """Return shared schemas for ``$defs``."""
        return {name: self._made[name] for name in sorted(names)}

    def declares(self, schema: Any) -> bool:
        """Tell whether a converted schema, or what it consists of, names properties."""
        return self._declares(schema, 0)

    def _declares(self, schema: Any, depth: int) -> bool:
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return False
        if schema.get("properties"):
            return True
        target = self._made.get(schema.get("$ref", "")[8:])
        parts = [target, *(part for key in _LIST[:3] for part in schema.get(key, ()))]
        return any(self._declares(part, depth + 1) for part in parts)

    def _closure(self, names: set[str]) -> set[str]:
        found: set[str] = set()
        work = list(names)
        while work:
            name = work.pop()
            if name in self._failed:
                raise self._failed[name]
            if name not in found:
                found.add(name)
                work += self._refers.get(name, ())
        if len(found) > MAX_SHARED:
            raise Unresolved("schema_limit", f"it refers to more than {MAX_SHARED} other schemas")
        return found

    def _at(self, schema: Any, depth: int) -> Any:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise Unresolved("schema_invalid", "a schema is an object")
        if depth > MAX_DEPTH:
            raise Unresolved("schema_limit", f"schemas nested more than {MAX_DEPTH} deep")
        if any(key in schema for key in _DYNAMIC):
            raise Unresolved("schema_unsupported", "a reference that depends on who refers")
        if "$ref" in schema:
            target = {"$ref": f"#/$defs/{self._shared(schema['$ref'])}"}
            beside = {} if self._document.is_30 else self._members(schema, depth)
            return {**beside, **target}
        made = self._members(schema, depth)
        return _with_null(made) if schema.get("nullable") is True else made

    def _shared(self, ref: Any) -> str:
        target = self._document.at(ref)
        name = self._names.get(ref)
        if name is None:
            name = self._names[ref] = self._free_name(ref)
            self._refers[name] = set()
            self._queue.append((name, target))
        self._referred.add(name)
        return name

    def _free_name(self, ref: str) -> str:
        base = _NAME.sub("-", unquote(ref).rpartition("/")[2])[:80].strip("-") or "schema"
        name, count = base, 1
        while name in self._refers:
            count += 1
            name = f"{base}-{count}"
        return name

    def _members(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED or key.startswith("x-"):
                if key == "x-holon-secret":
                    made[key] = value
            elif key in _ONE:
                made[key] = self._at(value, depth + 1)
            elif key in _LIST and isinstance(value, list):
                made[key] = [self._at(item, depth + 1) for item in value]
            elif key in _MAP and isinstance(value, dict):
                made[key] = self._named(key, value, depth)
            else:
                made[key] = value
        self._drop_hidden(schema, made)
        if schema.get("format") == "password":
            made["x-holon-secret"] = True
        _tidy(made)
        return made

    def _named(self, key: str, schemas: Mapping[str, Any], depth: int) -> dict[str, Any]:
        return {
            name: self._at(each, depth + 1)
            for name, each in schemas.items()
            if not (key == "properties" and self._is_hidden(each))
        }

    def _is_hidden(self, schema: Any) -> bool:
        if isinstance(schema, dict) and "$ref" in schema:
            schema = {**self._document.resolved(schema), **schema}
        return isinstance(schema, dict) and schema.get(self._hidden) is True

    def _drop_hidden(self, schema: Mapping[str, Any], made: dict[str, Any]) -> None:
        properties, required = schema.get("properties"), made.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return
        gone = {name for name, each in properties.items() if self._is_hidden(each)}
        made["required"] = [name for name in required if name not in gone]


def _tidy(made: dict[str, Any]) -> None:
    """Make members mean in 2020-12 what they mean in the document."""
    _tidy_bounds(made)
    if made.get("format") in _FORMATS or not isinstance(made.get("format", ""), str):
        del made["format"]
    if isinstance(made.get("required"), list):
        made["required"] = _unlike(made["required"])
    if made.get("required") == []:
        del made["required"]
    for key in ("default", "const"):
        if key in made and not _sound(made[key]):
            del made[key]
    if isinstance(made.get("enum"), list):
        made["enum"] = _unlike(made["enum"])
    if isinstance(made.get("description"), str):
        made["description"] = made["description"][:MAX_DESCRIPTION]
    if made.get("type") == "file":
        made["type"] = "string"


def _tidy_bounds(made: dict[str, Any]) -> None:
    for exclusive, bound in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
        # In 3.0 it says of the bound beside it that it is no value itself.
        is_flag = isinstance(made.get(exclusive), bool)
        if is_flag and made.pop(exclusive) and bound in made:
            made[exclusive] = made.pop(bound)
    for key in (*_BOUNDS, *_COUNTS):
        # No argument can be beyond this: integers end at ±(2**53-1), counts far below.
        if key in made and not _carries(made[key]):
            del made[key]


def _carries(value: Any) -> bool:
    return not isinstance(value, (int, float)) or -_WHOLE <= value <= _WHOLE


def _sound(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_sound, value.values()))
    return all(map(_sound, value)) if isinstance(value, list) else _carries(value)


def _unlike(values: list[Any]) -> list[Any]:
    """Keep each value of an enumeration once; documents repeat them."""
    kept: list[Any] = []
    for value in values:
        if _sound(value) and not any(type(value) is type(k) and value == k for k in kept):
            kept.append(value)
    return kept


def _with_null(made: dict[str, Any]) -> dict[str, Any]:
    """Let null be taken besides, as 3.0 says by ``nullable``."""
    kind = made.get("type")
    if isinstance(kind, str):
        made = {**made, "type": [kind, "null"]}
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        return made
    said: dict[str, Any] = {
        key: made.pop(key) for key in ("description", "title", "default") if key in made
    }
    return {**said, "anyOf": [made, {"type": "null"}]} if made else said
