"""Reading evidence: records, heads, verification, erasing payloads, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import JsonRefused, Misuse, Refused
from holon_core.governed import Facet, operation
from holon_core.guard.evidence import RUNTIME_CHAIN
from holon_core.guard.retention import MAX_REASON, note_erased
from holon_core.guard.workspaces import COLLECTION as WORKSPACES
from holon_core.ids import new_id
from holon_core.names import (
    MAX_NAME,
    MAX_TOOL_ID,
    required_name,
    required_text,
    usable_path,
    whole,
)
from holon_core.records.evidence import EvidenceHead, EvidenceRecord, Verification
from holon_core.records.failure import failure
from holon_core.records.listing import Listing
from holon_core.store.chains import genesis
from holon_core.visible import escape_controls
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holon_core.guard.evidence import Recorder
    from holon_core.records.progress import Progress
    from holon_core.records.sink import SinkState
    from holon_core.store.chains import Row
    from holon_core.store.protocol import Store, Tables
    from holon_core.wire.json_types import JsonValue

MAX_LIMIT = 1000
PREVIEW_CHARS = 200
# Records per change while an index grows or payloads are erased: callers wait no longer for it.
BATCH = 5000
_END = 2**62


class Evidence(Facet):
    """The evidence of a store, as its readers see it.

    ``workspace`` is a workspace's id everywhere; ``None`` means calls without a workspace.
    """

    def __init__(
        self,
        store: Store,
        recorder: Recorder,
        *,
        root: Path | None = None,
        sinks: Callable[[], tuple[SinkState, ...]] = tuple,
    ) -> None:
        self._store = store
        self._sinks = sinks
        self._recorder = recorder
        self._root = root

    def list(
        self, *, workspace: str | None, after: int = 0, limit: int = 50, newest: bool = False
    ) -> Listing[EvidenceRecord]:
        """Return a page of one chain by position, which is the order records were written in.

        Its ``more`` says that others may follow.

        Args:
            workspace: Whose chain.
            after: The last position seen in this listing; 0 begins it.
            limit: How many at most, 1 to 1000.
            newest: Newest first.

        Raises:
            Refused: ``wrong_workspace``: there is no such workspace, nor a chain of one.
            Misuse: ``after`` or ``limit`` is out of bounds.
        """
        _check_page(after, limit)
        chain = self._chain(workspace)

        def rows(tables: Tables) -> list[Row]:
            if newest:
                return tables.records_before(chain, before=after or _END, limit=limit)
            return tables.records(chain, after=after, limit=limit)

        return Listing.page(map(to_record, self._store.read(rows)), limit)

    def records_with_state(
        self, *, workspace: str | None, after: int = 0, limit: int = 50
    ) -> Listing[EvidenceRecord]:
        """Return records as ``list`` does, each marked by a verification of the whole chain.

        Args:
            workspace: Whose chain.
            after: The last position seen; 0 begins.
            limit: How many at most, 1 to 1000.

        The first record that does not fit, and all after it, are ``verified=False``; what they
        hold can still be read.
        """
        records = self.list(workspace=workspace, after=after, limit=limit)
        found = self.verify(workspace)
        good = found.records if found.bad_seq is None else found.bad_seq - 1
        marked = (evolve(record, verified=record.seq <= good) for record in records)
        return Listing.page(marked, limit)

    def read(self, call_id: str) -> tuple[EvidenceRecord, ...]:
        """Return the records of one call in order; none where the call is unknown."""
        required_text(call_id, "a call id", MAX_NAME)
        self._index_calls()
        return Listing(map(to_record, self._store.read(lambda tables: tables.records_of(call_id))))

    def head(self, workspace: str | None) -> EvidenceHead:
        """Return where a chain ends; position 0 where it has no record yet.

        Raises:
            Refused: ``wrong_workspace``: there is no such workspace, nor a chain of one.
        """
        chain = self._chain(workspace)
        end = self._store.read(lambda tables: tables.head(chain))
        seq, last = (0, genesis(chain)) if end is None else end
        return EvidenceHead(chain=chain, seq=seq, hash=last)

    def heads(self) -> tuple[EvidenceHead, ...]:
        """Return where each chain ends, by chain."""
        ends = self._store.read(lambda tables: tables.heads())
        return Listing(EvidenceHead(chain=chain, seq=seq, hash=last) for chain, seq, last in ends)

    def sinks(self) -> tuple[SinkState, ...]:
        """Return how far each sink has come and what it last failed with, required ones first."""
        return Listing(self._sinks())

    def verify(
        self,
        workspace: str | None,
        *,
        head: EvidenceHead | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Verification:
        """Verify a chain from its beginning, also beside live writers.

        Args:
            workspace: Whose chain.
            head: A head that was kept elsewhere; without one the chain can only be consistent.
            progress: Told how many records were verified.

        Returns:
            Whether the chain fits itself and the head, and the first position that does not.

        Raises:
            Refused: ``wrong_workspace``: there is no such workspace, nor a chain of one, nor is
                the kept head of it.
            Misuse: The head is no ``EvidenceHead``.
        """
        from holon_core.guard.verify import verify_chain

        if head is not None and not isinstance(head, EvidenceHead):
            raise Misuse("head is an EvidenceHead; of a printed one make EvidenceHead(**values)")
        kept = head is not None and head.chain == workspace
        # A kept head proves that the chain was there, whatever is left of it.
        chain = chain_of(workspace) if kept else self._chain(workspace)
        return verify_chain(self._store, chain, head=head, progress=progress)

    @operation("evidence/erase")
    def erase(
        self,
        workspace: str | None,
        *,
        by: str,
        reason: str,
        before_unix_seconds: int | None = None,
        call_id: str | None = None,
    ) -> int:
        """Erase payloads by age or by call; the records stay and the chain still verifies.

        What was erased leaves records ``payloads_erased`` in the same chain: how many, by whom
        and why, one for each 5000 positions.

        Args:
            workspace: Whose chain.
            by: Who has them erased.
            reason: Why, at most 2000 characters; both are kept in evidence.
            before_unix_seconds: Payloads of records written before this time.
            call_id: Payloads of this call.

        Returns:
            How many payloads were erased.

        Raises:
            Misuse: Neither or both of time and call are given, or ``by`` or ``reason`` is empty.
        """
        required_name(by, "by")
        required_text(reason, "reason", MAX_REASON)
        if (before_unix_seconds is None) == (call_id is None):
            raise Misuse("erase by before_unix_seconds or by call_id: give exactly one")
        chain, said = self._chain(workspace), {"by": by, "reason": reason}
        if call_id is not None:
            return self._erase_call(chain, required_text(call_id, "a call id", MAX_NAME), said)
        assert before_unix_seconds is not None, "one of the two is given"
        whole(before_unix_seconds, "before_unix_seconds", least=0, most=_END)
        return self._erase_before(chain, before_unix_seconds, said)

    @operation("evidence/export")
    def export(
        self, path: Path | str, *, workspace: str | None, after: int = 0, replace: bool = False
    ) -> EvidenceHead:
        """Write a chain, or what came after a position, to a bundle that verifies offline.

        Args:
            path: The file, made readable by its owner alone.
            workspace: Whose chain.
            after: The last position that an earlier bundle holds; 0 writes the whole chain.
            replace: Write over an earlier bundle; what is none is never written over.

        Returns:
            The head that the bundle ends with.

        Raises:
            Misuse: ``after`` is negative.
            Refused: ``file_exists``; ``arguments_invalid`` where the file cannot be written, lies
                in the storage root, or the chain has no position ``after``; ``wrong_workspace``.

        Source: docs/evidence.md, "Bundles".
        """
        from holon_core.guard import bundle

        _check_page(after, 1)
        head = self.head(workspace)
        previous = self._hash_at(head.chain, after)
        lines = self._lines(head, after, previous)
        bundle.write(Path(usable_path(path, "path")), lines, replace=replace, outside=self._root)
        return head

    def _lines(
        self, head: EvidenceHead, after: int, previous: str
    ) -> Iterator[dict[str, JsonValue]]:
        from holon_core.guard import bundle, verify

        yield bundle.header(head.chain, first=after + 1, previous=previous)
        yield from map(
            bundle.record, verify.rows(self._store, head.chain, after=after, to=head.seq)
        )
        yield bundle.tail(head)

    def _hash_at(self, chain: str, seq: int) -> str:
        if seq == 0:
            return genesis(chain)
        rows = self._store.read(
            lambda tables: tables.records(chain, after=seq - 1, limit=1, to=seq)
        )
        if not rows:
            raise Refused(failure("arguments_invalid", f"chain {chain} has no record {seq}"))
        return rows[0].hash

    def _chain(self, workspace: str | None) -> str:
        """Return the chain of a workspace that there is, or was: a mistyped one has none."""
        chain = chain_of(workspace)
        if workspace is None:
            return chain
        required_text(workspace, "workspace", MAX_TOOL_ID)

        def known(tables: Tables) -> bool:
            return (
                tables.head(chain) is not None
                or tables.document(WORKSPACES, chain) is not None
                or bool(tables.records(chain, after=0, limit=1))
            )

        if not self._store.read(known):
            raise Refused(failure("wrong_workspace", f"no workspace {_printable(chain)}"))
        return chain

    def _index_calls(self) -> None:
        def stale(tables: Tables) -> list[tuple[str, int]]:
            ends = tables.heads()
            return [(c, seq) for c, seq, _ in ends if tables.cursor("calls", c) < seq]

        for chain, seq in self._store.read(stale):

            def more(tables: Tables, chain: str = chain, seq: int = seq) -> bool:
                behind = tables.cursor("calls", chain) < seq
                return behind and tables.index_calls(chain, limit=BATCH)

            while self._store.transact(more):
                pass

    def _erase_call(self, chain: str, call_id: str, said: dict[str, str]) -> int:
        self._index_calls()

        def erase(tables: Tables) -> int:
            seqs = [row.seq for row in tables.records_of(call_id) if row.chain == chain]
            erased = sum(tables.erase_payload(chain, seq) for seq in seqs)
            note_erased(self._recorder, tables, said, chain=chain, call=call_id, erased=erased)
            return erased

        return self._store.transact(erase, full=True)

    def _erase_before(self, chain: str, at: int, said: dict[str, str]) -> int:
        end = self._store.read(lambda tables: tables.head(chain))
        total, erasing = 0, new_id("e")
        for after in range(0, 0 if end is None else end[0], BATCH):

            def erase(tables: Tables, after: int = after) -> int:
                to = after + BATCH
                erased = tables.erase_payloads_before(chain, at, after=after, to=to)
                more = {"erased": erased, "before_unix_seconds": at}
                note_erased(self._recorder, tables, said, chain=chain, call=erasing, **more)
                return erased

            total += self._store.transact(erase, full=True)
        return total


def chain_of(workspace: str | None) -> str:
    """Return the name of a workspace's chain."""
    return RUNTIME_CHAIN if workspace is None else workspace


