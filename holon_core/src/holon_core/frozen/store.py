"""Frozen tools in the store: read by id, changed by revision, projected in the same transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.catalogue.catalogue import TOOLS
from holon_core.errors import Misuse, Refused
from holon_core.frozen.projection import projected
from holon_core.records.failure import failure
from holon_core.records.frozen import FrozenToolRecord
from holon_core.store.rows import decodes
from holon_core.wire.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holon_core.records.frozen import FrozenState
    from holon_core.store.document_tables import Document
    from holon_core.store.protocol import Store, Tables

FROZEN = "holon.frozen"
BATCH = 500
# One record of all versions of a name is looked at where one of them moves.
MAX_VERSIONS = 1000
VERSION_DIGITS = 6


def tool_id(workspace: str, name: str, version: int) -> str:
    """Return the id of a version of a tool (design, section 3)."""
    return f"frozen.{workspace}/{name}~{version}"


def _key(record_id: str) -> str:
    """Return where a record is kept: versions of a name in their order."""
    head, _, version = record_id.rpartition("~")
    return f"{head}~{version.zfill(VERSION_DIGITS)}"


class FrozenStore:
    """The records of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, record_id: str) -> FrozenToolRecord | None:
        """Return a record by id, or ``None``."""
        return self.store.read(lambda tables: get(tables, record_id))

    def read(self, record_id: str) -> FrozenToolRecord:
        """Return a record by id.

        Raises:
            Refused: ``unknown_proposal``.
        """
        return self.store.read(lambda tables: read(tables, record_id))

    def page(
        self,
        *,
        workspace: str | None,
        state: FrozenState | None = None,
        kind: str | None = None,
        after: str = "",
        limit: int = 50,
    ) -> tuple[FrozenToolRecord, ...]:
        """Return records by id; of one workspace where one is named."""
        found: list[FrozenToolRecord] = []
        for record in self._each(workspace, after):
            if state in (None, record.state) and kind in (None, record.definition.kind):
                found.append(record)
            if len(found) == limit:
                break
        return tuple(found)

    def _each(self, workspace: str | None, after: str) -> Iterator[FrozenToolRecord]:
        prefix = "frozen." if workspace is None else f"frozen.{workspace}/"
        start = max(prefix, _key(after)) if after else prefix
        while True:
            rows = self.store.read(
                lambda tables, start=start: tables.list_documents(FROZEN, after=start, limit=BATCH)  # type: ignore[misc]
            )
            for row in rows:
                if not row.id.startswith(prefix):
                    return
                yield record_from(row)
            if len(rows) < BATCH:
                return
            start = rows[-1].id

    def put_file(self, body: bytes) -> str:
        """Keep the bytes of a source file; return their SHA-256."""
        return self.store.transact(lambda tables: tables.put_blob(body))

    def file(self, sha256: str) -> bytes:
        """Return the bytes of a source file.

        Raises:
            Refused: ``artifact_changed``: they are not there, or not those of the digest.
        """
        from holon_core.wire.canonical import sha256_hex

        body = self.store.read(lambda tables: tables.blob(sha256))
        if body is None or sha256_hex(body) != sha256:
            raise Refused(failure("artifact_changed", f"no bytes of the digest {sha256}"))
        return body

    def change(
        self, record_id: str, work: Callable[[Tables, FrozenToolRecord], FrozenToolRecord], at: int
    ) -> FrozenToolRecord:
        """Change a record in one transaction, with what is projected of it."""

        def change(tables: Tables) -> FrozenToolRecord:
            return put(tables, work(tables, read(tables, record_id)), at)

        return self.store.transact(change, full=True)


def get(tables: Tables, record_id: str) -> FrozenToolRecord | None:
    """Return a record by id inside a transaction, or ``None``."""
    found = tables.document(FROZEN, _key(record_id)) if "~" in record_id else None
    return None if found is None else record_from(found)


def read(tables: Tables, record_id: str) -> FrozenToolRecord:
    """Return a record by id inside a transaction; ``Refused``: ``unknown_proposal``."""
    found = get(tables, record_id)
    if found is None:
        raise Refused(failure("unknown_proposal", f"no frozen tool {record_id:.200}"))
    return found


def versions(tables: Tables, workspace: str, name: str) -> list[FrozenToolRecord]:
    """Return all versions of a name, oldest first."""
    prefix = f"frozen.{workspace}/{name}~"
    rows = tables.list_documents(FROZEN, after=prefix, limit=MAX_VERSIONS)
    return [record_from(row) for row in rows if row.id.startswith(prefix)]


def put(tables: Tables, record: FrozenToolRecord, at: int) -> FrozenToolRecord:
    """Store a record's next revision and project it; return it at that revision."""
    body = canonical(_to_json(record))
    revision = tables.put_document(FROZEN, _key(record.id), body, at=at)
    _project(tables, record, at)
    return evolve(record, revision=revision)


def check_revision(record: FrozenToolRecord, expected: int | None) -> None:
    """Refuse a change that is based on another revision.

    Raises:
        Refused: ``conflict``.
    """
    if expected is not None and expected != record.revision:
        text = f"{record.id} is at revision {record.revision}, and {expected} was expected"
        raise Refused(failure("conflict", text, revision=record.revision))


def _project(tables: Tables, record: FrozenToolRecord, at: int) -> None:
    """Make the catalogue say of a tool what its record does, for every process at once."""
    tool = projected(record)
    body = None
    if tool is not None:
        from holon_core.catalogue.codec import descriptor_json

        body = json.dumps(descriptor_json(tool), ensure_ascii=False).encode()
    found = tables.document(TOOLS, record.id)
    if body is None:
        if found is None:
            return
        tables.remove_document(TOOLS, record.id, at=at)
    elif found is None or found.body != body:
        tables.put_document(TOOLS, record.id, body, at=at)
    else:
        return
    tables.bump_revision()


def _to_json(record: FrozenToolRecord) -> Any:
    from holon_core.wire.converter import unstructure

    made = unstructure(record)
    del made["revision"]
    return made


@decodes("a frozen tool")
def record_from(row: Document) -> FrozenToolRecord:
    """Return the record of a stored document."""
    from holon_core.errors import Rejected
    from holon_core.wire.converter import structure

    try:
        record = structure(json.loads(row.body), FrozenToolRecord)
    except Rejected as error:
        raise ValueError(str(error)) from None
    return evolve(record, revision=row.revision)


def not_in_memory(root: object) -> None:
    """Refuse what needs folders of the storage root."""
    if root is None:
        raise Misuse("frozen tools need a storage root; open the runtime with Runtime.open(root)")
