"""Bodies of requests: JSON, forms, texts and bytes."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as NotBase64
from hashlib import sha256
from typing import Any

from holon_adapters.records import BodyPlan, FieldPlan
from holon_adapters.request import styles
from holon_adapters.request.styles import Unwritable
from holon_core.wire.canonical import canonical


def body_of(plan: BodyPlan, value: Any, key: str) -> tuple[str, bytes]:
    """Write a body.

    Args:
        plan: How.
        value: Valid by its schema.
        key: From which the boundary of a multipart body is made, so that a preview shows it.

    Returns:
        The content type and the bytes.

    Raises:
        Unwritable: The value has no such form.
    """
    if plan.form == "json":
        return plan.content_type, canonical(value)
    if plan.form == "text":
        return f"{plan.content_type}; charset=utf-8", _text(value).encode()
    if plan.form == "binary":
        return plan.content_type, _bytes(value)
    if not isinstance(value, dict):
        raise Unwritable("a form is an object")
    fields = {each.name: each for each in plan.fields}
    if plan.form == "form":
        return plan.content_type, _urlencoded(value, fields)
    return _multipart(value, fields, sha256(key.encode()).hexdigest()[:32])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unwritable("the body is a text")
    return value


def _bytes(value: Any) -> bytes:
    try:
        return b64decode(_text(value), validate=True)
    except (NotBase64, ValueError):
        raise Unwritable("bytes are given as base64") from None


def _urlencoded(value: dict[str, Any], fields: dict[str, FieldPlan]) -> bytes:
    made: list[tuple[str, str]] = []
    for name, item in value.items():
        each = fields.get(name) or FieldPlan(name=name)
        # Objects in forms are written with brackets wherever the document says nothing else.
        deep = isinstance(item, dict) and each.style == "form"
        style = "deepObject" if deep else each.style
        made += styles.pairs(name, item, style=style, explode=each.explode)
    return "&".join(f"{k}={v}" for k, v in made).encode()


def _multipart(
    value: dict[str, Any], fields: dict[str, FieldPlan], boundary: str
) -> tuple[str, bytes]:
    parts = []
    for name, item in value.items():
        each = fields.get(name) or FieldPlan(name=name)
        for one in item if isinstance(item, list) else [item]:
            parts += [] if one is None else [_part(each, one)]
    if any(f"--{boundary}".encode() in part for part in parts):
        raise Unwritable("a field holds the boundary between fields")
    lines = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    return f"multipart/form-data; boundary={boundary}", lines + f"--{boundary}--\r\n".encode()


def _part(each: FieldPlan, value: Any) -> bytes:
    name = each.name.replace("\\", "\\\\").replace('"', "%22")
    name = name.replace("\r", "%0D").replace("\n", "%0A")
    head = f'Content-Disposition: form-data; name="{name}"'
    if each.base64:
        kind = each.content_type if _is_plain(each.content_type) else "application/octet-stream"
        head += f'; filename="{name}"\r\nContent-Type: {kind}'
        body = _bytes(value)
    elif isinstance(value, (dict, list)):
        head += "\r\nContent-Type: application/json"
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    else:
        body = styles.scalar(value).encode()
    return head.encode() + b"\r\n\r\n" + body


def _is_plain(kind: str) -> bool:
    return bool(kind) and kind.isprintable() and kind.isascii() and "*" not in kind
