"""Verifying a chain: every record against its hash, its predecessor and its payload."""

from __future__ import annotations

import re
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from holon_core.errors import JsonRefused, Misuse
from holon_core.guard import bundle
from holon_core.names import usable_path
from holon_core.records.evidence import EvidenceHead, Verification
from holon_core.records.progress import Progress
from holon_core.store.chains import Row, genesis, link
from holon_core.wire.canonical import canonical
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holon_core.store.protocol import Store, Tables
    from holon_core.wire.json_types import JsonValue

PAGE = 500
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LAST = 2**62


class Broken(Exception):
    """A record, or the place where one should be, does not fit; ends a walk."""

    def __init__(self, message: str, seq: int | None) -> None:
        super().__init__(message, seq)
        self.message, self.seq = message, seq


class Walk:
    """Follows one chain record by record.

    Args:
        chain: The chain's name.
        seq: The position of the record before the first; 0 at the chain's start.
        previous: That record's hash; ``None`` at the chain's start.
        kept: A head that was kept elsewhere, to be met on the way.
    """

    def __init__(
        self, chain: str, *, seq: int = 0, previous: str | None = None, kept: EvidenceHead | None
    ) -> None:
        self.chain, self.start, self.seq = chain, seq, seq
        self.hash = previous or genesis(chain)
        self.kept = kept
        self.matched: bool | None = None if kept is None else False
        self._meet()

    def step(self, seq: Any, *, body: Any, link_hash: Any, payload: Any) -> None:
        """Take the next record.

        Raises:
            Broken: It does not fit; the walk stays where it was.
        """
        self._check(seq, body, link_hash, payload)
        self._advance(link_hash)

    def row(self, row: Row) -> None:
        """Take the next stored row, whose columns must say what the body says."""
        body = self._check(row.seq, row.body, row.hash, row.payload)
        if [body["call"], body["kind"], body["at"]] != [row.call, row.kind, row.at]:
            self.fail("has columns that differ from its body")
        self._advance(row.hash)

    def fail(self, what: str) -> NoReturn:
        """End the walk at the record that would come next."""
        raise Broken(f"record {self.seq + 1} {what}", self.seq + 1)

    def _check(self, seq: Any, body: Any, link_hash: Any, payload: Any) -> dict[str, JsonValue]:
        if type(seq) is not int or seq != self.seq + 1:
            self.fail("is missing, or another stands in its place")
        if not isinstance(body, bytes) or link_hash != link(self.hash, seq, body):
            self.fail("does not fit its hash")
        read = self._read(body)
        if payload is not None and not _digests(read.get("payload"), payload):
            self.fail("has a payload that its digest does not cover")
        return read

    def _read(self, body: bytes) -> dict[str, JsonValue]:
        try:
            value = parse(body, max_bytes=bundle.MAX_LINE_BYTES)
        except JsonRefused:
            self.fail("has a body that is not strict JSON")
        if canonical(value) != body:
            self.fail("has a body that is not canonical")
        if not isinstance(value, dict) or not _is_version_1(value):
            self.fail("has a body of another form than this version's")
        return value

    def _advance(self, link_hash: str) -> None:
        self.seq, self.hash = self.seq + 1, link_hash
        self._meet()

    def _meet(self) -> None:
        if self.kept is not None and (self.chain, self.seq) == (self.kept.chain, self.kept.seq):
            self.matched = self.hash == self.kept.hash


