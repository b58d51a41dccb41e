"""Tables for lanes and the catalogue: documents with revisions, leases, blobs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from holon_core.store.rows import decodes, number, text

# After every character that an id may hold.
LAST = "\U0010ffff"


class Document(NamedTuple):
    """One stored document at one revision; ``body`` is canonical JSON."""

    id: str
    revision: int
    at: int
    body: bytes


@decodes("a document")
def _document(row: tuple[Any, ...]) -> Document:
    if type(row[3]) is not bytes:
        raise TypeError
    return Document(text(row[0]), number(row[1], least=1), number(row[2]), row[3])


@decodes("an earlier document")
def _earlier(row: tuple[Any, ...]) -> Document:
    # Where the document was removed, its revision has no body.
    return _document(row) if row[3] is not None else Document(*row)


@decodes("a lease")
def _lease(row: tuple[Any, ...]) -> tuple[str, int, float]:
    return text(row[0]), number(row[1], least=1), float(row[2])


@decodes("a document")
def _revision(row: tuple[Any, ...]) -> int:
    return number(row[0] or 0)


@decodes("a change of a tool")
def _change(row: tuple[Any, ...]) -> tuple[int, str]:
    return number(row[0]), text(row[1])


class DocumentTables:
    """Statements of documents, leases and blobs."""

    _sql: Any
    _many: Any

    def put_document(self, collection: str, doc_id: str, body: bytes, *, at: int) -> int:
        """Store a document's next revision and keep the one before; return the revision."""
        row = self._sql(
            "select revision, at, body from documents where collection=? and id=?",
            (collection, doc_id),
        ).fetchone()
        revision = (self._last_revision(collection, doc_id) if row is None else _revision(row)) + 1
        if row is not None:
            self._sql("insert into revisions values(?,?,?,?,?)", (collection, doc_id, *row))
        self._sql(
            "insert or replace into documents values(?,?,?,?,?)",
            (collection, doc_id, revision, at, body),
        )
        return revision

    def add_documents(self, collection: str, bodies: Mapping[str, bytes], *, at: int) -> None:
        """Store documents that are known not to be there, by id; one statement for all of them."""
        self._many(
            "insert into documents select ?1, ?2, 1 + coalesce((select max(revision)"
            " from revisions where collection=?1 and id=?2), 0), ?3, ?4",
            ((collection, doc_id, at, bodies[doc_id]) for doc_id in sorted(bodies)),
        )

    def _last_revision(self, collection: str, doc_id: str) -> int:
        # A removed document that comes back goes on counting, so that no revision is reused.
        row = self._sql(
            "select max(revision) from revisions where collection=? and id=?", (collection, doc_id)
        ).fetchone()
        return _revision(row)

    def document(self, collection: str, doc_id: str) -> Document | None:
        """Return a document at its newest revision."""
        row = self._sql(
            "select id, revision, at, body from documents where collection=? and id=?",
            (collection, doc_id),
        ).fetchone()
        return None if row is None else _document(row)

    def document_at(self, collection: str, doc_id: str, revision: int) -> Document | None:
        """Return a document at an earlier revision."""
        row = self._sql(
            "select id, revision, at, body from revisions where collection=? and id=?"
            " and revision=?",
            (collection, doc_id, revision),
        ).fetchone()
        return None if row is None else _earlier(row)

    def list_documents(
        self, collection: str, *, after: str = "", limit: int = 1000
    ) -> list[Document]:
        """Return documents of a collection by id, after a given id."""
        rows = self._sql(
            "select id, revision, at, body from documents where collection=? and id>?"
            " order by id limit ?",
            (collection, after, limit),
        )
        return [_document(row) for row in rows]

    def count_documents(self, collection: str) -> int:
        """Count the documents of a collection."""
        row = self._sql("select count(*) from documents where collection=?", (collection,))
        return int(row.fetchone()[0])

    def remove_document(self, collection: str, doc_id: str, *, at: int) -> bool:
        """Remove a document; its earlier revisions stay readable."""
        row = self._sql(
            "select revision, at, body from documents where collection=? and id=?",
            (collection, doc_id),
        ).fetchone()
        if row is None:
            return False
        self._sql("insert into revisions values(?,?,?,?,?)", (collection, doc_id, *row))
        self._sql(
            "insert into revisions values(?,?,?,?,null)",
            (collection, doc_id, _revision(row) + 1, at),
        )
        self._sql("delete from documents where collection=? and id=?", (collection, doc_id))
        return True

    def set_document(self, collection: str, doc_id: str, body: bytes, *, at: int) -> None:
        """Store a document in place of the one before, which is not kept; one statement."""
        self._sql(
            "insert into documents values(?,?,1,?,?) on conflict(collection, id) do update"
            " set revision=revision+1, at=excluded.at, body=excluded.body",
            (collection, doc_id, at, body),
        )

    def delete_document(self, collection: str, doc_id: str) -> None:
        """Remove a document of which no revisions are kept."""
        self._sql("delete from documents where collection=? and id=?", (collection, doc_id))

    def documents_under(
        self, collection: str, prefix: str, *, after: str = "", limit: int = 1000
    ) -> list[Document]:
        """Return documents whose id begins with a prefix, by id, after a given id."""
        rows = self._sql(
            "select id, revision, at, body from documents where collection=? and id>? and id<?"
            " order by id limit ?",
            (collection, max(after, prefix), prefix + LAST, limit),
        )
        return [_document(row) for row in rows]

    def last_tool_change(self) -> tuple[int, str]:
        """Return the newest change of a tool's definition: its number and the tool's id."""
        row = self._sql(
            "select seq, id from tool_changes where seq=(select max(seq) from tool_changes)"
        ).fetchone()
        return (0, "") if row is None else _change(row)

    def tool_changes(self, *, after: int, limit: int) -> list[tuple[int, str]]:
        """Return changes of definitions after a number, in order."""
        rows = self._sql(
            "select seq, id from tool_changes where seq>? order by seq limit ?", (after, limit)
        )
        return [_change(row) for row in rows]

    def take_lease(self, name: str, owner: str, *, now: float, ttl_s: float) -> int | None:
        """Take or renew a lease; return its fencing number, or ``None`` where another holds it.

        The number rises each time the lease changes hands, so that a late write of an earlier
        holder can be told.
        """
        row = self._sql(
            "select owner, fence, expires_at from leases where name=?", (name,)
        ).fetchone()
        fence = 1
        if row is not None:
            holder, fence, expires_at = _lease(row)
            if expires_at <= now or holder == owner:
                fence += expires_at <= now
            else:
                return None
        self._sql(
            "insert or replace into leases values(?,?,?,?)", (name, owner, fence, now + ttl_s)
        )
        return fence

    def lease(self, name: str) -> tuple[str, int, float] | None:
        """Return the holder of a lease, its fencing number and when it ends; 0 if given back."""
        row = self._sql(
            "select owner, fence, expires_at from leases where name=?", (name,)
        ).fetchone()
        return None if row is None else _lease(row)

    def drop_lease(self, name: str, owner: str) -> None:
        """Give a lease back; the fencing number is kept."""
        self._sql("update leases set expires_at=0 where name=? and owner=?", (name, owner))

    def put_blob(self, body: bytes) -> str:
        """Store bytes once; return their SHA-256."""
        digest = hashlib.sha256(body).hexdigest()
        self._sql("insert or ignore into blobs values(?,?,?)", (digest, len(body), body))
        return digest

    def blob(self, digest: str) -> bytes | None:
        """Return the bytes of a digest."""
        row = self._sql("select body from blobs where digest=?", (digest,)).fetchone()
        return None if row is None else bytes(row[0])
