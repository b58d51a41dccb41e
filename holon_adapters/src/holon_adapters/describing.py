"""From a mapped operation to the tool of the catalogue that it becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_adapters.lane import KIND
from holon_adapters.request.building import chosen_schemes
from holon_core.records.tool import Limits, RuntimeToolDescriptor, SecretSlot
from holon_core.records.words import Origin, Posture
from holon_core.wire.canonical import digest
from holon_core.wire.converter import unstructure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_adapters.records import (
        Binding,
        MappedOperation,
        OperationPlan,
        SchemePlan,
        StoredAdapter,
    )

EXECUTOR_DOMAIN = "holon-adapter-operation/1"


def tool_of(adapter: StoredAdapter, mapped: MappedOperation) -> RuntimeToolDescriptor:
    """Describe an operation as a tool of an adapter, as it is bound.

    Who bound it, and what it is bound to, is part of the definition: another binding is
    another definition, and approvals of the one before are void.
    """
    plan, binding = mapped.plan, adapter.binding
    secrets: Mapping[str, str] = {} if binding is None else binding.secrets
    limits = Limits(timeout_s=30.0)
    if binding is not None:
        limits = Limits(timeout_s=binding.timeout_s, max_output_bytes=binding.max_response_bytes)
    return RuntimeToolDescriptor(
        id=f"{adapter.source}/{plan.id}",
        workspace=adapter.workspace,
        lane=KIND,
        origin=Origin.REGISTERED,
        posture=Posture.ADAPTER_LIVE,
        version=adapter.version or "1",
        name=mapped.name,
        title=mapped.title,
        description=mapped.description,
        examples=mapped.examples,
        input_schema=mapped.input_schema,
        output_schema=mapped.output_schema,
        effects=mapped.effects,
        risk_hints=mapped.risk_hints,
        secret_slots=tuple(
            SecretSlot(name=name, ref=secrets[name], purpose=_purpose(adapter.schemes[name]))
            for name in chosen_schemes(plan, secrets) or ()
        ),
        idempotent=plan.idempotent,
        limits=limits,
        executor_ref=executor_ref(plan, adapter.schemes, binding),
    )


def executor_ref(
    plan: OperationPlan, schemes: Mapping[str, SchemePlan], binding: Binding | None
) -> str:
    """Name what runs an operation: a digest of its plan, and of what is bound."""
    used = sorted({name for each in plan.security for name in each if name in schemes})
    bound = None
    if binding is not None:
        bound = unstructure(binding)
        # Who bound it, why and when is told elsewhere; it changes nothing that runs.
        for name in ("by", "reason", "proposed_by", "at_unix_seconds"):
            del bound[name]
    body = {
        "plan": unstructure(plan),
        "schemes": {name: unstructure(schemes[name]) for name in used},
        "binding": bound,
    }
    return digest(body, domain=EXECUTOR_DOMAIN)


def _purpose(scheme: SchemePlan) -> str:
    return f"{scheme.place} {scheme.name}"
