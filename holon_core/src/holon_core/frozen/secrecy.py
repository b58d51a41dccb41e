"""Secrets in what becomes a frozen tool: by which reference, and never by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.guard.secrecy import where_secret
from holon_core.records.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holon_core.guard.redaction import Redactor
    from holon_core.records.frozen import FrozenToolRecord
    from holon_core.records.tool import SecretSlot

# A name that the operator bound under [secrets] in holon.toml.
BOUND = "secret:"


def unbound(slots: Sequence[SecretSlot]) -> Iterator[Finding]:
    """Name each secret whose reference no operator has bound.

    Any other reference says itself which variable, file or entry of the host is fetched, which is
    for an operator to say and for nobody who proposes.
    """
    for number, slot in enumerate(slots):
        if not slot.ref.startswith(BOUND):
            text = (
                f"the secret {slot.name:.100} is named secret:<name>, bound by an operator under "
                "[secrets] in holon.toml; another reference is proposed by an operator alone"
            )
            yield Finding(code="secret_unbound", message=text, path=f"/secret_slots/{number}/ref")


def unbound_in(record: FrozenToolRecord) -> Iterator[Finding]:
    """Name each secret of a record that neither holon.toml nor an operator has bound."""
    if not record.secrets_bound_by:
        yield from unbound(record.definition.secret_slots)


def written(redactor: Redactor, given: Any) -> Iterator[Finding]:
    """Name each place of a proposal that holds the value of a secret."""
    for path in where_secret(redactor, given):
        text = "it holds the value of a secret, which is written nowhere"
        yield Finding(code="secret_in_content", message=text, path=path)
