"""Documents as they are read and mapped: what each part becomes, and what is refused, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holon_adapters.adapters import mapped_of
from holon_adapters.openapi.operations import map_document
from holon_core import Effect, Rejected
from holon_core.wire.schema_engine import compiled


def document(operation: Any = None, *, version: str = "3.0.3", **more: Any) -> dict[str, Any]:
    """Make a document with one operation."""
    made = {"responses": {"200": {"description": ""}}, **(operation or {})}
    paths = more.pop("paths", {"/x": {more.pop("method", "get"): made}})
    return {"openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def only(data: Any, **options: Any) -> Any:
    """Map a document of one operation; return it, or the reason why it is refused."""
    found = map_document(data, **options)
    return next(iter([*found.operations.values(), *found.refused.values()]))


def taken(schema: Any, value: Any) -> bool:
    return not compiled(dict(schema), json.dumps(schema, sort_keys=True)).errors(value)


def body(schema: Any, kind: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}


REJECTED = {
    "swagger 2": ({"swagger": "2.0", "paths": {}}, "Swagger 2.0"),
    "no version": ({"paths": {}}, "openapi is no version"),
    "a later version": ({"openapi": "4.0.0", "paths": {}}, "openapi is no version"),
    "a list": ("[1]", "is an object"),
    "a key twice in JSON": ('{"openapi": "3.0.0", "openapi": "3.0.0"}', "appears twice"),
    "a key twice in YAML": ("openapi: 3.0.0\nopenapi: 3.0.0\n", "twice"),
    "a tag of Python": ("openapi: !!python/object:os.system x\n", "neither JSON nor YAML"),
    "two YAML documents": ("a: 1\n---\nb: 2\n", "neither JSON nor YAML"),
    "no UTF-8": (b"\xff\xfe\x00", "neither JSON nor YAML"),
    "NaN in YAML": ("openapi: .nan\n", "no number is no JSON"),
    "NaN behind a large number": ('{"a": 1e400, "b": NaN}', "NaN is no JSON"),
    "too deep": ("[" * 5000 + "]" * 5000, "deep"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_what_is_no_document_is_rejected(case) -> None:
    """With the reason, and no traceback."""
    text, reason = REJECTED[case]

    with pytest.raises(Rejected, match=reason):
        mapped_of(text)


def test_aliases_of_yaml_count_as_often_as_they_are_used() -> None:
    """A few lines that stand for billions of values are refused."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    with pytest.raises(Rejected, match="aliases written out"):
        mapped_of("\n".join(lines))


