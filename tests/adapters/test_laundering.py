"""No document and no argument makes a request another one than policy was asked about."""

from __future__ import annotations

from typing import Any

import pytest

from holon_adapters.openapi.handwritten import as_openapi
from holon_adapters.openapi.operations import map_document
from holon_adapters.request.climbing import climbs
from holon_core import Effect


def operation(method: str, path: str, **more: Any) -> dict[str, Any]:
    """Write one operation by hand that says it only reads."""
    return {
        "id": "one",
        "method": method,
        "path": path,
        "description": "Read.",
        "effects": ["network_read"],
        "parameters": [],
        "responses": {"200": {"schema": {"type": "object"}}},
        **more,
    }


def mapped(*operations: dict[str, Any]) -> Any:
    """Map a descriptor with these operations."""
    return map_document(
        as_openapi(
            {
                "adapter": "holon-adapter/v1",
                "title": "T",
                "server": "https://x.example",
                "operations": list(operations),
            }
        )
    )


@pytest.mark.parametrize(
    ("method", "effect"),
    [
        ("DELETE", Effect.DESTRUCTIVE),
        ("POST", Effect.NETWORK_WRITE),
        ("PUT", Effect.NETWORK_WRITE),
    ],
)
def test_a_descriptor_makes_no_method_milder(method, effect):
    """The method's effects are the least that counts, and the milder word is a risk hint."""
    (made,) = mapped(operation(method, "/all")).operations.values()

    assert effect in made.effects
    assert any("declared as network_read" in hint for hint in made.risk_hints)


@pytest.mark.parametrize(
    "name",
    [
        "X-HTTP-Method-Override",
        "X-Method-Override",
        "X_HTTP_METHOD_OVERRIDE",
        "X-HTTP-Method",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Original-Host",
        "Forwarded",
        "Via",
        "X-Forwarded-Host",
        "X-Real-IP",
        "True-Client-IP",
        "X-Host",
        "X-Envoy-Original-Path",
        "Accept-Encoding",
        "Origin",
    ],
)
def test_no_argument_sets_a_header_that_stands_for_the_request_line(name):
    """Optional, it is left out and said; required, the operation is refused."""
    given = {"name": name, "in": "header", "schema": {"type": "string"}}
    optional = operation("GET", "/items", parameters=[given])
    required = operation("GET", "/all", id="all", parameters=[{**given, "required": True}])

    made = mapped(optional, required)

    assert list(made.operations) == ["one"]
    assert made.operations["one"].plan.parameters == ()
    assert any(name in finding.message for finding in made.findings)
    assert name in made.refused["GET /all"]


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "Host", "Authorization", "X: y\r\nZ"])
def test_no_key_of_a_caller_goes_where_arguments_may_not(name):
    """Callers choose keys as they choose arguments."""
    made = mapped(operation("POST", "/items", idempotency_header=name))

    assert list(made.operations) == []
    assert "POST /items" in made.refused


@pytest.mark.parametrize(
    "path",
    ["/%2e%2e/admin", "/a/%2E%2e/b", "/a/..;x/b", "/%252e%252e/b", "/a%2f..%2fb", "/a\\..\\b"],
)
def test_no_path_of_a_document_leads_up(path):
    """However often it is encoded; the bound base path is the operator's word."""
    made = mapped(operation("GET", path))

    assert list(made.operations) == []
    assert "leads up" in made.refused[f"GET {path}"]


@pytest.mark.parametrize("path", ["/a.b/c", "/...", "/a/.hidden", "/100%25", "/%E2%82%AC"])
def test_an_ordinary_path_stays(path):
    """Dots beside something else lead nowhere."""
    assert not climbs(path)
