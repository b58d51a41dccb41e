"""Security schemes: where a secret would go, never a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_adapters.openapi.document import Unresolved, objects, text
from holon_adapters.openapi.parameters import name_problem
from holon_adapters.records import SchemePlan
from holon_core.records.finding import Finding
from holon_core.records.words import Severity

if TYPE_CHECKING:
    from holon_adapters.openapi.document import Document


def read_schemes(document: Document) -> tuple[dict[str, SchemePlan], list[Finding]]:
    """Read the security schemes that a secret by reference can serve.

    Bearer tokens serve OAuth 2 and OpenID Connect, too: whoever binds brings the token.
    """
    found = objects(objects(document.data.get("components")).get("securitySchemes"))
    plans, findings = {}, []
    for name, given in found.items():
        try:
            plans[name] = _scheme(document.resolved(given))
        except Unresolved as problem:
            path = f"/components/securitySchemes/{name}"
            findings.append(
                Finding(
                    code=problem.code,
                    message=problem.message,
                    path=path,
                    severity=Severity.WARNING,
                )
            )
    return plans, findings


def _scheme(given: dict[str, Any]) -> SchemePlan:
    kind, scheme = text(given.get("type")), text(given.get("scheme")).lower()
    if kind == "apiKey" and given.get("in") in ("header", "query", "cookie"):
        name = text(given.get("name"))
        if problem := name_problem(given["in"], name):
            raise Unresolved("operation_unsupported", problem)
        return SchemePlan(place=given["in"], name=name)
    if kind == "http" and scheme == "basic":
        return SchemePlan(place="header", name="Authorization", prefix="Basic ", basic=True)
    if (kind == "http" and scheme == "bearer") or kind in ("oauth2", "openIdConnect"):
        return SchemePlan(place="header", name="Authorization", prefix="Bearer ")
    raise Unresolved("operation_unsupported", f"security of the type {kind} {scheme}".strip())


def read_security(given: Any) -> tuple[tuple[str, ...], ...]:
    """Read alternatives of schemes; an empty alternative needs none."""
    if not isinstance(given, list):
        return ()
    return tuple(tuple(sorted(each)) for each in given if isinstance(each, dict))
