"""The validation floor: everything that is judged before any cargo command runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from holon_core import Effect, FrozenToolDefinition
from holon_rust_tools.catalogue import Catalogue
from holon_rust_tools.findings import RustFinding
from holon_rust_tools.lockfile import lock_findings, made_lock
from holon_rust_tools.manifest import Manifest, not_catalogued, read_manifest
from holon_rust_tools.paths import LOCK, MANIFEST, path_findings
from holon_rust_tools.proposal import PROFILES, RustProposal, input_schema
from holon_rust_tools.source import source_findings

PROMOTION = "rust_promotion"
MAX_COMMAND = 1000
_BINARY = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
# Variables by which a loader, the toolchain or Holon itself is told what to do.
_RESERVED = re.compile(
    r"(HOLON|LD|DYLD|RUST|CARGO|LC|MALLOC)(_.*)?|RUST.*|GLIBC_TUNABLES|"
    r"(PATH|HOME|LANG|TZ|TMPDIR|TEMP|TMP|IFS|ENV)"
)


@frozen(kw_only=True)
class Subject:
    """What is judged, of a proposal and of a stored definition alike."""

    purpose: str
    crate_name: str
    binary_name: str
    profile: str
    validation_command: str
    files: Sequence[tuple[str, str]]
    dependencies: Sequence[Mapping[str, Any]]
    secret_names: Sequence[str]
    fixtures: int
    effects_declared: bool
    output_declared: bool
    inputs: Mapping[str, Any]


def of_proposal(proposal: RustProposal) -> Subject:
    """Return what is judged of a proposal."""
    return Subject(
        purpose=proposal.purpose,
        crate_name=proposal.crate_name,
        binary_name=proposal.binary_name,
        profile=proposal.profile,
        validation_command=proposal.validation_command,
        files=[(each.path, each.content) for each in proposal.files],
        dependencies=[
            {
                "name": each.name,
                "version": each.version,
                "features": list(each.features),
                "default_features": each.default_features,
            }
            for each in proposal.dependencies
        ],
        secret_names=[each.name for each in proposal.secret_refs],
        fixtures=len(proposal.fixtures),
        effects_declared=_declared(proposal.side_effects),
        output_declared=proposal.expected_output_schema is not None,
        inputs=input_schema(proposal),
    )


def of_definition(definition: FrozenToolDefinition, files: Mapping[str, bytes]) -> Subject:
    """Return what is judged of a stored definition."""
    content = definition.content
    return Subject(
        purpose=definition.purpose,
        crate_name=str(content.get("crate_name", "")),
        binary_name=str(content.get("binary_name", "")),
        profile=str(content.get("profile", "")),
        validation_command=str(content.get("validation_command", "")),
        files=[(path, body.decode("utf-8", "replace")) for path, body in files.items()],
        dependencies=list(filter(_is_table, content.get("dependencies", ()))),
        secret_names=[each.name for each in definition.secret_slots],
        fixtures=len(definition.fixtures),
        effects_declared=_declared(definition.policy.effects),
        output_declared=content.get("output_declared") is True,
        inputs=definition.input_schema,
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _declared(effects: frozenset[Effect]) -> bool:
    return bool(effects) and Effect.UNKNOWN not in effects


def judge(subject: Subject, catalogue: Catalogue) -> list[RustFinding]:
    """Name everything that the floor refuses, from reading alone.

    Findings of the rule ``rust_promotion`` keep a tool from being built and promoted; all
    others keep a proposal out altogether.
    """
    found = [*_members(subject), *path_findings(subject.files)]
    files = dict(subject.files)
    manifest = Manifest()
    if MANIFEST not in files:
        told = f"there is no {MANIFEST} among the files"
        found.append(RustFinding(rule="rust_manifest", message=told, path="/files"))
    else:
        manifest, faults = read_manifest(files[MANIFEST], catalogue, frozenset(files))
        found += faults
        found += _agreement(subject, manifest, catalogue)
    if LOCK in files:
        found += lock_findings(files[LOCK], catalogue, **_locked(manifest))
    bodies = {path: text.encode("utf-8", "replace") for path, text in subject.files}
    found += source_findings(bodies)
    found += _promotion(subject)
    return found


def lock_of(subject: Subject, catalogue: Catalogue) -> str:
    """Return the lock file of a proposal that has none, made of the catalogue."""
    files = dict(subject.files)
    manifest, _ = read_manifest(files[MANIFEST], catalogue, frozenset(files))
    return made_lock(catalogue, **_locked(manifest))


def _locked(manifest: Manifest) -> dict[str, Any]:
    return {"name": manifest.name, "version": manifest.version, "depends": manifest.depends}


def _members(subject: Subject) -> Iterator[RustFinding]:
    for name in ("purpose", "crate_name", "binary_name"):
        if not getattr(subject, name).strip():
            yield RustFinding(rule="rust_proposal", message=f"{name} is empty", path=f"/{name}")
    if not subject.files:
        yield RustFinding(rule="rust_proposal", message="there are no files", path="/files")
    if subject.binary_name and not _BINARY.fullmatch(subject.binary_name):
        told = "a binary's name is a letter, then a-z 0-9 _ -, at most 64"
        yield RustFinding(rule="rust_proposal", message=told, path="/binary_name")
    if subject.profile not in PROFILES:
        told = f"profile is one of {', '.join(PROFILES)}"
        yield RustFinding(rule="rust_proposal", message=told, path="/profile")
    if not subject.fixtures:
        told = "at least one fixture is needed"
        yield RustFinding(rule="rust_fixture", message=told, path="/fixtures")
    if len(subject.validation_command) > MAX_COMMAND:
        told = f"more than {MAX_COMMAND} characters"
        yield RustFinding(rule="rust_proposal", message=told, path="/validation_command")
    for number, name in enumerate(subject.secret_names):
        if not _VARIABLE.fullmatch(name) or _RESERVED.fullmatch(name):
            told = f"{name!r:.80} can't be a secret's variable: A-Z 0-9 _, none that others read"
            yield RustFinding(
                rule="rust_proposal", message=told, path=f"/secret_refs/{number}/name"
            )


def _agreement(subject: Subject, manifest: Manifest, catalogue: Catalogue) -> Iterator[RustFinding]:
    """Hold manifest, names and dependency requests against each other."""
    if subject.crate_name and manifest.name != subject.crate_name:
        told = f"the manifest's package is {manifest.name!r:.80}, not {subject.crate_name!r:.80}"
        yield RustFinding(rule="rust_manifest", message=told, path="/crate_name")
    names = {path for path, _ in subject.files}
    target = manifest.binaries.get(subject.binary_name)
    if subject.binary_name and (target is None or target not in names):
        told = f"the package has no binary {subject.binary_name!r:.80}"
        yield RustFinding(rule="rust_manifest", message=told, path="/binary_name")
    asked = set()
    for number, each in enumerate(subject.dependencies):
        name = str(each.get("name"))
        problem = not_catalogued(
            catalogue,
            name=name,
            version=each.get("version"),
            features=list(each.get("features", ())),
            default_features=each.get("default_features", True),
        )
        if problem is None and name in asked:
            problem = "asked for twice"
        if problem is None and name not in manifest.depends:
            problem = "asked for, and not in the manifest"
        asked.add(name)
        if problem is not None:
            told = f"{name:.64}: {problem}"
            where = f"/dependencies/{number}"
            yield RustFinding(rule="rust_dependency_denied", message=told, path=where)
    for name in manifest.depends:
        if name not in asked and name in catalogue:
            told = f"{name} is in the manifest, and not among the dependency requests"
            yield RustFinding(rule="rust_dependency_denied", message=told, path="/dependencies")


def _promotion(subject: Subject) -> Iterator[RustFinding]:
    properties = subject.inputs.get("properties", {})
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(schema, Mapping) or not set(schema) - {"description"}:
            told = f"the input {name!r:.80} has no schema"
            yield RustFinding(rule=PROMOTION, message=told, path="/required_inputs")
    if not subject.output_declared:
        told = "no expected output schema is stated"
        yield RustFinding(rule=PROMOTION, message=told, path="/expected_output_schema")
    if not subject.validation_command.strip():
        told = "no validation command is recorded"
        yield RustFinding(rule=PROMOTION, message=told, path="/validation_command")
    if not subject.effects_declared:
        told = "side effects are not declared; a tool without any says none"
        yield RustFinding(rule=PROMOTION, message=told, path="/side_effects")
