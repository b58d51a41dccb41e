"""Success responses of an operation, as one output schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_adapters.openapi.document import objects
from holon_adapters.openapi.parameters import form_of
from holon_adapters.records import ResponsePlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_adapters.openapi.document import Document
    from holon_adapters.openapi.schemas import Schemas

_STATUS = re.compile(r"2(\d\d|XX)", re.IGNORECASE)
TEXT = {"type": "string"}
BYTES = {"type": "string", "contentEncoding": "base64", "description": "The bytes, as base64."}


@frozen(kw_only=True)
class Responses:
    """The success responses of an operation, and the schema of what a call answers."""

    plans: tuple[ResponsePlan, ...]
    schema: dict[str, Any]


def read_responses(document: Document, schemas: Schemas, given: Any, *, method: str) -> Responses:
    """Read the success responses.

    A response ``default`` stands for every success where none is documented; where neither is,
    any success may carry anything.

    Raises:
        Unresolved: A response cannot be read.
    """
    found = objects(given)
    chosen = {code.upper(): each for code, each in found.items() if _STATUS.fullmatch(code)}
    if not chosen:
        # Nothing is said of successes: nothing can be held against what comes.
        chosen = {"2XX": found.get("default", {})}
    plans, variants, refers = [], [], set()
    for code in sorted(chosen):
        plan, variant, more = _read(document, schemas, code, chosen[code], method == "HEAD")
        plans.append(plan)
        variants += variant
        refers |= more
    schema = variants[0] if len(variants) == 1 else {"type": "object", "anyOf": variants}
    shared = schemas.shared(refers)
    return Responses(plans=tuple(plans), schema={**schema, "$defs": shared} if shared else schema)


def _read(
    document: Document,
    schemas: Schemas,
    code: str,
    given: Any,
    bodiless: bool,
) -> tuple[ResponsePlan, list[dict[str, Any]], set[str]]:
    response = document.resolved(given)
    content = {} if bodiless else objects(response.get("content"))
    headers = tuple(sorted(name.lower() for name in objects(response.get("headers"))))
    forms: dict[str, str] = {}
    variants, refers = [], set()
    for media_type, each in content.items():
        form = form_of(media_type)
        form = form if form in ("json", "text") else "binary"
        forms[media_type.partition(";")[0].strip().lower()] = form
        body: Any = TEXT if form == "text" else BYTES
        if form == "json":
            body, more = schemas.convert(objects(each).get("schema", True))
            refers |= more
        variants.append(_variant(code, headers, body))
    plan = ResponsePlan(status=code, forms=forms, headers=headers)
    unlike = [each for n, each in enumerate(variants) if each not in variants[:n]]
    return plan, unlike or [_variant(code, headers, None, silent=not code.isdigit())], refers


def _variant(
    code: str, headers: tuple[str, ...], body: Any, *, silent: bool = False
) -> dict[str, Any]:
    """Describe an answer of one status and form; a silent one may carry anything."""
    status: Mapping[str, Any] = (
        {"const": int(code)}
        if code.isdigit()
        else {"type": "integer", "minimum": 200, "maximum": 299}
    )
    properties: dict[str, Any] = {"status": status}
    required = ["status"]
    if body is not None:
        properties["body"] = body
        required.append("body")
    elif silent:
        properties["body"] = True
    if headers:
        properties["headers"] = {
            "type": "object",
            "properties": {name: {"type": "string"} for name in headers},
            "additionalProperties": False,
        }
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
