"""Registering what sources define: judged, reviewed, stored by revision."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from holon_core.catalogue.catalogue import TOOLS
from holon_core.catalogue.codec import descriptor_from
from holon_core.errors import FINDINGS
from holon_core.plugins.faults import kind_of, told
from holon_core.records.finding import Finding, has_errors
from holon_core.records.tool import Provenance, RuntimeToolDescriptor
from holon_core.records.words import Origin, Severity
from holon_core.store.rows import decodes

if TYPE_CHECKING:
    from holon_core.catalogue.candidates import Candidate, Candidates
    from holon_core.catalogue.source_records import Registered, StoredSource
    from holon_core.clock import Clock
    from holon_core.records.lane import CapabilityLane
    from holon_core.records.tool import Limits
    from holon_core.store.protocol import Store, Tables

SOURCES = "holon.sources"
MAX_SOURCES = 10_000
MAX_DEFINITIONS = 100_000
MAX_FINDINGS = 1000
# Documents of one transaction: other writers get their turn in between.
BATCH = 2000

Reviewer = Callable[[RuntimeToolDescriptor, "RuntimeToolDescriptor | None"], Iterable[Finding]]


class Registry:
    """Puts definitions of sources into the store.

    Args:
        store: Where they live.
        clock: For times.
        lanes: The lanes that are here, by kind.
        reviewers: Asked about every candidate that is new or changed.
        limits: For tools that state none.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        lanes: Mapping[str, CapabilityLane],
        reviewers: Sequence[Reviewer],
        limits: Limits,
    ) -> None:
        self.store = store
        self.clock = clock
        self._lanes = lanes
        self._reviewers = reviewers
        self._limits = limits

    @property
    def conditions(self) -> str:
        """What besides a source itself decides how its definitions are stored."""
        kinds = ",".join(sorted(self._lanes))
        return f"{self._limits.timeout_s}/{self._limits.max_output_bytes}/{kinds}"

    def stored(self) -> dict[str, StoredSource]:
        """Return what is stored of every source, by its id."""
        rows = self.store.read(lambda tables: tables.list_documents(SOURCES, limit=MAX_SOURCES))
        return {row.id: _stored_source(row.id, row.body) for row in rows}

    def stored_source(self, source: str) -> StoredSource | None:
        """Return what is stored of one source."""
        row = self.store.read(lambda tables: tables.document(SOURCES, source))
        return None if row is None else _stored_source(source, row.body)

    def register(
        self,
        source: str,
        definitions: Iterable[Any],
        *,
        origin: Origin,
        provenance: Provenance,
        key: str = "",
        whole: bool = True,
        registered: bool = False,
        gone: frozenset[str] = frozenset(),
    ) -> Registered:
        """Make the stored definitions of a source those that are given.

        Good definitions come in and bad ones are reported; neither keeps the other from it.

        Args:
            source: The source id; every definition's id begins with it.
            definitions: Descriptors; their origin, provenance and digest are set here.
            origin: Where the entries come from.
            provenance: Who provides them.
            key: Distribution version and signal under which they were read.
            whole: These are all; otherwise what is stored beyond them stays.
            registered: Nothing offers the source at a start; it stays until it is dropped.
            gone: Ids that are removed although these are not all.
        """
        from holon_core.catalogue.candidates import Candidates
        from holon_core.catalogue.source_records import Registered

        judge = Candidates(
            source, lanes=self._lanes, limits=self._limits, origin=origin, provenance=provenance
        )
        since = self.store.read(lambda tables: tables.revision())
        if whole:
            stored = self._bodies(source)
        else:
            definitions = list(islice(definitions, MAX_DEFINITIONS + 1))
            stored = self._some_bodies((*map(_id_of, definitions), *gone))
        good, findings = self._sift(judge, definitions, stored)
        told = findings if whole else self._kept_findings(source, good, findings, gone)
        removed = [
            each
            for each in stored
            if each not in good and (whole or each in findings or each in gone)
        ]
        state: dict[str, Any] = {
            "key": key,
            "distribution": provenance.distribution,
            "findings": _findings_json(told),
        }
        if registered:
            state["registered"] = True
        changes: list[tuple[str, bytes | None]] = [
            (label, body) for label, body in good.items() if stored.get(label) != body
        ]
        changes += [(label, None) for label in removed]
        self._write(
            source, changes, json.dumps(state).encode(), since=since, there=frozenset(stored)
        )
        return Registered(
            source=source,
            added=tuple(each for each, _ in changes if each not in stored),
            changed=tuple(each for each, body in changes if each in stored and body is not None),
            removed=tuple(removed),
            findings=findings,
        )

    def drop(self, source: str) -> Registered:
        """Remove a source that is gone for good, with all that it defined."""
        from holon_core.catalogue.source_records import Registered

        since = self.store.read(lambda tables: tables.revision())
        removed = tuple(self._bodies(source))
        changes: list[tuple[str, bytes | None]] = [(each, None) for each in removed]
        self._write(source, changes, None, since=since, there=frozenset(removed))
        return Registered(source=source, removed=removed, dropped=True)

    def review(
        self, tool: RuntimeToolDescriptor, before: RuntimeToolDescriptor | None
    ) -> tuple[Finding, ...]:
        """Ask every reviewer about a candidate; one that raises or answers garbage refuses it.

        Args:
            tool: The candidate.
            before: The definition that it would replace.
        """
        found: list[Finding] = []
        for reviewer in self._reviewers:
            try:
                answers = islice(reviewer(tool, before) or (), MAX_FINDINGS)
                found += [_checked(each) for each in answers]
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                text = f"a reviewer raised {told(error)}"
                found.append(Finding(code="review_refused", message=text))
        return tuple(found)

    def _kept_findings(
        self,
        source: str,
        good: Mapping[str, bytes],
        findings: Mapping[str, tuple[Finding, ...]],
        gone: frozenset[str],
    ) -> Mapping[str, tuple[Finding, ...]]:
        """Return the findings of a part beside those that were kept of the rest."""
        before = self.stored_source(source)
        kept = {} if before is None else before.findings
        rest = {each: said for each, said in kept.items() if each not in good and each not in gone}
        return {**rest, **findings}

    def _sift(
        self, judge: Candidates, definitions: Iterable[Any], stored: Mapping[str, bytes]
    ) -> tuple[dict[str, bytes], dict[str, tuple[Finding, ...]]]:
        good: dict[str, bytes] = {}
        findings: dict[str, tuple[Finding, ...]] = {}
        twice: set[str] = set()
        for position, given in enumerate(definitions):
            if position >= MAX_DEFINITIONS:
                text = f"more than {MAX_DEFINITIONS} definitions; the rest is left out"
                findings[f"#{position}"] = (Finding(code="record_invalid", message=text),)
                break
            one = judge.judge(position, given)
            label, found = one.label, one.findings
            if label in good or label in twice:
                # Neither counts: which of them came first is nothing to decide by.
                good.pop(label, None)
                twice.add(label)
                found = (Finding(code="duplicate_id", message=f"{label} is defined twice"),)
            elif one.body:
                found = (*found, *self._reviewed(one, stored))
                if not has_errors(found):
                    good[label] = one.body
            if found:
                findings[label] = found
        return good, findings

    def _reviewed(self, one: Candidate, stored: Mapping[str, bytes]) -> tuple[Finding, ...]:
        if not self._reviewers:
            return ()
        tool, body = descriptor_from(one.body), stored.get(one.label)
        before = None if body is None else descriptor_from(body)
        if before is not None and before.digest == tool.digest:
            return ()
        return self.review(tool, before)

    def _some_bodies(self, names: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(names))
        rows = self.store.read(lambda tables: [tables.document(TOOLS, name) for name in wanted])
        return {row.id: row.body for row in rows if row is not None}

    def _bodies(self, source: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        after = prefix = f"{source}/"
        while True:
            rows = self.store.read(
                lambda tables, after=after: tables.list_documents(TOOLS, after=after, limit=BATCH)  # type: ignore[misc]
            )
            mine = [row for row in rows if row.id.startswith(prefix)]
            found.update({row.id: row.body for row in mine})
            if len(mine) < BATCH:
                return found
            after = mine[-1].id

    def _write(
        self,
        source: str,
        changes: list[tuple[str, bytes | None]],
        state: bytes | None,
        *,
        since: int,
        there: frozenset[str],
    ) -> None:
        """Store changes, and the source's state with the last of them.

        Args:
            source: The source id.
            changes: Bodies by id; ``None`` removes.
            state: What is kept of the source itself.
            since: Revision of the catalogue that the changes were found against.
            there: Ids that were stored at that revision.
        """
        at = int(self.clock.now())
        for start in range(0, max(1, len(changes)), BATCH):
            part = changes[start : start + BATCH]
            last = start + BATCH >= len(changes)

            def work(
                tables: Tables, part: Any = part, last: bool = last, since: int = since
            ) -> int:
                # Where nobody changed anything since, what was not there needs no look.
                known = tables.revision() == since
                new = {
                    label: body
                    for label, body in part
                    if known and body is not None and label not in there
                }
                tables.add_documents(TOOLS, new, at=at)
                moved = bool(new)
                for label, body in part:
                    if label not in new:
                        moved = _put(tables, TOOLS, label, body, at) or moved
                if last:
                    _put(tables, SOURCES, source, state, at)
                if moved:
                    tables.bump_revision()
                return tables.revision()

            since = self.store.transact(work)


def _id_of(given: Any) -> str:
    """Return the id of a definition, or what is stored under no id."""
    return given.id if type(given) is RuntimeToolDescriptor and type(given.id) is str else ""


def _put(tables: Tables, collection: str, doc_id: str, body: bytes | None, at: int) -> bool:
    """Store or remove a document; another process may have done the same meanwhile."""
    found = tables.document(collection, doc_id)
    if body is None:
        return tables.remove_document(collection, doc_id, at=at)
    if found is not None and found.body == body:
        return False
    tables.put_document(collection, doc_id, body, at=at)
    return True


def _checked(given: Any) -> Finding:
    """Return a reviewer's finding as far as it is one; anything else refuses the candidate."""
    if type(given) is not Finding or type(given.message) is not str or type(given.path) is not str:
        text = f"a reviewer answered with {kind_of(given)} that is no plain finding"
        return Finding(code="review_refused", message=text)
    warns = given.severity is Severity.WARNING
    return Finding(
        code=given.code if given.code in FINDINGS else "review_refused",
        message=given.message[:1000],
        path=given.path[:400],
        severity=Severity.WARNING if warns else Severity.ERROR,
    )


def _findings_json(findings: Mapping[str, tuple[Finding, ...]]) -> dict[str, list[list[str]]]:
    return {
        label: [[f.code, f.severity.value, f.path, f.message] for f in found]
        for label, found in islice(findings.items(), MAX_FINDINGS)
    }


@decodes("a source of definitions")
def _stored_source(source: str, body: bytes) -> StoredSource:
    from holon_core.catalogue.source_records import StoredSource

    data = json.loads(body)
    findings = {
        label: tuple(
            Finding(code=code, severity=Severity(severity), path=path, message=message)
            for code, severity, path, message in found
        )
        for label, found in data["findings"].items()
    }
    return StoredSource(
        id=source,
        key=data["key"],
        distribution=data["distribution"],
        findings=findings,
        registered=data.get("registered", False),
    )
