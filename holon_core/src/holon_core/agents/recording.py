"""What changes of profiles and sessions leave in evidence."""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import TYPE_CHECKING, Any

from holon_core.guard.evidence import RUNTIME_CHAIN

if TYPE_CHECKING:
    from holon_core.guard.guard import Guard
    from holon_core.records.caller import CallerContext
    from holon_core.store.protocol import Tables


def record(
    guard: Guard,
    tables: Tables,
    kind: str,
    subject: str,
    facts: dict[str, Any],
    *,
    caller: CallerContext | None = None,
    chain: str = RUNTIME_CHAIN,
) -> int:
    """Append one record inside a transaction.

    Args:
        guard: The parts.
        tables: Of the transaction.
        kind: What kind of record.
        subject: Id of the profile or session.
        facts: JSON values for people; redacted here.
        caller: Whose doing it is, where that is a caller.
        chain: Of which workspace.
    """
    recorder = guard.recorder
    fields = {name: recorder.safe_json(value) for name, value in facts.items()}
    fields["subject"] = quote(subject)
    fields["host"] = recorder.host_fragment()
    if caller is not None:
        fields["caller"] = recorder.caller(caller)
    return tables.append(recorder.draft(chain, subject, kind, fields))