def verify_chain(
    store: Store,
    chain: str,
    *,
    head: EvidenceHead | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Verification:
    """Verify a chain in a store, also beside live writers.

    Args:
        store: Where it lies.
        chain: The workspace id, or ``_runtime``.
        head: A head kept elsewhere: the chain must still hold it.
        progress: Told from time to time how many records are done.

    Returns:
        What was found, with the first bad position.

    Source: docs/evidence.md, "What the chain shows".
    """
    anchor, last, strays = store.read(partial(_bounds, chain=chain))
    walk = Walk(chain, kept=head)
    broken = None
    try:
        for row in rows(store, chain, to=last):
            walk.row(row)
            if progress is not None and row.seq % PAGE == 0:
                progress(Progress(stage="verify", done=row.seq, total=last))
        _check_anchor(walk, *anchor)
        if strays:
            walk.fail("may be missing: the store holds records of a chain that lost its head")
    except Broken as error:
        broken = error
    return _outcome(walk, broken)


def rows(store: Store, chain: str, *, after: int = 0, to: int = _LAST) -> Iterator[Row]:
    """Read a range of a chain page by page: one long read would keep the log from shrinking."""
    while page := store.read(partial(_page, chain=chain, after=after, to=to)):
        yield from page
        after = page[-1].seq


def verify_bundle(path: Path | str, *, head: EvidenceHead | None = None) -> Verification:
    """Verify an exported bundle, without a store.

    Args:
        path: The file.
        head: A head kept elsewhere: the bundle must hold it.

    Raises:
        Refused: ``path_not_found`` where the file cannot be read.
        Misuse: It is no path, or the head no ``EvidenceHead``.

    Source: docs/evidence.md, "Bundles".
    """
    if head is not None and not isinstance(head, EvidenceHead):
        raise Misuse("head is an EvidenceHead; of a printed one make EvidenceHead(**values)")
    walk = Walk("", kept=head)
    broken = None
    try:
        lines = bundle.read(Path(usable_path(path, "path")))
        walk = _begin(lines, head)
        _follow(walk, lines)
    except bundle.BrokenLine as error:
        broken = Broken(f"after record {walk.seq}: {error}", walk.seq + 1 if walk.chain else None)
    except Broken as error:
        broken = error
    return _outcome(walk, broken)


def _bounds(tables: Tables, chain: str) -> tuple[tuple[Any, Any, Any], int, bool]:
    # In one view: what a writer adds later is beyond all of it.
    newest = tables.records_before(chain, before=_LAST, limit=1)
    anchor = tables.stored_anchor(chain)
    if anchor is None:
        return (0, genesis(chain), None), 0, tables.has_strays()
    return anchor, newest[0].seq if newest else 0, not newest and tables.has_strays()


def _page(tables: Tables, chain: str, after: int, to: int) -> list[Row]:
    return tables.records(chain, after=after, limit=PAGE, to=to)


def _check_anchor(walk: Walk, seq: Any, said: Any, found: Any) -> None:
    """Compare a chain with its anchor: an earlier head that stands beside the records."""
    if type(seq) is not int or seq > walk.seq:
        walk.fail("is missing: the chain ends before its anchor")
    if said != (genesis(walk.chain) if seq == 0 else found):
        raise Broken(f"record {seq} is not what the chain's anchor says", max(1, seq))


def _begin(lines: Iterator[dict[str, JsonValue]], head: EvidenceHead | None) -> Walk:
    first = next(lines, {})
    chain, seq, previous = first.get("chain"), first.get("from"), first.get("previous")
    if (
        set(first) != {"format", "chain", "from", "previous"}
        or first["format"] != bundle.FORMAT
        or not isinstance(chain, str)
        or type(seq) is not int
        or seq < 1
        or not isinstance(previous, str)
        or _HASH.fullmatch(previous) is None
        or (seq == 1 and previous != genesis(chain))
    ):
        raise Broken("the first line is not the header of a bundle", None)
    return Walk(chain, seq=seq - 1, previous=previous, kept=head)


def _follow(walk: Walk, lines: Iterator[dict[str, JsonValue]]) -> None:
    for fields in lines:
        if "head" in fields:
            end = EvidenceHead(chain=walk.chain, seq=walk.seq, hash=walk.hash)
            if bundle.line(fields) != bundle.line(bundle.tail(end)):
                walk.fail("is missing, or the last line is not the head of these records")
            if next(lines, None) is not None:
                walk.fail("stands after the last line")
            return
        _follow_record(walk, fields)
    walk.fail("or the last line is missing")


def _follow_record(walk: Walk, fields: dict[str, JsonValue]) -> None:
    texts = {name: fields[name] for name in ("body", "payload") if name in fields}
    if fields.keys() - {"payload"} != {"seq", "body", "hash"} or not all(
        isinstance(text, str) for text in texts.values()
    ):
        walk.fail("is not written as records are")
    data = {name: str(text).encode() for name, text in texts.items()}
    walk.step(
        fields["seq"], body=data["body"], link_hash=fields["hash"], payload=data.get("payload")
    )


def _is_version_1(body: dict[str, JsonValue]) -> bool:
    types = {"v": int, "kind": str, "call": str, "at": int}
    return all(type(body.get(name)) is kind for name, kind in types.items()) and body["v"] == 1


def _digests(said: Any, payload: Any) -> bool:
    return isinstance(payload, bytes) and said == {
        "bytes": len(payload),
        "sha256": sha256(payload).hexdigest(),
    }


def _outcome(walk: Walk, broken: Broken | None) -> Verification:
    bad = None if broken is None else broken.seq
    if broken is not None:
        text = f"not consistent: {broken.message}"
    elif walk.kept is None and walk.seq == 0:
        text = "nothing recorded yet"
    elif walk.kept is None:
        text = "consistent; only a head kept elsewhere can show that nothing was rewritten"
    elif walk.matched:
        text = f"consistent, and unchanged up to the kept head at {walk.kept.seq}"
    else:
        bad, text = _unmet(walk, walk.kept)
    return Verification(
        chain=walk.chain,
        records=walk.seq - walk.start,
        consistent=broken is None,
        matches_head=walk.matched,
        bad_seq=bad,
        message=text,
    )


def _unmet(walk: Walk, kept: EvidenceHead) -> tuple[int | None, str]:
    if kept.chain != walk.chain:
        return None, "consistent, but the kept head is another chain's"
    if kept.seq < walk.start:
        return None, f"consistent, but begins after the kept head at {kept.seq}"
    if kept.seq > walk.seq:
        return walk.seq + 1, f"consistent, but ends before the kept head at {kept.seq}"
    return kept.seq, f"rewritten: record {kept.seq} is not the one that the kept head names"
