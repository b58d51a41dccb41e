"""Registering what sources define: checked, reviewed, digested, stored by revision."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from holon_core.catalogue.catalogue import TOOLS
from holon_core.catalogue.codec import descriptor_from, descriptor_json
from holon_core.errors import JsonRefused
from holon_core.ids import id_problem
from holon_core.records.finding import Finding, has_errors
from holon_core.records.tool import Provenance, RuntimeToolDescriptor
from holon_core.records.words import Origin
from holon_core.wire.canonical import canonical, digest
from holon_core.wire.schema_check import SchemaReport, check_schema

if TYPE_CHECKING:
    from holon_core.clock import Clock
    from holon_core.records.lane import CapabilityLane
    from holon_core.records.tool import Limits
    from holon_core.store.protocol import Store, Tables

SOURCES = "holon.sources"
DEFINITION_DOMAIN = "holon-definition/1"
MAX_DEFINITIONS = 100_000
BATCH = 2000

Reviewer = Callable[[RuntimeToolDescriptor, "RuntimeToolDescriptor | None"], Iterable[Finding]]


@frozen(kw_only=True)
class Registered:
    """What registering one source came to; findings are by tool id, else by position."""

    source: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = {}


class Registry:
    """Puts definitions of sources into the store.

    Args:
        store: Where they live.
        clock: For times.
        lanes: The lanes that are here, by kind.
        reviewers: Asked about every candidate that is new or changed.
        limits: For tools that state no time limit.
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
        self._store = store
        self._clock = clock
        self._lanes = lanes
        self._reviewers = reviewers
        self._limits = limits
        self._schemas: dict[tuple[str, str], SchemaReport] = {}

    def is_current(self, source: str, key: str) -> bool:
        """Tell whether what is stored of a source was read under the same key."""
        found = self._store.read(lambda tables: tables.document(SOURCES, source))
        return found is not None and json.loads(found.body)["key"] == key

    def register(
        self,
        source: str,
        definitions: Iterable[Any],
        *,
        origin: Origin,
        provenance: Provenance,
        key: str = "",
    ) -> Registered:
        """Make the stored definitions of a source those that are given.

        Good definitions come in and bad ones are reported; neither keeps the other from it.

        Args:
            source: The source id; every definition's id begins with it.
            definitions: Descriptors; their origin, provenance and digest are set here.
            origin: Where the entries come from.
            provenance: Who provides them.
            key: Distribution version and signal under which they were read.
        """
        stored = self._stored(source)
        findings: dict[str, tuple[Finding, ...]] = {}
        fresh: dict[str, RuntimeToolDescriptor] = {}
        twice: set[str] = set()
        for position, given in enumerate(definitions):
            if position >= MAX_DEFINITIONS:
                text = f"more than {MAX_DEFINITIONS} definitions; the rest is left out"
                findings[f"#{position}"] = (Finding(code="record_invalid", message=text),)
                break
            label, tool, found = self._candidate(source, position, given, origin, provenance)
            if label in fresh or label in twice:
                # Neither counts: which of them came first is nothing to decide by.
                fresh.pop(label, None)
                twice.add(label)
                found = (*found, Finding(code="duplicate_id", message="defined twice"))
            if tool is not None and tool.digest != getattr(stored.get(label), "digest", None):
                found = (*found, *self._review(tool, stored.get(label)))
            if found:
                findings[label] = found
            if tool is not None and not has_errors(found):
                fresh[label] = tool
        return self._keep(source, stored, fresh, findings, key)

    def _stored(self, source: str) -> dict[str, RuntimeToolDescriptor]:
        found: dict[str, RuntimeToolDescriptor] = {}
        after = f"{source}/"
        while True:
            rows = self._store.read(
                lambda tables, after=after: tables.list_documents(TOOLS, after=after, limit=BATCH)  # type: ignore[misc]
            )
            mine = [row for row in rows if row.id.startswith(f"{source}/")]
            found.update({row.id: descriptor_from(row.body) for row in mine})
            if len(mine) < BATCH:
                return found
            after = mine[-1].id

    def _candidate(
        self, source: str, position: int, given: Any, origin: Origin, provenance: Provenance
    ) -> tuple[str, RuntimeToolDescriptor | None, tuple[Finding, ...]]:
        if type(given) is not RuntimeToolDescriptor:
            text = f"a {type(given).__name__} where a RuntimeToolDescriptor is wanted"
            return f"#{position}", None, (Finding(code="record_invalid", message=text),)
        findings = self._check(source, given)
        if has_errors(findings):
            return given.id[:400] or f"#{position}", None, tuple(findings)
        inputs = self._schema(given.input_schema, "input")
        findings += list(inputs.findings)
        if given.output_schema is not None:
            outputs = self._schema(given.output_schema, "output")
            findings += list(outputs.findings)
        if has_errors(findings):
            return given.id, None, tuple(findings)
        limits = given.limits
        if limits.timeout_s is None:
            limits = evolve(limits, timeout_s=self._limits.timeout_s)
        assert isinstance(inputs.schema, dict)
        tool = evolve(
            given, input_schema=inputs.schema, limits=limits, origin=origin, provenance=provenance
        )
        try:
            marked = tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))
        except JsonRefused as error:
            fault = Finding(code="record_invalid", message=error.message, path=error.path)
            return given.id, None, (*findings, fault)
        return given.id, marked, tuple(findings)

    def _check(self, source: str, tool: RuntimeToolDescriptor) -> list[Finding]:
        findings = []
        problem = id_problem(tool.id)
        if problem is not None:
            findings.append(Finding(code="invalid_id", message=problem, path="/id"))
        elif tool.id.partition("/")[0] != source:
            text = f"the id is not of the source {source}"
            findings.append(Finding(code="reserved_id", message=text, path="/id"))
        lane = self._lanes.get(tool.lane)
        if lane is None:
            text = f"no lane of kind {tool.lane} is installed"
            findings.append(Finding(code="unresolved_ref", message=text, path="/lane"))
        elif tool.posture not in lane.postures:
            text = f"the lane {tool.lane} does not run under {tool.posture}"
            findings.append(Finding(code="record_invalid", message=text, path="/posture"))
        return findings

    def _schema(self, schema: Any, role: Any) -> SchemaReport:
        # A catalogue repeats its schemas: each is checked once.
        try:
            key = (role, canonical(schema).hex())
        except JsonRefused as error:
            fault = Finding(code="schema_invalid", message=str(error), path=error.path)
            return SchemaReport(schema=False, findings=(fault,))
        known = self._schemas.get(key)
        if known is None:
            known = self._schemas[key] = check_schema(schema, role=role)
        return known

    def _review(
        self, tool: RuntimeToolDescriptor, before: RuntimeToolDescriptor | None
    ) -> list[Finding]:
        found: list[Finding] = []
        for reviewer in self._reviewers:
            try:
                answers = [_finding(each) for each in reviewer(tool, before) or ()]
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                text = f"a reviewer raised {type(error).__name__}"
                answers = [Finding(code="review_refused", message=text)]
            found += answers
        return found

    def _keep(
        self,
        source: str,
        stored: Mapping[str, RuntimeToolDescriptor],
        fresh: Mapping[str, RuntimeToolDescriptor],
        findings: Mapping[str, tuple[Finding, ...]],
        key: str,
    ) -> Registered:
        added = [each for each in fresh if each not in stored]
        changed = [each for each in fresh if each in stored and fresh[each] != stored[each]]
        removed = [each for each in stored if each not in fresh]
        at = int(self._clock.now())
        bodies = {
            each: json.dumps(descriptor_json(fresh[each]), ensure_ascii=False).encode()
            for each in (*added, *changed)
        }
        state = {"key": key, "findings": _findings_json(findings)}

        def work(tables: Tables) -> None:
            for each, body in bodies.items():
                tables.put_document(TOOLS, each, body, at=at)
            for each in removed:
                tables.remove_document(TOOLS, each, at=at)
            tables.put_document(SOURCES, source, json.dumps(state).encode(), at=at)
            if bodies or removed:
                tables.bump_revision()

        self._store.transact(work)
        return Registered(
            source=source,
            added=tuple(added),
            changed=tuple(changed),
            removed=tuple(removed),
            findings=findings,
        )


def _finding(given: Any) -> Finding:
    if type(given) is Finding:
        return given
    text = f"a reviewer answered with a {type(given).__name__}"
    return Finding(code="review_refused", message=text)


def _findings_json(findings: Mapping[str, tuple[Finding, ...]]) -> dict[str, list[list[str]]]:
    return {
        label: [[f.code, f.severity.value, f.path, f.message] for f in found]
        for label, found in findings.items()
    }
