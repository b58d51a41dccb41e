"""Checking what sources define: types, ids, lanes, schemas; then digest and stored form."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from holon_core.catalogue.codec import descriptor_from, descriptor_json
from holon_core.catalogue.suspicious import may_be_odd, returns_plan, suspicious, with_hints
from holon_core.errors import JsonRefused
from holon_core.ids import id_problem
from holon_core.plugins.faults import kind_of, told
from holon_core.records.base import Record
from holon_core.records.finding import Finding, has_errors
from holon_core.records.tool import (
    Dependency,
    Limits,
    Provenance,
    RuntimeToolDescriptor,
    SecretSlot,
)
from holon_core.records.words import ApprovalRequirement, Effect, Origin, Posture, Severity
from holon_core.wire.canonical import canonical, sha256_hex
from holon_core.wire.encoding import encode
from holon_core.wire.schema_check import (
    MAX_SCHEMA_DEPTH,
    SchemaReport,
    check_normalised,
    check_schema,
)
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from holon_core.records.lane import CapabilityLane

DEFINITION_DOMAIN = "holon-definition/1"
MAX_DEFINITION_BYTES = 1024 * 1024
_UNSET_OUTPUT_BYTES = Limits().max_output_bytes
_TEXTS = ("id", "lane", "version", "name", "title", "description", "executor_ref")
_TEXT_TUPLES = ("examples", "keywords", "risk_hints", "projections")
_WORDS: Mapping[str, type[Any]] = {"posture": Posture, "approval": ApprovalRequirement}
_INPUT, _OUTPUT = b',"input_schema":%b,', b',"output_schema":%b,'
# Built once; insertion order stays, which is the order that people and models read.
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_RECORDS: Mapping[str, type[Any]] = {"dependencies": Dependency, "secret_slots": SecretSlot}


@frozen(kw_only=True, eq=False, repr=False)
class Candidate(Record):
    """A definition as it was looked at.

    ``label`` is its id, or its position where it has none of use; ``body``, its stored form, is
    there unless a finding is an error.
    """

    label: str
    body: bytes = b""
    findings: tuple[Finding, ...] = ()

    @property
    def tool(self) -> RuntimeToolDescriptor | None:
        """The tool as everybody will read it, made of its stored form."""
        return descriptor_from(self.body) if self.body else None


@frozen(kw_only=True)
class _Checked:
    """What admission made of a schema, and the canonical bytes of that."""

    report: SchemaReport
    canonical: bytes = b""
    hints: tuple[str, ...] = ()


_NO_OUTPUT = _Checked(report=SchemaReport(schema=True, findings=()), canonical=b"null")


class Candidates:
    """Judges the definitions of one source.

    Args:
        source: The source id; every id of it begins with it.
        lanes: The lanes that are here, by kind.
        limits: For tools that state none.
        origin: Where the entries come from.
        provenance: Who provides them.
    """

    def __init__(
        self,
        source: str,
        *,
        lanes: Mapping[str, CapabilityLane],
        limits: Limits,
        origin: Origin,
        provenance: Provenance,
    ) -> None:
        self._source = source
        self._lanes = lanes
        self._limits = limits
        self._origin = origin
        self._provenance = provenance
        self._schemas: dict[tuple[str, bytes], _Checked] = {}
        self._lowered: dict[Limits, Limits] = {}

    def judge(self, position: int, given: Any) -> Candidate:
        """Judge one definition, whatever it is; never raises on account of it.

        Raises:
            KeyboardInterrupt: Somebody ends the program meanwhile.
        """
        try:
            return self._judge(position, given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            text = f"reading the definition raised {told(error)}"
            return _refused(f"#{position}", Finding(code="record_invalid", message=text))

    def _judge(self, position: int, given: Any) -> Candidate:
        if type(given) is not RuntimeToolDescriptor:
            text = f"{kind_of(given)} where a RuntimeToolDescriptor is wanted"
            return _refused(f"#{position}", Finding(code="record_invalid", message=text))
        wrong = _wrong_types(given)
        if wrong:
            return _refused(f"#{position}", *wrong)
        problem = self._id_problem(given.id)
        if problem is not None:
            return _refused(f"#{position}", problem)
        findings = [*self._of_lane(given), *self._of_workspace(given)]
        inputs, outputs = self._schema(given.input_schema, "input"), _NO_OUTPUT
        findings += inputs.report.findings
        if given.output_schema is not None:
            outputs = self._schema(given.output_schema, "output")
            findings += outputs.report.findings
        if has_errors(findings):
            return _refused(given.id, *findings)
        if inputs.hints:
            given = evolve(given, risk_hints=with_hints(given.risk_hints, inputs.hints))
        findings += returns_plan(given)
        return self._accepted(given, inputs, outputs, findings)

    def _accepted(
        self,
        given: RuntimeToolDescriptor,
        inputs: _Checked,
        outputs: _Checked,
        findings: list[Finding],
    ) -> Candidate:
        schema, limits = inputs.report.schema, self._limited(given.limits)
        assert isinstance(schema, dict), "an input schema of another form is an error"
        by = self._provenance
        try:
            # Of thousands of tools each copy counts, so no record is made that nobody reads.
            said = {
                **descriptor_json(given),
                "input_schema": schema,
                "limits": [limits.timeout_s, limits.max_output_bytes],
                "origin": self._origin.value,
                "provenance": [by.distribution, by.version, by.plugin],
                "digest": _digest(given, limits, inputs.canonical, outputs.canonical),
            }
        except JsonRefused as error:
            fault = Finding(code="record_invalid", message=error.message, path=error.path)
            return _refused(given.id, *findings, fault)
        # The state of a frozen tool is not a source's to give.
        said.pop("lifecycle", None)
        body = _ENCODE(said).encode()
        if len(body) > MAX_DEFINITION_BYTES:
            text = f"the definition has more than {MAX_DEFINITION_BYTES} bytes"
            return _refused(given.id, *findings, Finding(code="record_invalid", message=text))
        return Candidate(label=given.id, body=body, findings=tuple(findings))

    def _limited(self, limits: Limits) -> Limits:
        known = self._lowered.get(limits)
        if known is None:
            known = self._lowered[limits] = self._filled(limits)
        return known

    def _filled(self, limits: Limits) -> Limits:
        # A definition cannot say that it states no output limit: the default of the record is it.
        if limits.max_output_bytes == _UNSET_OUTPUT_BYTES:
            limits = evolve(limits, max_output_bytes=self._limits.max_output_bytes)
        if limits.timeout_s is None:
            limits = evolve(limits, timeout_s=self._limits.timeout_s)
        return limits

    def _id_problem(self, tool_id: str) -> Finding | None:
        problem = id_problem(tool_id)
        if problem is not None:
            return Finding(code="invalid_id", message=problem, path="/id")
        if tool_id.partition("/")[0] != self._source:
            text = f"{tool_id} is not of the source {self._source}"
            return Finding(code="reserved_id", message=text, path="/id")
        return None

    def _of_workspace(self, tool: RuntimeToolDescriptor) -> list[Finding]:
        # Who calls it from elsewhere is told by the id alone whether it may be there.
        if tool.workspace is None or tool.workspace in self._source.split(".")[1:]:
            return []
        text = "the source of a tool of one workspace is <source>.<workspace id>.<name>"
        return [_finding("record_invalid", text, "/workspace")]

    def _of_lane(self, tool: RuntimeToolDescriptor) -> list[Finding]:
        lane = self._lanes.get(tool.lane)
        if lane is None:
            # It stays in the catalogue, blocked, and says what to install.
            text = f"no lane of kind {tool.lane} is installed; the tool is blocked"
            return [_finding("unresolved_ref", text, "/lane", severity=Severity.WARNING)]
        if tool.posture not in lane.postures:
            text = f"the lane {tool.lane} does not run under {tool.posture}"
            return [_finding("record_invalid", text, "/posture")]
        return []

    def _schema(self, schema: Any, role: Any) -> _Checked:
        # A catalogue repeats its schemas: each is checked once.
        try:
            copy, text = normalise(schema, max_depth=MAX_SCHEMA_DEPTH)
        except JsonRefused:
            return _Checked(report=check_schema(schema, role=role))
        known = self._schemas.get((role, text))
        if known is None:
            report = check_normalised(copy, role=role, size=len(text))
            # An output schema is kept as it was given, an input schema as it was closed.
            same = role == "output" or report.schema is copy
            hints: tuple[str, ...] = ()
            if role == "input" and may_be_odd(text) and not has_errors(report.findings):
                hints, odd = suspicious(report.schema)
                at = [evolve(each, path=f"/input_schema{each.path}") for each in odd]
                report = SchemaReport(schema=report.schema, findings=(*report.findings, *at))
            known = _Checked(
                report=report, canonical=text if same else canonical(report.schema), hints=hints
            )
            self._schemas[role, text] = known
        return known


def _digest(given: RuntimeToolDescriptor, limits: Limits, inputs: bytes, outputs: bytes) -> str:
    """Digest a definition of which the schemas are known as canonical bytes.

    They are most of it, so they are put in their places instead of being copied and encoded
    once more. Inside a text a quotation mark follows a backslash, so that the places are found.

    Raises:
        JsonRefused: A text of it is not sound JSON.
    """
    said = {
        **given.definition(),
        "input_schema": None,
        "output_schema": None,
        "limits": [limits.timeout_s, limits.max_output_bytes],
    }
    before, _, rest = _plain_or_canonical(said).partition(_INPUT % b"null")
    between, _, after = rest.partition(_OUTPUT % b"null")
    parts = (DEFINITION_DOMAIN.encode() + b"\0" + before, _INPUT % inputs, between)
    return sha256_hex(b"".join((*parts, _OUTPUT % outputs, after)))


def _plain_or_canonical(said: dict[str, Any]) -> bytes:
    """Write the canonical bytes of what was looked at: exact types, so that nothing is copied."""
    if type(said["limits"][0]) is not float:
        with contextlib.suppress(ValueError):
            return encode(said, plain=True)
    return canonical(said)


def _refused(label: str, *findings: Finding) -> Candidate:
    return Candidate(label=label, findings=findings)


def _finding(code: str, message: str, path: str, *, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(code=code, message=message, path=path, severity=severity)


def _wrong_types(tool: Any) -> list[Finding]:
    """Name the fields of a descriptor that hold something else than they say."""
    wrong = [name for name in _TEXTS if type(getattr(tool, name)) is not str]
    wrong += [name for name in _TEXT_TUPLES if not _is_tuple_of(str, getattr(tool, name))]
    wrong += [name for name, kind in _WORDS.items() if type(getattr(tool, name)) is not kind]
    wrong += [
        name for name, kind in _RECORDS.items() if not _is_tuple_of(kind, getattr(tool, name))
    ]
    wrong += ["workspace"] if type(tool.workspace) not in (str, type(None)) else []
    wrong += ["idempotent"] if type(tool.idempotent) is not bool else []
    effects = tool.effects
    if type(effects) is not frozenset or not effects or {type(e) for e in effects} != {Effect}:
        wrong.append("effects")
    if not _good_limits(tool.limits):
        wrong.append("limits")
    return [
        _finding("record_invalid", f"{name} is of the wrong type", f"/{name}") for name in wrong
    ]


def _is_tuple_of(kind: type[Any], value: Any) -> bool:
    if type(value) is not tuple or any(type(item) is not kind for item in value):
        return False
    return kind is str or all(type(text) is str for item in value for text in _fields(item))


def _fields(item: Any) -> tuple[Any, Any, Any]:
    if type(item) is Dependency:
        return item.kind, item.name, item.version
    return item.name, item.ref, item.purpose


def _good_limits(limits: Any) -> bool:
    return (
        type(limits) is Limits
        and type(limits.timeout_s) in (int, float, type(None))
        and type(limits.max_output_bytes) is int
    )
