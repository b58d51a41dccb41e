"""Checking what an operator binds: everything that is wrong with it, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from holon_adapters.live.addresses import allowed
from holon_adapters.request.building import chosen_schemes
from holon_adapters.request.origins import BadOrigin, split
from holon_core.errors import Rejected
from holon_core.guard.secrets import reference_problem
from holon_core.records.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holon_adapters.records import Binding, OperationPlan, StoredAdapter


def checked_binding(binding: Binding, adapter: StoredAdapter) -> Binding:
    """Return a binding with its origin in one form.

    Args:
        binding: ``origin`` may carry the path before all others, as a server's URL does.
        adapter: What it is for.

    Raises:
        Rejected: With every finding. No reference to a secret is ever repeated: what stands
            there by mistake may be the secret itself.
    """
    findings = list(_findings(binding, adapter))
    origin = base_path = ""
    try:
        origin, base_path = split(binding.origin)
    except BadOrigin as problem:
        findings.append(_finding(str(problem), "/server"))
    if origin.startswith("http:") and not binding.allow_addresses:
        text = "http is not encrypted; use https, or allow addresses within (allow_addresses)"
        findings.append(_finding(text, "/server"))
    if findings:
        raise Rejected(f"binding of {adapter.name}", findings)
    return evolve(binding, origin=origin, base_path=base_path)


def _findings(binding: Binding, adapter: StoredAdapter) -> Iterator[Finding]:
    for name, ref in binding.secrets.items():
        path = f"/secrets/{name}"
        if name not in adapter.schemes:
            known = ", ".join(sorted(adapter.schemes)) or "none"
            yield _finding(f"the document has no such scheme; there are: {known}", path)
        problem = reference_problem(ref)
        if problem is not None:
            yield _finding(problem, path)
    try:
        allowed(binding.allow_addresses)
    except ValueError as problem:
        yield _finding(str(problem), "/allow_addresses")


def _finding(message: str, path: str) -> Finding:
    return Finding(code="config_invalid", message=message, path=path)


def lacking(plans: Iterable[OperationPlan], binding: Binding | None) -> int:
    """Count the operations that a binding has no secrets for."""
    if binding is None:
        return 0
    return sum(chosen_schemes(plan, binding.secrets) is None for plan in plans)
