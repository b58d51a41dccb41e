"""Operations on compiled Rust tools: judged, proposed, built, tested, read, listed, reviewed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core import FrozenToolRecord, Refused, Rejected, failure
from holon_core.operations.answers import to_json
from holon_core.operations.door import not_allowed
from holon_core.operations.frozen_rows import visible
from holon_core.records.words import Authority
from holon_rust_tools.findings import RustFinding, to_core
from holon_rust_tools.proposal import KIND, RustProposal, frozen_proposal, read_proposal
from holon_rust_tools.review import html_page, review_of
from holon_rust_tools.schemas_of_fixtures import fixture_findings
from holon_rust_tools.validation import PROMOTION, judge, lock_of, of_proposal

if TYPE_CHECKING:
    from holon_core import FrozenTool, Operation, ToolResult
    from holon_core.frozen.facet import FrozenTools
    from holon_core.operations.door import Door, Params
    from holon_core.records.frozen import ValidationRun
    from holon_rust_tools.artifacts import RustArtifact
    from holon_rust_tools.kind import RustCodeTools

MAX_VERSIONS_READ = 1000


class Handlers:
    """The handlers of this lane's rows.

    Args:
        lane: Settings, artifact records and what builds.
    """

    def __init__(self, lane: RustCodeTools) -> None:
        self._lane = lane

    def validate(self, door: Door, given: Params) -> Any:
        """Judge a proposal by reading it; no cargo command runs, nothing is stored."""
        _on_disk(door)
        found = self._judged(read_proposal(given["proposal"]))
        usable = all(each.rule == PROMOTION for each in found)
        return {
            "status": "completed" if usable else "rejected",
            "usable": usable,
            "promotable": not found,
            "findings": [told(each) for each in found],
        }

    def _judged(self, proposal: RustProposal) -> list[RustFinding]:
        found = judge(of_proposal(proposal), self._lane.settings.catalogue)
        return [*found, *fixture_findings(proposal)]

    def create(self, door: Door, given: Params) -> Any:
        """Propose a sound rust-code-tool as a frozen tool, in a workspace."""
        frozen = _on_disk(door)
        workspace = given["workspace_id"]
        if workspace != door.caller.workspace and not door.may(Authority.OPERATOR):
            raise not_allowed("a caller proposes in its own workspace")
        proposal = read_proposal(given["proposal"])
        found = [each for each in self._judged(proposal) if each.rule != PROMOTION]
        if found:
            raise Rejected("the proposal", to_core(found, [each.path for each in proposal.files]))
        name, version = given["name"], given["version"]
        _refuse_taken(frozen, workspace, name, version)
        made = frozen_proposal(
            proposal,
            name=name,
            version=version,
            lock=lock_of(of_proposal(proposal), self._lane.settings.catalogue),
        )
        from holon_core.wire.canonical import digest

        record = frozen.propose(
            made,
            caller=evolve(door.caller, workspace=workspace),
            calls=given.get("calls", ()),
            sees_all=door.may(Authority.OPERATOR),
            origin=("rust_code_tool", digest(made, domain="holon-rust-proposal/1")),
        )
        return to_json(record)

    def build(self, door: Door, given: Params) -> Any:
        """Check and build a tool under control."""
        frozen, record = _on_disk(door), _record(door, given)
        lane = self._lane
        tool = frozen.tool(record.id)
        if record.state.value in ("frozen", "active", "deprecated"):
            return self._restore(door, frozen, tool)
        record, result = frozen.build(record.id, caller=door.caller)
        return _answer(result, lane.artifacts.record(frozen.tool(record.id)))

    def _restore(self, door: Door, frozen: FrozenTools, tool: FrozenTool) -> Any:
        """Build a tool that is pinned once more: it has to come to the same binary."""
        lane, record = self._lane, tool.record
        if not list(lane.artifacts.lacks(tool)):
            raise Refused(failure("content_frozen", f"{record.id} is {record.state}, and ready"))
        limits = lane.settings.limits
        result = frozen.trial(
            record.id, caller=door.caller, about="build", run=lane.builder.build, limits=limits
        )
        return _answer(result, lane.artifacts.record(tool))

    def test(self, door: Door, given: Params) -> Any:
        """Run a tool's own tests, then its fixtures on the binary."""
        frozen, record = _on_disk(door), _record(door, given)
        lane = self._lane
        result = frozen.trial(
            record.id,
            caller=door.caller,
            about="test",
            run=lane.builder.test,
            limits=lane.settings.limits,
        )
        run = None
        if result.failure is None:
            try:
                run = frozen.try_fixtures(record.id, caller=door.caller)
            except Refused as refused:
                raise Refused(refused.failure) from None
            lane.artifacts.keep(record.id, fixtures=_kept(run))
        tool = frozen.tool(record.id)
        made = _answer(result, lane.artifacts.record(tool))
        if run is not None and not run.passed:
            made["status"] = "failed"
            made["failure"] = to_json(failure("fixtures_failed", _why(run)))
        return {**made, "fixtures": None if run is None else to_json(run)}

    def read(self, door: Door, given: Params) -> Any:
        """Answer the artifact record of a tool."""
        frozen, record = _on_disk(door), _record(door, given)
        return to_json(self._lane.artifacts.record(frozen.tool(record.id)))

    def list_tools(self, door: Door, given: Params) -> Any:
        """Answer a page of artifact records of a workspace."""
        frozen = _on_disk(door)
        workspace = given["workspace_id"]
        if workspace != door.caller.workspace and not door.sees_all:
            raise not_allowed("a caller sees its own workspace")
        limit = given.get("limit", 50)
        found = frozen.list(
            workspace=workspace, kind=KIND, after=given.get("after", ""), limit=limit
        )
        artifacts = [self._lane.artifacts.record(frozen.tool(each.id)) for each in found]
        last = found[-1].id if len(found) == limit else None
        return {"artifacts": to_json(artifacts), "next_after": last}

    def review(self, door: Door, given: Params) -> Any:
        """Answer all that a reviewer looks at, and the same as one HTML page where asked for."""
        frozen, record = _on_disk(door), _record(door, given)
        made = review_of(frozen, record, self._lane)
        return {**made, "html": html_page(made) if given.get("html") else None}


