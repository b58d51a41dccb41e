"""Parameters and bodies of an operation, as one object of arguments."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_adapters.openapi.document import Unresolved, objects, text
from holon_adapters.records import BODY, BodyPlan, FieldPlan, ParameterPlan
from holon_core.errors import JsonRefused
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holon_adapters.openapi.document import Document
    from holon_adapters.openapi.schemas import Schemas

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")
MAX_PROPERTY = 64
MAX_PARAMETERS = 100
MAX_EXAMPLES = 3
MAX_EXAMPLE_BYTES = 2000
STYLES_OF = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# The specification has these come from elsewhere; a parameter of such a name says nothing.
IGNORED_HEADERS = frozenset({"accept", "authorization", "content-type"})
# Headers of the connection, and those by which proxies and servers tell who asks, or take another
# method, path or host than the request line's.
REFUSED_HEADERS = frozenset(
    {"accept-encoding", "cf-connecting-ip", "connection", "content-encoding", "content-length",
     "cookie", "cookie2", "expect", "fastly-client-ip", "forwarded", "host", "keep-alive",
     "origin", "remote-user", "te", "trailer", "transfer-encoding", "true-client-ip", "upgrade",
     "user-agent", "via", "x-client-ip", "x-cluster-client-ip", "x-host", "x-http-method",
     "x-http-path-override", "x-method", "x-real-ip", "x-remote-addr", "x-remote-user",
     "x-request-uri"}
)  # fmt: skip
REFUSED_PREFIXES = (
    "proxy-", "sec-", "x-amzn-oidc-", "x-appengine-", "x-envoy-", "x-forwarded",
    "x-goog-authenticated-", "x-ms-client-principal", "x-original-", "x-rewrite-",
)  # fmt: skip
# Wherever it stands in a name, and however it is joined.
_OVERRIDES = re.compile(r"(method|path|url|uri|host)[-_]?override")


@frozen(kw_only=True)
class Property:
    """One property of the arguments: its schema, and whether it has to be there."""

    name: str
    schema: Any
    refers: frozenset[str] = frozenset()
    required: bool = False


@frozen(kw_only=True)
class Parameters:
    """What an operation takes besides its body.

    ``idempotency_header`` is a header of the API for keys of logical calls, which the lane
    fills itself.
    """

    plans: tuple[ParameterPlan, ...] = ()
    properties: tuple[Property, ...] = ()
    idempotency_header: str = ""
    left_out: tuple[str, ...] = ()


def read_parameters(
    document: Document, schemas: Schemas, given: list[Any], *, has_body: bool
) -> Parameters:
    """Read the parameters of a path and its operation; the later of one name and place counts.

    Raises:
        Unresolved: One that has to be there cannot be sent.
    """
    by_place: dict[tuple[str, str], dict[str, Any]] = {}
    for each in given:
        found = document.resolved(each)
        by_place[text(found.get("in")), text(found.get("name"))] = found
    if len(by_place) > MAX_PARAMETERS:
        raise Unresolved("operation_unsupported", f"more than {MAX_PARAMETERS} parameters")
    plans, properties, left_out = [], [], []
    own_names = _property_names(by_place, {BODY} if has_body else set())
    key_header = ""
    for (place, name), found in by_place.items():
        if place == "header" and name.lower() in IGNORED_HEADERS:
            continue
        if place == "header" and name.lower() == "idempotency-key":
            key_header = name
            continue
        problem = name_problem(place, name)
        required = found.get("required") is True or place == "path"
        if problem and required:
            raise Unresolved("operation_unsupported", problem)
        if problem:
            left_out.append(problem)
            continue
        own = own_names[place, name]
        plans.append(_plan(found, own, place))
        properties.append(_property(schemas, found, own, required=required))
    return Parameters(
        plans=tuple(plans),
        properties=tuple(properties),
        idempotency_header=key_header,
        left_out=tuple(left_out),
    )


def name_problem(place: str, name: str) -> str:
    """Say why nothing may be sent under a name in a place; nothing where it may."""
    if place not in STYLES_OF or not name:
        return f"a parameter in {place!r:.40} named {name!r:.80}"
    low = name.lower()
    if place in ("header", "cookie") and not _TOKEN.fullmatch(name):
        return f"the {place} {name!r:.80} has no name that can be sent"
    # Servers that hand headers on as variables do not tell "_" from "-".
    shown = low.replace("_", "-")
    refused = shown in REFUSED_HEADERS or shown.startswith(REFUSED_PREFIXES)
    if place == "header" and (refused or _OVERRIDES.search(shown)):
        return f"the header {name} is not for arguments to set"
    return ""


def _property_names(
    given: Iterable[tuple[str, str]], taken: set[str]
) -> dict[tuple[str, str], str]:
    """Name the properties of the arguments; whose name is usable as it is comes before others."""
    made: dict[tuple[str, str], str] = {}
    for place, name in sorted(given, key=lambda each: _usable(each[1]) != each[1]):
        made[place, name] = own = _property_name(name, place, taken)
        taken = taken | {own}
    return made


def _usable(name: str) -> str:
    return _UNUSABLE.sub("_", name).strip("_")[:MAX_PROPERTY]


def _property_name(name: str, place: str, taken: set[str]) -> str:
    """Name a property of the arguments as all providers of models take it."""
    base = _usable(name) or place
    if base not in taken:
        return base
    base = f"{place}_{base}"[:MAX_PROPERTY]
    made, count = base, 1
    while made in taken:
        count += 1
        made = f"{base[: MAX_PROPERTY - 4]}_{count}"
    return made


def _plan(found: Mapping[str, Any], own: str, place: str) -> ParameterPlan:
    styles = STYLES_OF[place]
    style = found.get("style", styles[0])
    if style not in styles:
        raise Unresolved("operation_unsupported", f"the style {style!r:.40} in {place}")
    return ParameterPlan(
        property=own,
        name=found["name"],
        place=place,
        style=style,
        explode=bool(found.get("explode", style == "form")),
        allow_reserved=found.get("allowReserved") is True,
        as_json="content" in found,
    )


def _property(schemas: Schemas, found: Mapping[str, Any], own: str, *, required: bool) -> Property:
    schema = found.get("schema", True)
    if "content" in found:
        kinds = objects(found["content"])
        kind = next(iter(kinds), "")
        if form_of(kind) != "json" or len(kinds) != 1:
            raise Unresolved("operation_unsupported", f"the parameter {own} is no JSON text")
        schema = objects(kinds[kind]).get("schema", True)
    made, refers = schemas.convert(schema)
    made = {} if made is True else dict(made) if isinstance(made, dict) else made
    if isinstance(made, dict):
        _describe(made, found)
    return Property(name=own, schema=made, refers=frozenset(refers), required=required)


def _describe(schema: dict[str, Any], found: Mapping[str, Any]) -> None:
    said = text(found.get("description"))[:1000]
    if said:
        schema["description"] = said
    if found.get("deprecated") is True:
        schema["deprecated"] = True
    if examples := examples_of(found):
        schema["examples"] = examples


def examples_of(found: Mapping[str, Any]) -> list[Any]:
    """Return the first examples of a parameter or a body, those that are small JSON."""
    given = [found["example"]] if "example" in found else []
    given += [
        each["value"]
        for each in objects(found.get("examples")).values()
        if isinstance(each, dict) and "value" in each
    ]
    made = []
    for each in given[:MAX_EXAMPLES]:
        with contextlib.suppress(JsonRefused):
            made.append(normalise(each, max_bytes=MAX_EXAMPLE_BYTES).value)
    return made


def form_of(media_type: str) -> str:
    """Say how content of a media type is taken: one of ``records.BODY_FORMS``."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind in ("application/json", "*/*", "application/*") or kind.endswith("+json"):
        return "json"
    if kind == "application/x-www-form-urlencoded":
        return "form"
    if kind == "multipart/form-data":
        return "multipart"
    if kind.startswith("text/") or kind.endswith(("/xml", "+xml", "/yaml", "/javascript")):
        return "text"
    return "binary"


_PREFERRED = ("json", "form", "multipart", "text", "binary")


def read_body(
    document: Document, schemas: Schemas, given: Any
) -> tuple[BodyPlan | None, Property | None]:
    """Read the body of a request; of several media types the first of the preferred form.

    Raises:
        Unresolved: It has to be there and cannot be sent.
    """
    if given is None:
        return None, None
    found = document.resolved(given)
    kinds = objects(found.get("content"))
    if not kinds:
        return None, None
    kind = min(kinds, key=lambda each: _PREFERRED.index(form_of(each)))
    form = form_of(kind)
    content = objects(kinds[kind])
    schema = content.get("schema", True)
    if form in ("text", "binary"):
        # What it is made of is not for JSON Schema; bytes come as base64.
        schema = {"type": "string"}
        if form == "binary":
            schema = {"type": "string", "contentEncoding": "base64"}
    made, refers = schemas.convert(schema)
    if isinstance(made, dict) and form in ("form", "multipart") and not schemas.declares(made):
        raise Unresolved("operation_unsupported", f"a body of {kind} that names no fields")
    if isinstance(made, dict) and schemas.declares(made):
        # Further members are refused, unless the schema itself takes them.
        made = {**made, "unevaluatedProperties": False}
    plan = BodyPlan(
        content_type=_content_type(kind, form),
        form=form,
        required=found.get("required") is True,
        fields=_fields(document, content) if form in ("form", "multipart") else (),
    )
    made = _body_described({} if made is True else made, text(found.get("description")), plan)
    if isinstance(made, dict) and form != "binary" and (examples := examples_of(content)):
        made["examples"] = examples
    own = Property(name=BODY, schema=made, refers=frozenset(refers), required=plan.required)
    return plan, own


def _content_type(kind: str, form: str) -> str:
    if "*" in kind:
        return "application/json" if form == "json" else "application/octet-stream"
    return kind


def _body_described(schema: Any, said: str, plan: BodyPlan) -> Any:
    if not isinstance(schema, dict):
        return schema
    note = " As base64." if plan.form == "binary" else ""
    return {**schema, "description": (said or f"The body, {plan.content_type}.")[:1000] + note}


def _fields(document: Document, content: Mapping[str, Any]) -> tuple[FieldPlan, ...]:
    schema = document.resolved(content.get("schema", {}))
    encodings = objects(content.get("encoding"))
    made = []
    for name, each in objects(schema.get("properties")).items():
        kind = document.resolved(each) if isinstance(each, dict) else {}
        said = objects(encodings.get(name))
        style = text(said.get("style")) or "form"
        if style not in STYLES_OF["query"]:
            raise Unresolved("operation_unsupported", f"the style {style!r:.40} of a field")
        made.append(
            FieldPlan(
                name=name,
                style=style,
                explode=bool(said.get("explode", style == "form")),
                base64=_is_binary(kind),
                content_type=text(said.get("contentType")).partition(",")[0].strip(),
            )
        )
    return tuple(made)


def _is_binary(schema: Mapping[str, Any]) -> bool:
    items = objects(schema.get("items"))
    return any(
        each.get("format") == "binary" or "contentMediaType" in each for each in (schema, items)
    )
