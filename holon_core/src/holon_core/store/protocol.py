"""What the rest of Holon may ask of a store; another store is another distribution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from holon_core.errors import HolonError, RuntimeNotOpen, StoreError
from holon_core.store.approval_tables import ApprovalTables
from holon_core.store.chains import Draft, OpenCall
from holon_core.store.document_tables import DocumentTables
from holon_core.store.evidence_tables import EvidenceTables
from holon_core.store.frozen_tables import FrozenTables

T = TypeVar("T")


class Tables(EvidenceTables, ApprovalTables, DocumentTables, FrozenTables):
    """All statements of the store, bound to one connection."""


class StoreClosed(StoreError, RuntimeNotOpen):
    """The store of a runtime that was closed, or that nobody held any more."""

    def __init__(self) -> None:
        HolonError.__init__(self)
        self.code = "store_unavailable"
        self.message = "the runtime of it was closed, or nothing held it (a facet alone does not)"

    def __str__(self) -> str:
        return f"{self.message}; open another, and keep it"


class StoreBusy(Exception):
    """A change that may not wait would have had to."""


class Store(Protocol):
    """The narrow interface: one way to change, one to read."""

    path: Path | None

    def transact(
        self,
        work: Callable[[Tables], T],
        *,
        wait: bool = True,
        full: bool = False,
    ) -> T:
        """Run ``work`` in one transaction and commit it, all or nothing.

        Args:
            work: Called with the tables; may be called again where the store was busy.
            wait: Wait up to 5 s for other writers; otherwise raise ``StoreBusy`` at once.
            full: Flush to the disk before returning (survives a power failure).

        Raises:
            Misuse: Called inside another change of the same thread.
            StoreBusy: ``wait`` is false and another writer is at work, or ``full`` is asked.
            StoreError: ``store_locked`` after 5 s; ``store_unavailable`` for other faults.
            UsedAfterFork: Called in a child of the process that opened the store.
        """
        ...

    def together(self, work: Callable[[], T]) -> T:
        """Run ``work`` in one transaction, which every change and read of its thread is part of.

        All of it is flushed to the disk, or nothing is changed. Other writers wait meanwhile, in
        whatever process.

        Args:
            work: Calls what changes the store; may be called again where the store was busy.

        Raises:
            Misuse: Called inside a single change of the same thread.
            StoreError: As for ``transact``.
            UsedAfterFork: As for ``transact``.
        """
        ...

    def append(
        self,
        draft: Draft,
        *,
        revision: int | None = None,
        opens: str = "",
        closes: OpenCall | None = None,
        wait: bool = True,
        full: bool = False,
    ) -> int:
        """Append one record and nothing else, in a transaction of its own; return its position.

        As ``transact`` with ``EvidenceTables.append`` as its work, at less cost. Arguments and
        exceptions are those of the two.
        """
        ...

    def read(self, work: Callable[[Tables], T]) -> T:
        """Run ``work`` on a consistent view of what is committed.

        Args:
            work: Called with the tables, to read only; may be called again.

        Raises:
            StoreError: As for ``transact``.
            UsedAfterFork: Called in a child of the process that opened the store.
        """
        ...

    def close(self) -> None:
        """Close all connections; a second call does nothing."""
        ...