def to_record(row: Row) -> EvidenceRecord:
    """Return a row as readers see it; what tampering left unreadable in it is empty."""
    body = _json(row.body)
    return EvidenceRecord(
        chain=_printable(row.chain),
        seq=row.seq,
        call_id=_printable(row.call),
        kind=_printable(row.kind),
        created_at_unix_seconds=row.at,
        body=body if isinstance(body, dict) else {},
        hash=_printable(row.hash),
        payload=_json(row.payload),
        preview=preview(row.payload),
    )


def preview(payload: bytes | None) -> str:
    """Return the beginning of a payload in one line of at most 200 characters."""
    if not isinstance(payload, bytes):
        return ""
    # A character takes at most four bytes; one more shows that something was left out.
    text = payload[: PREVIEW_CHARS * 4 + 4].decode(errors="replace")
    shown = escape_controls(text[: PREVIEW_CHARS + 1])
    return shown if len(shown) <= PREVIEW_CHARS else shown[: PREVIEW_CHARS - 1] + "…"


def _json(data: Any) -> JsonValue:
    from holon_core.guard.bundle import MAX_LINE_BYTES

    if not isinstance(data, bytes):
        return None
    try:
        return parse(data, max_bytes=MAX_LINE_BYTES)
    except JsonRefused:
        return None


def _printable(text: Any) -> str:
    return str(text).encode(errors="backslashreplace").decode()


def _check_page(after: object, limit: object) -> None:
    whole(after, "after", least=0, most=_END)
    whole(limit, "limit", least=1, most=MAX_LIMIT)