REFUSED = {
    "a reference away": (
        body({"$ref": "https://example.com/s.json"}), "post", "leaves the document"
    ),
    "a reference to a file": (body({"$ref": "./s.yaml#/A"}), "post", "leaves the document"),
    "a reference to nothing": (body({"$ref": "#/components/schemas/No"}), "post", "at nothing"),
    "a server of its own": ({"servers": [{"url": "https://else.example"}]}, "get", "server"),
    "a body of GET": (body({"type": "object"}), "get", "GET with a body"),
    "a needed header of the connection": (
        {"parameters": [{"name": "Host", "in": "header", "required": True}]}, "get", "header Host"
    ),
    "a style that is none": (
        {"parameters": [{"name": "q", "in": "query", "style": "loud"}]}, "get", "style"
    ),
    "a path parameter that is not in the path": (
        {"parameters": [{"name": "id", "in": "path", "required": True}]}, "get", "not in the path"
    ),
    "a schema with a mistake": (body({"type": "objekt"}), "post", "input schema"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_operation_that_cannot_be_mapped_is_refused_alone(case) -> None:
    """The reason is told, and its neighbour comes in."""
    operation, method, reason = REFUSED[case]
    data = document(operation, method=method)
    data["paths"]["/y"] = {"get": {"responses": {"200": {"description": ""}}}}

    found = map_document(data)

    assert [each.plan.path for each in found.operations.values()] == ["/y"]
    assert reason in found.refused[f"{method.upper()} /x"]


def test_what_3_0_says_its_own_way_means_the_same() -> None:
    """Null, exclusive bounds and bounds of 64 bits."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "nullable": True, "enum": ["x"]},
            "b": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            "c": {"type": "integer", "format": "int64", "maximum": 9223372036854775807},
            "d": {"type": "string", "readOnly": True},
        },
        "required": ["a", "d"],
    }
    made = only(document(body(schema), method="post"))

    assert taken(made.input_schema, {"body": {"a": None, "b": 1, "c": 5}})
    assert taken(made.input_schema, {"body": {"a": "x"}})
    for wrong in ({"a": "y"}, {"a": "x", "b": 0}, {"a": "x", "more": 1}, {"a": "x", "d": "z"}):
        assert not taken(made.input_schema, {"body": wrong})


def test_a_free_object_stays_free() -> None:
    """A body that names no members takes any."""
    made = only(document(body({"type": "object"}), method="post"))

    assert taken(made.input_schema, {"body": {"anything": [1]}})


def test_schemas_that_refer_to_themselves_are_taken() -> None:
    """A tree of any depth."""
    schemas = {"Tree": {"properties": {"kids": {"items": {"$ref": "#/components/schemas/Tree"}}}}}
    data = document(body({"$ref": "#/components/schemas/Tree"}), method="post")
    made = only({**data, "components": {"schemas": schemas}})

    assert taken(made.input_schema, {"body": {"kids": [{"kids": []}]}})


def test_parameters_of_one_name_are_told_apart() -> None:
    """And those that no model may send get a name that it may."""
    parameters = [
        {"name": "id", "in": "query"},
        {"name": "id", "in": "header"},
        {"name": "filter[a b]", "in": "query"},
        {"name": "body", "in": "query"},
    ]
    made = only(document({"parameters": parameters, **body({})}, method="post"))

    names = {(p.place, p.name): p.property for p in made.plan.parameters}
    assert names == {
        ("query", "id"): "id",
        ("header", "id"): "header_id",
        ("query", "filter[a b]"): "filter_a_b",
        ("query", "body"): "query_body",
    }


def test_who_is_named_as_a_property_keeps_the_name() -> None:
    """Whatever comes before: an argument goes where its name says."""
    names = ["a b", "a_b", "a.b"]
    made = only(document({"parameters": [{"name": name, "in": "query"} for name in names]}))

    assert {p.name: p.property for p in made.plan.parameters} == {
        "a_b": "a_b",
        "a b": "query_a_b",
        "a.b": "query_a_b_2",
    }


def test_examples_of_parameters_and_bodies_come_along() -> None:
    """The first three of each, where they are small."""
    parameter = {"name": "q", "in": "query", "schema": {"type": "array"}, "example": ["a", "b"]}
    some = {name: {"value": {"n": at}} for at, name in enumerate("abcd")}
    large = {"large": {"value": "x" * 5000}, "elsewhere": {"externalValue": "https://h.example"}}
    content = {"application/json": {"schema": {"type": "object"}, "examples": {**large, **some}}}
    made = only(document({"parameters": [parameter], "requestBody": {"content": content}},
                         method="post"))  # fmt: skip

    assert made.input_schema["properties"]["q"]["examples"] == [["a", "b"]]
    assert made.input_schema["properties"]["body"]["examples"] == [{"n": 0}, {"n": 1}]


def test_an_operation_that_is_named_as_a_tool_keeps_the_name() -> None:
    """Whatever comes before it in the document."""
    answers = {"responses": {"200": {"description": ""}}}
    ids = {"/first": "get item", "/second": "get-item"}
    paths = {path: {"get": {**answers, "operationId": name}} for path, name in ids.items()}
    made = map_document(document(paths=paths))

    assert made.operations["get-item"].plan.path == "/second"
    assert len(made.operations) == 2


def test_a_body_that_a_read_leaves_out_is_said() -> None:
    """Optional it is left out; required, the operation is refused."""
    optional = map_document(document({"requestBody": {"content": {}}}))
    required = map_document(document({"requestBody": {"content": {}, "required": True}}))

    assert [finding.message for finding in optional.findings] == ["the body of a GET is left out"]
    assert required.refused == {"GET /x": "GET with a body"}


@pytest.mark.parametrize(
    "url",
    ["https://u:s3cr3t@h.example", "https://h.example/a/../b", "https://h.example/%2e%2e/",
     "https://h.example?x=1", "https://h.example:99999", "https://0177.0.0.1",
     "https://{region}.example"],
)  # fmt: skip
def test_a_server_that_is_no_origin_is_left_out_and_said(url) -> None:
    """The tools are made all the same: an operator names the server. Its text is not told."""
    found = map_document(document(servers=[{"url": url}]))
    [finding] = found.findings

    assert (found.server, finding.path) == ("", "/servers/0/url")
    assert "s3cr3t" not in finding.message
    assert len(found.operations) == 1


def test_an_operation_with_a_relative_server_of_its_own_is_refused() -> None:
    """What it is relative to is not known."""
    found = map_document(document({"servers": [{"url": "/v2"}]}, servers=[{"url": "/v1"}]))

    assert found.refused == {"GET /x": "it has a server of its own"}


@pytest.mark.parametrize(
    "scheme",
    [{"name": "X_Forwarded_For"}, {"name": "Origin"}, {"name": "X-Key\r\nHost"}],
    ids=["proxy", "origin", "two-lines"],
)
def test_a_key_is_sent_under_no_name_that_arguments_may_not_have(scheme) -> None:
    """A scheme of such a name is left out, and said."""
    given = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", **scheme}}}
    found = map_document(document(components=given))

    assert found.schemes == {}
    assert [finding.path for finding in found.findings] == ["/components/securitySchemes/key"]


@pytest.mark.parametrize("limit", ["9" * 20, "9" * 5000, "1e400"], ids=["20", "5000", "1e400"])
def test_a_limit_that_no_number_reaches_is_left_out(limit) -> None:
    """However many digits it has; limits of 64 bits stand in many documents."""
    parameter = {"name": "q", "in": "query", "schema": {"type": "integer", "maximum": "LIMIT"}}
    text = json.dumps(document({"parameters": [parameter]})).replace('"LIMIT"', limit)
    found, _, _ = mapped_of(text)
    [made] = found.operations.values()

    assert made.input_schema["properties"]["q"] == {"type": "integer"}


EFFECTS = {
    "GET": ("get", {}, {Effect.NETWORK_READ}),
    "HEAD": ("head", {}, {Effect.NETWORK_READ}),
    "POST": ("post", {}, {Effect.NETWORK_WRITE}),
    "DELETE": ("delete", {}, {Effect.NETWORK_WRITE, Effect.DESTRUCTIVE}),
    "a hint adds": (
        "post",
        {"x-holon-effects": ["destructive"]},
        {Effect.NETWORK_WRITE, Effect.DESTRUCTIVE},
    ),
    "a hint takes nothing": ("post", {"x-holon-effects": ["network_read"]}, {Effect.NETWORK_WRITE}),
    "a name adds": (
        "get",
        {"operationId": "users/deleteAll"},
        {Effect.NETWORK_WRITE, Effect.DESTRUCTIVE},
    ),
    "a name of change": ("get", {"operationId": "sendMail"}, {Effect.NETWORK_WRITE}),
}


@pytest.mark.parametrize("case", EFFECTS)
def test_effects_are_by_method_and_hints_only_add(case) -> None:
    """What a document says of itself never loosens."""
    method, operation, effects = EFFECTS[case]
    made = only(document(operation, method=method))

    assert made.effects >= effects - {Effect.NETWORK_READ}
    assert (Effect.NETWORK_WRITE in made.effects) == (Effect.NETWORK_WRITE in effects)


def test_a_fault_of_a_handwritten_descriptor_is_told_with_its_place() -> None:
    """All of them at once; nothing is mapped."""
    data = {
        "adapter": "holon-adapter/v1",
        "operations": [{"id": "a", "method": "FETCH", "path": "x", "more": 1}],
    }

    with pytest.raises(Rejected) as rejected:
        mapped_of(data)

    assert {"/operations/0/method", "/operations/0/path"} <= {
        finding.path for finding in rejected.value.findings
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "$ref",
                    "type",
                    "properties",
                    "items",
                    "in",
                    "name",
                    "schema",
                    "content",
                    "parameters",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(operation=st.dictionaries(
    st.sampled_from(["parameters", "requestBody", "responses", "security", "operationId"]), JSON
))  # fmt: skip
def test_no_operation_breaks_the_reading_of_a_document(operation) -> None:
    """Whatever stands in it, it is mapped or refused with a reason."""
    found = map_document(document(operation, method="post"))

    assert len(found.operations) + len(found.refused) == 1
