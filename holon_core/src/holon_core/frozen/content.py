"""From what somebody proposes to a definition: read strictly, bounded, digested."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from holon_core.errors import JsonRefused, Rejected
from holon_core.records.base import Record
from holon_core.records.finding import Finding
from holon_core.records.frozen import (
    Fallback,
    Fixture,
    FrozenPolicy,
    FrozenToolDefinition,
    SourceFile,
)
from holon_core.records.tool import Dependency, SecretSlot
from holon_core.wire.canonical import digest, sha256_hex

DIGEST_DOMAIN = "holon-frozen-tool/1"
NAME = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*")
MAX_FILES = 200
MAX_FILE_BYTES = 1024 * 1024
MAX_FILES_BYTES = 4 * 1024 * 1024
MAX_FIXTURES = 100
MAX_PATH = 200
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@frozen(kw_only=True, eq=False, repr=False)
class ProposedFile(Record):
    """A source file as it is proposed: text, in UTF-8."""

    path: str
    text: str


@frozen(kw_only=True, eq=False, repr=False)
class Proposal(Record):
    """A frozen tool as somebody proposes it; the members are those of its definition."""

    name: str
    kind: str
    purpose: str
    policy: FrozenPolicy
    fallback: Fallback
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    fixtures: tuple[Fixture, ...] = ()
    deterministic: bool = False
    content: Mapping[str, Any] = field(factory=dict)
    files: tuple[ProposedFile, ...] = ()
    secret_slots: tuple[SecretSlot, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    risk_hints: tuple[str, ...] = ()


def read_proposal(given: object) -> Proposal:
    """Read a proposal from JSON, and see to its names, files and fixtures.

    Args:
        given: A JSON object; unknown members are refused.

    Raises:
        Rejected: With a finding and its path for each fault.
    """
    proposal = proposal_from(given)
    findings = faults(proposal)
    if findings:
        raise Rejected("the proposal", findings)
    return proposal


def proposal_from(given: object) -> Proposal:
    """Read a proposal from JSON; ``faults`` says what is wrong with one that could be read.

    Raises:
        Rejected: It cannot be read: with a finding and its path for each member.
    """
    from holon_core.wire.converter import structure
    from holon_core.wire.values import normalise

    try:
        value = normalise(given).value
    except JsonRefused as error:
        raise Rejected("the proposal", [_finding("record_invalid", str(error))]) from None
    return structure(value, Proposal)


def faults(proposal: Proposal) -> list[Finding]:
    """Say what is wrong with names, files and fixtures of a proposal that could be read."""
    return [*_named(proposal), *_filed(proposal.files), *_fixtured(proposal)]


def define(
    proposal: Proposal, *, input_schema: Any, output_schema: Any, derived: tuple[str, ...]
) -> FrozenToolDefinition:
    """Make the definition of a proposal whose schemas are known.

    Args:
        proposal: As it was read.
        input_schema: Its own, or derived from recorded runs.
        output_schema: As well.
        derived: Which of them were derived.

    Raises:
        Rejected: A definition can't have such a field.
    """
    try:
        return FrozenToolDefinition(
            name=proposal.name,
            kind=proposal.kind,
            purpose=proposal.purpose,
            input_schema=input_schema,
            output_schema=output_schema,
            policy=proposal.policy,
            fallback=proposal.fallback,
            fixtures=proposal.fixtures,
            deterministic=proposal.deterministic,
            content=proposal.content,
            files=tuple(sorted(map(_source, proposal.files), key=lambda each: each.path)),
            secret_slots=proposal.secret_slots,
            dependencies=proposal.dependencies,
            risk_hints=proposal.risk_hints,
            derived=derived,
        )
    except ValueError as error:
        text = str(error).partition(":")[0]
        raise Rejected("the proposal", [_finding("record_invalid", text)]) from None


def bodies(proposal: Proposal) -> dict[str, bytes]:
    """Return the bytes of the source files, by path."""
    return {each.path: each.text.encode() for each in proposal.files}


def digest_of(definition: FrozenToolDefinition) -> str:
    """Digest a definition: all of it, the files by their own digests."""
    from holon_core.wire.converter import unstructure

    return digest(unstructure(definition), domain=DIGEST_DOMAIN)


def closed(definition: FrozenToolDefinition) -> tuple[FrozenToolDefinition, list[Finding]]:
    """Return a definition with schemas as they will be used, and what is wrong with them.

    An object schema that is silent about further properties is closed, as everywhere.
    """
    from holon_core.wire.schema_check import check_schema

    inputs = check_schema(dict(definition.input_schema), role="input")
    outputs = check_schema(dict(definition.output_schema), role="output")
    findings = [
        evolve(each, path=f"/{name}{each.path}")
        for name, report in (("input_schema", inputs), ("output_schema", outputs))
        for each in report.findings
    ]
    if dict(definition.output_schema).get("type") != "object":
        text = "an output is one JSON object: its schema says type object"
        findings.append(_finding("schema_invalid", text, "/output_schema/type"))
    if inputs.usable and isinstance(inputs.schema, dict):
        definition = evolve(definition, input_schema=inputs.schema)
    return definition, findings


def _source(given: ProposedFile) -> SourceFile:
    body = given.text.encode()
    return SourceFile(path=given.path, sha256=sha256_hex(body), size_bytes=len(body))


def _named(proposal: Proposal) -> list[Finding]:
    if NAME.fullmatch(proposal.name):
        return []
    text = "a name is words of a-z 0-9, the first of a letter, joined by - _ or ."
    return [_finding("invalid_id", text, "/name")]


def _filed(files: tuple[ProposedFile, ...]) -> list[Finding]:
    if len(files) > MAX_FILES:
        return [_finding("source_invalid", f"more than {MAX_FILES} files", "/files")]
    found: list[Finding] = []
    seen: set[str] = set()
    total = 0
    for number, each in enumerate(files):
        problem = path_problem(each.path)
        size = len(each.text.encode())
        total += size
        if problem is None and each.path.casefold() in seen:
            problem = "there twice, or differing in upper and lower case alone"
        if problem is None and size > MAX_FILE_BYTES:
            problem = f"more than {MAX_FILE_BYTES} bytes"
        seen.add(each.path.casefold())
        if problem is not None:
            found.append(_finding("source_invalid", problem, f"/files/{number}/path"))
    if total > MAX_FILES_BYTES:
        found.append(_finding("source_invalid", f"more than {MAX_FILES_BYTES} bytes", "/files"))
    paths = set(seen)
    for path in sorted(paths):
        if any(parent in paths for parent in _parents(path)):
            found.append(_finding("source_invalid", "a file and a folder of one name", "/files"))
            break
    return found


def path_problem(path: str) -> str | None:
    """Say why a path can't be one of a managed file; ``None`` where it can.

    Args:
        path: Relative, with ``/`` between its parts, of characters that every system takes.
    """
    if not 0 < len(path) <= MAX_PATH:
        return f"a path has 1 to {MAX_PATH} characters"
    if posixpath.isabs(path) or not all(_PART.fullmatch(part) for part in path.split("/")):
        return "a path is relative: parts of A-Z a-z 0-9 . _ -, none beginning with a dot"
    return None


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _fixtured(proposal: Proposal) -> list[Finding]:
    found = []
    if len(proposal.fixtures) > MAX_FIXTURES:
        found.append(_finding("fixture_invalid", f"more than {MAX_FIXTURES}", "/fixtures"))
    names = [each.name for each in proposal.fixtures]
    if len(set(names)) < len(names):
        found.append(_finding("fixture_invalid", "two fixtures of one name", "/fixtures"))
    for number, each in enumerate(proposal.fixtures):
        where = f"/fixtures/{number}/files"
        found += [
            _finding("fixture_invalid", f"{path:.80}: {problem}", where)
            for path in each.files
            if (problem := path_problem(path)) is not None
        ]
    return found


def _finding(code: str, message: str, path: str = "") -> Finding:
    return Finding(code=code, message=message, path=path)