def told(found: RustFinding) -> dict[str, Any]:
    """Return a finding as the lane's own answers show it."""
    return {
        "rule": found.rule,
        "file": found.file,
        "line": found.line,
        "path": found.path,
        "message": found.message,
        "keeps_from": "promotion" if found.rule == PROMOTION else "proposal",
    }


def _on_disk(door: Door) -> FrozenTools:
    frozen = door.runtime.tools.frozen
    if KIND not in frozen.kinds:
        text = "rust-code-tools need a store on disk; open the runtime with Runtime.open(root)"
        raise Refused(failure("host_unsupported", text))
    return frozen


def _record(door: Door, given: Params) -> FrozenToolRecord:
    record_id = given["frozen_tool_proposal_id"]
    record = visible(door, record_id)
    if record.definition.kind != KIND or record.workspace != given["workspace_id"]:
        text = f"{record_id:.200} is no rust-code-tool of the workspace"
        raise Refused(failure("unknown_proposal", text))
    return record


def _refuse_taken(frozen: FrozenTools, workspace: str, name: str, version: str) -> None:
    """Refuse a version that another proposal of the name has already."""
    for each in frozen.list(workspace=workspace, kind=KIND, limit=MAX_VERSIONS_READ):
        if (each.name, each.definition.content.get("version")) == (name, version):
            text = f"{name} {version} is {each.id}; give the next version"
            raise Refused(failure("conflict", text[:500]))


def _answer(result: ToolResult, artifact: RustArtifact) -> dict[str, Any]:
    return {
        "status": result.status.value,
        "failure": None if result.failure is None else to_json(result.failure),
        "call_id": result.call_id,
        "artifact": to_json(artifact),
    }


def _kept(run: ValidationRun) -> Mapping[str, Any]:
    return {
        "passed": run.passed,
        "digest": run.digest,
        "binary_sha256": run.artifact,
        "at_unix_seconds": run.at_unix_seconds,
        "by": run.by,
        "calls": [each.call_id for each in run.fixtures],
        "fixtures": [
            {"name": each.name, "passed": each.passed, "why": each.why[:300]}
            for each in run.fixtures
        ],
    }


def _why(run: ValidationRun) -> str:
    return ", ".join(f"{each.name}: {each.why}" for each in run.fixtures if not each.passed)[:500]


def rows(tools: RustCodeTools) -> list[Operation]:
    """Return the rows of this lane."""
    from holon_rust_tools.rows import rows_of

    return rows_of(Handlers(tools))
