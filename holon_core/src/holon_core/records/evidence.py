"""Evidence as it is read: one link of a workspace's chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class EvidenceRecord(Record):
    """One record of a chain.

    ``hash`` links it to its predecessor and covers ``body``; ``body`` holds the digest of
    ``payload``, so that a payload can be erased (``None``) and the chain still verifies.
    ``preview`` is a bounded look at the payload. ``verified`` is ``None`` where the chain was not
    verified by what read the record. Source: docs/evidence.md, "Format".
    """

    chain: str
    seq: int
    call_id: str
    kind: str
    created_at_unix_seconds: int
    body: Mapping[str, Any]
    hash: str
    payload: Any = None
    preview: str = ""
    verified: bool | None = None

    def _repr_html_(self) -> str:
        from holon_core.render import evidence_html

        return evidence_html((self,))


@frozen(kw_only=True, eq=False, repr=False)
class EvidenceHead(Record):
    """Where a chain ends. Kept elsewhere, it shows a later edit or a cut tail."""

    chain: str
    seq: int
    hash: str


@frozen(kw_only=True, eq=False, repr=False)
class Verification(Record):
    """What verifying a chain found.

    ``consistent`` alone says that the chain fits itself; ``matches_head`` is ``None`` where no
    earlier head was given, since only an earlier head can show tampering by a file's holder.
    """

    chain: str
    records: int
    consistent: bool
    matches_head: bool | None
    bad_seq: int | None = None
    message: str = ""

    def _repr_html_(self) -> str:
        from holon_core.render import verification_html

        return verification_html(self)
