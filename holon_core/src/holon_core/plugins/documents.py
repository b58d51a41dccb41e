"""Documents of a plugin's own: typed collections in the store, each document by revision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import frozen

from holon_core.errors import Misuse, Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from holon_core.clock import Clock
    from holon_core.store.document_tables import Document
    from holon_core.store.protocol import Store

T = TypeVar("T")
_COLLECTION = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
MAX_ID_CHARS = 400
MAX_PAGE = 1000


@frozen(kw_only=True)
class StoredDocument(Generic[T]):
    """A document at one revision; revisions of an id count from 1 and are never reused."""

    id: str
    revision: int
    at_unix_seconds: int
    value: T


class Documents(Generic[T]):
    """One collection of a plugin's documents, shared by all processes on the storage root.

    Args:
        store: The store.
        clock: For times.
        plugin: The plugin's name, which keeps the collections of plugins apart.
        collection: 1 to 64 characters of ``a-z 0-9 _ . -``.
        kind: An attrs class that every document is made of; ``None`` for plain JSON objects.

    Raises:
        Misuse: The name of the collection is not usable.
    """

    def __init__(
        self, store: Store, clock: Clock, plugin: str, *, collection: str, kind: type[T] | None
    ) -> None:
        if not _COLLECTION.fullmatch(collection):
            raise Misuse("a collection's name is 1 to 64 characters of a-z 0-9 _ . -")
        self._store = store
        self._clock = clock
        self._collection = f"plugin:{plugin}:{collection}"
        self._kind = kind

    def put(self, doc_id: str, value: T, *, expected: int | None = None) -> int:
        """Store a document's next revision and return its number.

        Args:
            doc_id: 1 to 400 characters.
            value: A record of the collection's class, or a JSON object.
            expected: The revision that the change is based on, 0 where there is none yet;
                left out, the last writer wins.

        Raises:
            Refused: ``conflict``: another writer was first.
            JsonRefused: The value is not JSON within the limits.
            Misuse: The id or the type of the value is not usable.
        """
        _check_id(doc_id)
        body = self._encode(value)
        at = int(self._clock.now())

        def work(tables: Any) -> int:
            if expected is not None:
                found = tables.document(self._collection, doc_id)
                here = 0 if found is None else found.revision
                if here != expected:
                    text = f"{doc_id} is at revision {here}, and {expected} was expected"
                    raise Refused(failure("conflict", text, revision=here))
            return int(tables.put_document(self._collection, doc_id, body, at=at))

        return self._store.transact(work)

    def put_all(self, values: Mapping[str, T]) -> dict[str, int]:
        """Store the next revisions of many documents: all of them, or none.

        Args:
            values: Records of the collection's class, or JSON objects, by document.

        Returns:
            The number of each document's revision.

        Raises:
            JsonRefused: A value is not JSON within the limits.
            Misuse: An id or the type of a value is not usable.
        """
        for doc_id in values:
            _check_id(doc_id)
        bodies = {doc_id: self._encode(value) for doc_id, value in values.items()}
        at = int(self._clock.now())

        def work(tables: Any) -> dict[str, int]:
            return {
                doc_id: int(tables.put_document(self._collection, doc_id, body, at=at))
                for doc_id, body in bodies.items()
            }

        return self._store.transact(work) if bodies else {}

    def get(self, doc_id: str, *, revision: int | None = None) -> StoredDocument[T] | None:
        """Return a document, at an earlier revision where one is named."""

        def work(tables: Any) -> Document | None:
            found: Document | None = tables.document(self._collection, doc_id)
            if revision is None or (found is not None and found.revision == revision):
                return found
            earlier: Document | None = tables.document_at(self._collection, doc_id, revision)
            return earlier if earlier is not None and earlier.body is not None else None

        found = self._store.read(work)
        return None if found is None else self._decode(found)

    def list(self, *, after: str = "", limit: int = 100) -> list[StoredDocument[T]]:
        """Return documents by id, after a given id; ``limit`` is 1 to 1,000."""
        if not 0 < limit <= MAX_PAGE:
            raise Misuse(f"limit is 1 to {MAX_PAGE}")
        rows = self._store.read(
            lambda tables: tables.list_documents(self._collection, after=after, limit=limit)
        )
        return [self._decode(row) for row in rows]

    def __iter__(self) -> Iterator[StoredDocument[T]]:
        """Go through all documents by id, a page at a time."""
        page = self.list(limit=MAX_PAGE)
        while page:
            yield from page
            page = self.list(after=page[-1].id, limit=MAX_PAGE)

    def remove(self, doc_id: str) -> bool:
        """Remove a document; its revisions stay. Tell whether it was there."""
        at = int(self._clock.now())
        return self._store.transact(
            lambda tables: tables.remove_document(self._collection, doc_id, at=at)
        )

    def remove_all(self, doc_ids: Iterable[str]) -> int:
        """Remove many documents in one change; return how many were there."""
        wanted, at = list(doc_ids), int(self._clock.now())

        def work(tables: Any) -> int:
            return sum(tables.remove_document(self._collection, each, at=at) for each in wanted)

        return self._store.transact(work) if wanted else 0

    def __len__(self) -> int:
        return self._store.read(lambda tables: tables.count_documents(self._collection))

    def _encode(self, value: T) -> bytes:
        from holon_core.wire.canonical import canonical
        from holon_core.wire.converter import unstructure

        wanted: type = dict if self._kind is None else self._kind
        if type(value) is not wanted:
            raise Misuse(f"a document here is a {wanted.__name__}")
        return canonical(value if self._kind is None else unstructure(value))

    def _decode(self, row: Document) -> StoredDocument[T]:
        from holon_core.wire.converter import structure
        from holon_core.wire.strict_json import parse

        data: Any = parse(row.body)
        value = data if self._kind is None else structure(data, self._kind)
        return StoredDocument(id=row.id, revision=row.revision, at_unix_seconds=row.at, value=value)


def _check_id(doc_id: str) -> None:
    if not isinstance(doc_id, str) or not 0 < len(doc_id) <= MAX_ID_CHARS:  # type: ignore[redundant-expr]
        raise Misuse(f"a document's id is a text of 1 to {MAX_ID_CHARS} characters")
