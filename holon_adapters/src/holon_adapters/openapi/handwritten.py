"""Descriptors written by hand, `holon-adapter/v1`: checked whole, then read as a document."""

from __future__ import annotations

from typing import Any

from holon_core.errors import Rejected
from holon_core.records.finding import Finding
from holon_core.records.words import Effect
from holon_core.wire.canonical import digest
from holon_core.wire.schema_engine import compiled

VERSION = "holon-adapter/v1"
_WORDS = [e.value for e in Effect if e not in (Effect.UNKNOWN, Effect.NONE)]
_TEXT = {"type": "string", "minLength": 1, "maxLength": 2000}
_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_SCHEMA = {"type": ["object", "boolean"]}
_CONTENT = {
    "type": "object",
    "properties": {"content_type": _NAME, "schema": _SCHEMA, "required": {"type": "boolean"}},
    "additionalProperties": False,
}
_PARAMETER = {
    "type": "object",
    "properties": {
        "name": _NAME,
        "in": {"enum": ["path", "query", "header", "cookie"]},
        "required": {"type": "boolean"},
        "description": _TEXT,
        "style": _NAME,
        "explode": {"type": "boolean"},
        "schema": _SCHEMA,
    },
    "required": ["name", "in"],
    "additionalProperties": False,
}
_OPERATION = {
    "type": "object",
    "properties": {
        "id": _NAME,
        "method": {"enum": ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]},
        "path": {"type": "string", "pattern": "^/", "maxLength": 2000},
        "title": _TEXT,
        "description": _TEXT,
        "examples": {"type": "array", "items": _TEXT, "maxItems": 3},
        "parameters": {"type": "array", "items": _PARAMETER, "maxItems": 100},
        "body": _CONTENT,
        "responses": {
            "type": "object",
            "propertyNames": {"pattern": "^2([0-9]{2}|XX)$"},
            "additionalProperties": _CONTENT,
            "minProperties": 1,
        },
        "effects": {"type": "array", "items": {"enum": _WORDS}, "minItems": 1},
        "secrets": {"type": "array", "items": _NAME, "maxItems": 10},
        "idempotency_header": _NAME,
    },
    "required": ["id", "method", "path", "description", "responses"],
    "additionalProperties": False,
}
_SECRET = {
    "type": "object",
    "properties": {
        "in": {"enum": ["header", "query", "cookie"]},
        "name": _NAME,
        "scheme": {"enum": ["bearer", "basic"]},
    },
    "additionalProperties": False,
    "oneOf": [{"required": ["in", "name"]}, {"required": ["scheme"]}],
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "adapter": {"const": VERSION},
        "title": _TEXT,
        "version": _NAME,
        "server": {"type": "string", "pattern": "^https?://", "maxLength": 500},
        "secrets": {"type": "object", "additionalProperties": _SECRET},
        "operations": {"type": "array", "items": _OPERATION, "minItems": 1, "maxItems": 1000},
        "schemas": {"type": "object", "additionalProperties": _SCHEMA},
    },
    "required": ["adapter", "operations"],
    "additionalProperties": False,
}


def as_openapi(data: dict[str, Any]) -> dict[str, Any]:
    """Turn a descriptor into the OpenAPI 3.1 document that says the same.

    Raises:
        Rejected: It breaks the form, with every place; or an id, or a method and path, twice.
    """
    errors = compiled(SCHEMA, digest(SCHEMA, domain="holon-schema/1")).errors(data)
    findings = [
        Finding(code="record_invalid", message=error.message, path=error.path) for error in errors
    ]
    findings = findings or list(_twice(data))
    if findings:
        raise Rejected("descriptor", findings)
    paths: dict[str, Any] = {}
    for each in data["operations"]:
        paths.setdefault(each["path"], {})[each["method"].lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": data.get("title", ""), "version": data.get("version", "1")},
        "servers": [{"url": data["server"]}] if "server" in data else [],
        "paths": paths,
        "components": {
            "schemas": data.get("schemas", {}),
            "securitySchemes": {
                name: _secret(each) for name, each in data.get("secrets", {}).items()
            },
        },
    }


def _twice(data: dict[str, Any]) -> Any:
    seen: set[Any] = set()
    for at, each in enumerate(data["operations"]):
        for key in (each["id"], (each["method"], each["path"])):
            if key in seen:
                shown = key if isinstance(key, str) else " ".join(key)
                text = f"{shown} is described twice"
                yield Finding(code="duplicate_id", message=text, path=f"/operations/{at}")
            seen.add(key)


def _operation(each: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": each["id"],
        "description": each["description"],
        "parameters": [
            {"required": given["in"] == "path", **given} for given in each.get("parameters", ())
        ],
        "responses": {code: _response(given) for code, given in each["responses"].items()},
        "x-holon-effects": each.get("effects", []),
        "x-holon-examples": each.get("examples", []),
        "x-holon-idempotency-header": each.get("idempotency_header", ""),
        "security": [{name: [] for name in each["secrets"]}] if each.get("secrets") else [],
    }
    if "title" in each:
        made["summary"] = each["title"]
    if "body" in each:
        body = each["body"]
        made["requestBody"] = {"required": body.get("required", True), "content": _content(body)}
    return made


def _response(given: dict[str, Any]) -> dict[str, Any]:
    bare = "content_type" not in given and "schema" not in given
    return {"description": ""} if bare else {"description": "", "content": _content(given)}


def _content(given: dict[str, Any]) -> dict[str, Any]:
    kind = given.get("content_type", "application/json")
    return {kind: {"schema": given.get("schema", True)}}


def _secret(given: dict[str, Any]) -> dict[str, Any]:
    if "scheme" in given:
        return {"type": "http", "scheme": given["scheme"]}
    return {"type": "apiKey", "in": given["in"], "name": given["name"]}
