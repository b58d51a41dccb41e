"""Artifact records: what was built, tested and run of each tool, and how ready that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from holon_core import StructuredFailure, failure
from holon_core.records.base import Record
from holon_core.records.frozen import RUNNING_STATES
from holon_core.wire.canonical import digest
from holon_rust_tools import toolchain
from holon_rust_tools.integrity import file_digest, source_problem
from holon_rust_tools.paths import LOCK, MANIFEST

if TYPE_CHECKING:
    from holon_core import FrozenTool, FrozenToolRecord
    from holon_core.plugins.documents import Documents
    from holon_rust_tools.settings import Settings

READY, FAILED, PENDING = "ready", "failed", "pending"
COLLECTION = "artifacts"
SOURCE_DOMAIN = "holon-rust-sources/1"


@frozen(kw_only=True, eq=False, repr=False)
class Stored(Record):
    """What is kept of one tool: its last build, test and run of fixtures.

    Each is JSON with ``passed`` and what it was of; nothing here says ready by itself.
    """

    build: Mapping[str, Any] | None = None
    test: Mapping[str, Any] | None = None
    fixtures: Mapping[str, Any] | None = None


@frozen(kw_only=True, eq=False, repr=False)
class RustArtifact(Record):
    """The artifact record of a tool (source document, "Storage And Artifact Model")."""

    workspace_id: str
    frozen_tool_proposal_id: str
    tool_name: str
    version: str
    crate_name: str
    binary_name: str
    state: str
    profile: str
    source_root: str
    manifest_path: str
    source_hash: str
    manifest_hash: str
    lock_hash: str
    binary_path: str | None
    binary_sha256: str | None
    build_status: str
    test_status: str
    fixture_status: str
    last_build_evidence: Mapping[str, Any] | None
    last_test_evidence: Mapping[str, Any] | None
    last_fixture_evidence: Mapping[str, Any] | None
    provenance_refs: tuple[str, ...]
    validation_evidence_refs: tuple[str, ...]
    approved_dependency_refs: tuple[str, ...]
    validation_command: str
    ready: bool
    lacks: tuple[str, ...]


class Artifacts:
    """The artifact records of one storage root.

    Args:
        documents: Gives the collection, once the runtime is open.
        settings: The lane's.
    """

    def __init__(self, documents: Any, settings: Settings) -> None:
        self._open = documents
        self._settings = settings

    def _documents(self) -> Documents[Stored]:
        return self._open(COLLECTION, Stored)  # type: ignore[no-any-return]

    def stored(self, record_id: str) -> Stored:
        """Return what is kept of a tool."""
        found = self._documents().get(record_id)
        return Stored() if found is None else found.value

    def keep(self, record_id: str, **changed: Mapping[str, Any]) -> None:
        """Keep the last build, test or run of fixtures of a tool."""
        documents = self._documents()
        found = documents.get(record_id)
        value = Stored() if found is None else found.value
        documents.put(record_id, evolve(value, **changed))

    def lacks(self, tool: FrozenTool) -> Iterator[StructuredFailure]:
        """Name what keeps a tool from running; nothing where it is ready.

        Before a tool was validated its fixtures are still to be run, and lack nothing.
        """
        stored = self.stored(tool.record.id)
        first = self._build_lack(tool, stored) or self._test_lack(stored)
        if first is not None:
            yield first
        elif tool.record.state in RUNNING_STATES and not self._fixtures_passed(tool, stored):
            text = "its fixtures have not passed with this binary; run rust-code-tool test"
            yield failure("artifact_not_ready", text)

    def _build_lack(self, tool: FrozenTool, stored: Stored) -> StructuredFailure | None:
        cargo = toolchain.found_cargo(self._settings)
        if cargo is None:
            return toolchain.missing_cargo()
        changed = source_problem(tool)
        if changed is not None:
            return changed
        build, artifact = stored.build, tool.record.artifact
        if build is None or artifact is None:
            return failure("artifact_not_ready", "it is not built; run rust-code-tool build")
        if not build["passed"]:
            return failure("artifact_not_ready", f"its last build failed: {build['message']}")
        if build["source_hash"] != source_hash(tool.record):
            return failure("artifact_not_ready", "its sources changed since it was built")
        if not toolchain.is_current(build["toolchain"], cargo):
            text = "the toolchain changed since it was built; build and test it again"
            return failure("artifact_not_ready", text)
        if build["binary_sha256"] != artifact.sha256:
            return failure("artifact_changed", "its last build is not the artifact of its record")
        seen = file_digest(Path(build["binary_path"]))
        if seen is None:
            return failure("artifact_not_ready", "its binary is missing, or can't be read")
        if seen != artifact.sha256:
            return failure("artifact_changed", "its binary on disk is not what was built")
        return None

    def _test_lack(self, stored: Stored) -> StructuredFailure | None:
        build, test = stored.build, stored.test
        assert build is not None, "asked after the build"
        if test is None or _of(test) != _of(build):
            text = "its tests have not run on this build; run rust-code-tool test"
            return failure("artifact_not_ready", text)
        if not test["passed"]:
            return failure("artifact_not_ready", f"its tests failed: {test['message']}")
        return None

    def _fixtures_passed(self, tool: FrozenTool, stored: Stored) -> bool:
        return tool.record.proven or _passed(stored.fixtures, tool.record)

    def record(self, tool: FrozenTool) -> RustArtifact:
        """Return the artifact record of a tool, with each status as it is now."""
        record, stored = tool.record, self.stored(tool.record.id)
        build_lack = self._build_lack(tool, stored)
        test_lack = build_lack or self._test_lack(stored)
        content = record.definition.content
        files = {each.path: each.sha256 for each in record.definition.files}
        build = stored.build or {}
        passed = build.get("passed") is True
        fixtures = self._fixture_status(tool, stored, test_lack)
        lacks = [] if test_lack is None else [f"{test_lack.code}: {test_lack.message}"]
        if test_lack is None and fixtures != READY:
            lacks.append("artifact_not_ready: its fixtures have not passed with this binary")
        return RustArtifact(
            workspace_id=record.workspace,
            frozen_tool_proposal_id=record.id,
            tool_name=record.name,
            version=str(content.get("version", "")),
            crate_name=str(content.get("crate_name", "")),
            binary_name=str(content.get("binary_name", "")),
            state=record.state.value,
            profile=str(content.get("profile", "")),
            source_root=str(tool.folder),
            manifest_path=str(tool.folder / MANIFEST),
            source_hash=source_hash(record),
            manifest_hash=files.get(MANIFEST, ""),
            lock_hash=files.get(LOCK, ""),
            binary_path=build["binary_path"] if passed else None,
            binary_sha256=build["binary_sha256"] if passed else None,
            build_status=_status(build_lack, stored.build),
            test_status=_status(test_lack, stored.test if build_lack is None else None),
            fixture_status=fixtures,
            last_build_evidence=stored.build,
            last_test_evidence=stored.test,
            last_fixture_evidence=stored.fixtures,
            provenance_refs=tuple(f"{ref.chain}#{ref.seq}" for ref in record.provenance),
            validation_evidence_refs=_refs(stored, record),
            approved_dependency_refs=_approved(content),
            validation_command=str(content.get("validation_command", "")),
            ready=not lacks,
            lacks=tuple(lacks),
        )

    def _fixture_status(
        self, tool: FrozenTool, stored: Stored, lack: StructuredFailure | None
    ) -> str:
        run = stored.fixtures
        if lack is None and self._fixtures_passed(tool, stored):
            return READY
        if lack is None and run is not None and _is_of(run, tool.record):
            return FAILED
        return PENDING


def _status(lack: StructuredFailure | None, last: Mapping[str, Any] | None) -> str:
    if lack is None:
        return READY
    return FAILED if last is not None and not last["passed"] else PENDING


def _of(run: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a build or a test was of: another one proves nothing."""
    return (run["source_hash"], run["binary_sha256"], run["toolchain"]["fingerprint"])


