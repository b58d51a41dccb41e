"""Operations on evidence: list, read, verify, head, export, erase."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.operations.answers import answer, listed, page, schema_of, to_json
from holon_core.operations.door import Door, Params
from holon_core.operations.schemas import (
    CALL_ID,
    LIMIT,
    REASON,
    WORKSPACE,
    flag,
    params,
    text,
    whole,
)
from holon_core.operations.tool_rows import READS, WRITES
from holon_core.records.evidence import EvidenceHead, EvidenceRecord, Verification
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from collections.abc import Iterable

NOUN = "evidence"
_RECORD = schema_of(EvidenceRecord)
_HEAD = schema_of(EvidenceHead)
_AFTER = whole("Only what comes after this position in the listing.", least=0, default=0)


def list_evidence(door: Door, given: Params) -> Any:
    """Answer a page of a chain; of its own calls alone to a caller."""
    limit = given.get("limit", 50)
    found = door.runtime.evidence.list(
        workspace=door.workspace_of(given),
        after=given.get("after", 0),
        limit=limit,
        newest=given.get("newest", False),
    )
    last = found[-1].seq if len(found) == limit else None
    return {"records": to_json(_visible(door, found)), "next_after": last}


def read_evidence(door: Door, given: Params) -> Any:
    """Answer the trail of one call; nothing where it is another's."""
    found = door.runtime.evidence.read(given["call_id"])
    return {"records": to_json(_visible(door, found))}


def verify(door: Door, given: Params) -> Any:
    """Verify a chain, against an earlier head where one is given."""
    head = given.get("head")
    kept = None if head is None else EvidenceHead(**head)
    return to_json(door.runtime.evidence.verify(door.workspace_of(given), head=kept))


def head(door: Door, given: Params) -> Any:
    """Answer where a chain ends."""
    return to_json(door.runtime.evidence.head(door.workspace_of(given)))


def export(door: Door, given: Params) -> Any:
    """Write a bundle that verifies offline."""
    path = Path(given["path"]).absolute()
    end = door.runtime.evidence.export(
        path,
        workspace=door.workspace_of(given),
        after=given.get("after", 0),
        replace=given.get("replace", False),
    )
    return {"path": str(path), "head": to_json(end)}


def erase(door: Door, given: Params) -> Any:
    """Erase payloads; the records stay."""
    erased = door.runtime.evidence.erase(
        door.workspace_of(given),
        by=door.caller.principal,
        reason=given["reason"],
        before_unix_seconds=given.get("before_unix_seconds"),
        call_id=given.get("call_id"),
    )
    return {"erased": erased}


def _visible(door: Door, records: Iterable[EvidenceRecord]) -> list[EvidenceRecord]:
    if door.sees_all:
        return list(records)
    own: dict[tuple[str, str], bool] = {}
    mine = []
    for record in records:
        place = (record.chain, record.call_id)
        if place not in own:
            own[place] = _is_own(door, *place)
        if own[place]:
            mine.append(record)
    return mine


def _is_own(door: Door, chain: str, call_id: str) -> bool:
    """Tell whether a call is the caller's: its first record in its chain names who called.

    In another chain something else may be recorded under the same id, such as a run that was
    called so.
    """
    records = door.runtime.evidence.read(call_id)
    caller = next((each.body.get("caller") for each in records if each.chain == chain), None)
    return isinstance(caller, dict) and door.owns(
        principal=caller.get("principal"), workspace=caller.get("workspace")
    )


ROWS = (
    Operation(
        noun=NOUN,
        verb="list",
        request=params(
            workspace=WORKSPACE, after=_AFTER, limit=LIMIT, newest=flag("Newest first.")
        ),
        response=page("records", _RECORD, cursor="integer"),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_evidence,
        listing="records",
        columns=("seq", "created_at_unix_seconds", "kind", "call_id", "preview"),
        doc=(
            "List the records of one chain in the order they were written in. A caller sees those "
            "of its own calls, so that a page may hold fewer than `limit`; only `next_after` null "
            "ends it."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="read",
        request=params(("call_id",), call_id=CALL_ID),
        response=answer(records=listed(_RECORD)),
        authority=Authority.CALLER,
        effects=READS,
        handler=read_evidence,
        listing="records",
        columns=("seq", "created_at_unix_seconds", "kind", "preview", "hash"),
        positional=("call_id",),
        doc="Read the trail of one call in order; empty where it is unknown or another's.",
    ),
    Operation(
        noun=NOUN,
        verb="verify",
        request=params(
            workspace=WORKSPACE,
            head={
                **params(
                    ("chain", "seq", "hash"),
                    chain=text("The chain's name."),
                    seq=whole("Its position.", least=0),
                    hash={"type": "string", "pattern": "^[0-9a-f]{64}$"},
                ),
                "description": "A head that was kept elsewhere, as `evidence/head` gave it.",
            },
        ),
        response=schema_of(Verification),
        authority=Authority.CALLER,
        effects=READS,
        handler=verify,
        doc=(
            "Verify a chain. Without an earlier head it says whether the chain is consistent with "
            "itself; only a head kept elsewhere shows that nothing was rewritten."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="head",
        request=params(workspace=WORKSPACE),
        response=_HEAD,
        authority=Authority.CALLER,
        effects=READS,
        handler=head,
        doc="Say where a chain ends. Keep it where the holder of the store cannot change it.",
    ),
    Operation(
        noun=NOUN,
        verb="export",
        request=params(
            ("path",),
            path=text("The file to write.", limit=4096),
            workspace=WORKSPACE,
            after=_AFTER,
            replace=flag("Write over an earlier bundle; nothing else is written over."),
        ),
        response=answer(path={"type": "string"}, head=_HEAD),
        authority=Authority.OPERATOR,
        effects=frozenset({Effect.MACHINE_WRITE}),
        handler=export,
        positional=("path",),
        doc="Write a chain, or what came after a position, to a bundle that verifies offline.",
    ),
    Operation(
        noun=NOUN,
        verb="erase",
        request=params(
            ("reason",),
            reason=REASON,
            workspace=WORKSPACE,
            before_unix_seconds=whole("Payloads of records written before this time.", least=0),
            call_id=text("Payloads of this call."),
        ),
        response=answer(erased={"type": "integer"}),
        authority=Authority.OPERATOR,
        effects=WRITES | {Effect.DESTRUCTIVE},
        handler=erase,
        doc=(
            "Erase payloads by age or by call (exactly one of them); the records stay and the "
            "chain still verifies."
        ),
    ),
)
