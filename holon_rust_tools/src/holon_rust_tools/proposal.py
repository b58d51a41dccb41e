"""A rust-code-tool as somebody proposes it, and what becomes of it as a frozen tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core import JsonRefused, Rejected
from holon_core.records.base import Record
from holon_core.records.fallback import FallbackKind
from holon_core.records.finding import Finding
from holon_core.records.frozen import Fallback, Fixture
from holon_core.records.tool import SecretSlot
from holon_core.records.words import ApprovalRequirement, Effect, LaneKind

KIND = LaneKind.RUST_CODE_TOOL.value
PROFILES = ("debug", "release")
ANY_OBJECT = {"type": "object", "additionalProperties": True}


@frozen(kw_only=True, eq=False, repr=False)
class RustFile(Record):
    """A source file: its path relative to the manifest, and its text."""

    path: str
    content: str


@frozen(kw_only=True, eq=False, repr=False)
class RequiredInput(Record):
    """An input slot: a property of the tool's input schema."""

    name: str
    schema: Mapping[str, Any] | None = None
    description: str = ""
    required: bool = True


@frozen(kw_only=True, eq=False, repr=False)
class DependencyRequest(Record):
    """A crate that is asked for; it has to be one of the catalogue, exactly."""

    name: str
    version: str
    features: tuple[str, ...] = ()
    default_features: bool = True


@frozen(kw_only=True, eq=False, repr=False)
class RustProposal(Record):
    """A rust-code-tool as it is proposed (source document, "Current Behavior").

    Everything is optional here, so that one judgement names all that is missing.
    ``validation_command`` is a text that is recorded, and never executed.
    """

    purpose: str = ""
    crate_name: str = ""
    binary_name: str = ""
    files: tuple[RustFile, ...] = ()
    required_inputs: tuple[RequiredInput, ...] = ()
    secret_refs: tuple[SecretSlot, ...] = ()
    side_effects: frozenset[Effect] = frozenset()
    expected_output_schema: Mapping[str, Any] | None = None
    dependencies: tuple[DependencyRequest, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    validation_command: str = ""
    profile: str = "debug"
    approval: ApprovalRequirement = ApprovalRequirement.NONE
    timeout_s: float = 30.0
    max_output_bytes: int = 256 * 1024
    deterministic: bool = False
    fallback: Fallback = field(factory=lambda: Fallback(kind=FallbackKind.NONE))
    risk_hints: tuple[str, ...] = ()


def read_proposal(given: object) -> RustProposal:
    """Read a proposal from JSON.

    Raises:
        Rejected: With a finding and its path for each fault of its form.
    """
    from holon_core.wire.converter import structure
    from holon_core.wire.values import normalise

    try:
        value = normalise(given).value
    except JsonRefused as error:
        finding = Finding(code="rust_proposal", message=str(error), path=error.path)
        raise Rejected("the proposal", [finding]) from None
    if not isinstance(value, dict):
        raise Rejected("the proposal", [Finding(code="rust_proposal", message="no JSON object")])
    return structure(value, RustProposal)


def input_schema(proposal: RustProposal) -> dict[str, Any]:
    """Derive the strict input schema from the input slots."""
    made: dict[str, Any] = {
        "type": "object",
        "properties": {
            each.name: {
                **(each.schema or {}),
                **({"description": each.description} if each.description else {}),
            }
            for each in proposal.required_inputs
        },
        "additionalProperties": False,
    }
    required = [each.name for each in proposal.required_inputs if each.required]
    return {**made, "required": required} if required else made


def frozen_proposal(
    proposal: RustProposal, *, name: str, version: str, lock: str
) -> dict[str, Any]:
    """Write a rust-code-tool as the proposal of a frozen tool.

    Args:
        proposal: One without findings.
        name: Of the frozen tool.
        version: As its author counts; kept beside the runtime's own count.
        lock: Its Cargo.lock.
    """
    from holon_core.wire.converter import unstructure

    made = unstructure(proposal)
    files = [{"path": each.path, "text": each.content} for each in proposal.files]
    if all(each["path"] != "Cargo.lock" for each in files):
        files.append({"path": "Cargo.lock", "text": lock})
    effects = made["side_effects"] or [Effect.UNKNOWN.value]
    copied = ("purpose", "fixtures", "fallback", "deterministic", "risk_hints")
    return {
        **{each: made[each] for each in copied},
        "name": name,
        "kind": KIND,
        "input_schema": input_schema(proposal),
        "output_schema": dict(proposal.expected_output_schema or ANY_OBJECT),
        "policy": {
            "effects": effects,
            **{each: made[each] for each in ("approval", "timeout_s", "max_output_bytes")},
        },
        "secret_slots": made["secret_refs"],
        # What the runtime needs of the machine is cargo; crates are of the build alone.
        "dependencies": [{"kind": "program", "name": "cargo"}],
        "files": files,
        "content": {
            "crate_name": proposal.crate_name,
            "binary_name": proposal.binary_name,
            "profile": proposal.profile,
            "version": version,
            "validation_command": proposal.validation_command,
            "dependencies": made["dependencies"],
            "output_declared": proposal.expected_output_schema is not None,
            "lock_made": all(each.path != "Cargo.lock" for each in proposal.files),
        },
    }