def _is_of(run: Mapping[str, Any], record: FrozenToolRecord) -> bool:
    built = None if record.artifact is None else record.artifact.sha256
    return (run["digest"], run["binary_sha256"]) == (record.digest, built)


def _passed(run: Mapping[str, Any] | None, record: FrozenToolRecord) -> bool:
    return run is not None and run["passed"] is True and _is_of(run, record)


def source_hash(record: FrozenToolRecord) -> str:
    """Digest the sources: all files by path and digest, and the profile they are built in."""
    listed = [[each.path, each.sha256] for each in record.definition.files]
    profile = str(record.definition.content.get("profile", ""))
    return digest([profile, *listed], domain=SOURCE_DOMAIN)


def _refs(stored: Stored, record: FrozenToolRecord) -> tuple[str, ...]:
    """Return the evidence of build, test and fixtures, by calls and positions in chains."""
    refs = [f"{record.workspace}:{run['call_id']}" for run in (stored.build, stored.test) if run]
    refs += [f"{record.workspace}:{call}" for call in (stored.fixtures or {}).get("calls", ())]
    if record.validation is not None:
        refs += [f"{each.chain}:{each.call_id}" for each in record.validation.fixtures]
    return tuple(dict.fromkeys(refs))


def _approved(content: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{each['name']}@{each['version']}" for each in content.get("dependencies", ()))
