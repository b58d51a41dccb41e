"""The rows of the operations table that this lane brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core import Authority, Effect, FrozenToolRecord, Operation
from holon_core.operations.answers import answer, listed, page, schema_of
from holon_core.operations.frozen_rows import CALLS
from holon_core.operations.schemas import AFTER_ID, LIMIT, MAX_TOOL_ID, flag, params, text
from holon_core.records.failure import StructuredFailure
from holon_core.records.frozen import ValidationRun
from holon_rust_tools.artifacts import RustArtifact

if TYPE_CHECKING:
    from holon_rust_tools.operations import Handlers

NOUN = "rust-code-tool"
WORKSPACE = text("Id of the workspace.")
TOOL_ID = text("Id of the frozen-tool proposal, frozen.<workspace>/<name>~<n>.", limit=MAX_TOOL_ID)
PROPOSAL = {
    "type": "object",
    "description": (
        "Purpose, crate_name, binary_name, files, required_inputs, secret_refs, side_effects, "
        "expected_output_schema, validation_command, dependencies, fixtures."
    ),
}
READS = frozenset({Effect.HOST_STATE_READ})
WRITES = frozenset({Effect.HOST_STATE_WRITE})
RUNS = frozenset({Effect.HOST_STATE_WRITE, Effect.PROCESS})
_WORD: Any = {"type": "string"}
_LINE: Any = {"type": "integer"}
_FINDING = answer(rule=_WORD, file=_WORD, line=_LINE, path=_WORD, message=_WORD, keeps_from=_WORD)
_MAYBE_FAILURE = {"anyOf": [schema_of(StructuredFailure), {"type": "null"}]}
_ARTIFACT = schema_of(RustArtifact)
_BUILT: dict[str, Any] = {
    "status": _WORD,
    "failure": _MAYBE_FAILURE,
    "call_id": _WORD,
    "artifact": _ARTIFACT,
}
_ONE = {"workspace_id": WORKSPACE, "frozen_tool_proposal_id": TOOL_ID}
_BY_POSITION = ("workspace_id", "frozen_tool_proposal_id")
_TEXTS: Any = {"type": "object"}


def rows_of(handlers: Handlers) -> list[Operation]:
    """Return the rows, answered by these handlers."""
    return [*_proposing(handlers), *_running(handlers), *_reading(handlers)]


def _proposing(handlers: Handlers) -> list[Operation]:
    return [
        Operation(
            noun=NOUN,
            verb="validate",
            request=params(("proposal",), proposal=PROPOSAL),
            response=answer(
                status=_WORD,
                usable={"type": "boolean"},
                promotable={"type": "boolean"},
                findings=listed(_FINDING),
            ),
            authority=Authority.CALLER,
            effects=frozenset({Effect.NONE}),
            handler=handlers.validate,
            listing="findings",
            columns=("rule", "file", "line", "path", "message"),
            positional=("proposal",),
            doc=(
                "Judge a proposal from reading it: all findings at once, with file, line and "
                "rule. No cargo command runs, nothing is stored."
            ),
        ),
        Operation(
            noun=NOUN,
            verb="create-frozen-tool-proposal",
            request=params(
                ("workspace_id", "proposal", "name", "version"),
                workspace_id=WORKSPACE,
                proposal=PROPOSAL,
                name=text("Name of the frozen tool.", limit=80),
                version=text("Version, as its author counts.", limit=64),
                calls=CALLS,
            ),
            response=schema_of(FrozenToolRecord),
            authority=Authority.CALLER,
            effects=WRITES,
            handler=handlers.create,
            positional=("workspace_id", "proposal"),
            doc=(
                "Propose a sound Rust tool as a frozen tool of a workspace; its provenance is "
                "the evidence of this, and the calls that are named."
            ),
        ),
    ]


def _running(handlers: Handlers) -> list[Operation]:
    return [
        Operation(
            noun=NOUN,
            verb="build",
            request=params(_BY_POSITION, **_ONE),
            response=answer(**_BUILT),
            authority=Authority.OPERATOR,
            effects=RUNS,
            handler=handlers.build,
            positional=_BY_POSITION,
            doc="Run cargo check and cargo build under control, recorded as a trial.",
        ),
        Operation(
            noun=NOUN,
            verb="test",
            request=params(_BY_POSITION, **_ONE),
            response=answer(
                **_BUILT, fixtures={"anyOf": [schema_of(ValidationRun), {"type": "null"}]}
            ),
            authority=Authority.OPERATOR,
            effects=RUNS,
            handler=handlers.test,
            positional=_BY_POSITION,
            doc=(
                "Run cargo test, then each fixture on the compiled binary, recorded as trials; "
                "the tool's state stays as it is."
            ),
        ),
    ]


def _reading(handlers: Handlers) -> list[Operation]:
    return [
        Operation(
            noun=NOUN,
            verb="read",
            request=params(_BY_POSITION, **_ONE),
            response=_ARTIFACT,
            authority=Authority.CALLER,
            effects=READS,
            handler=handlers.read,
            positional=_BY_POSITION,
            doc="Read the artifact record of a Rust tool: hashes, statuses, evidence.",
        ),
        Operation(
            noun=NOUN,
            verb="list",
            request=params(("workspace_id",), workspace_id=WORKSPACE, after=AFTER_ID, limit=LIMIT),
            response=page("artifacts", _ARTIFACT),
            authority=Authority.CALLER,
            effects=READS,
            handler=handlers.list_tools,
            listing="artifacts",
            columns=(
                "frozen_tool_proposal_id",
                "state",
                "build_status",
                "test_status",
                "fixture_status",
            ),
            positional=("workspace_id",),
            doc="List the artifact records of the Rust tools of a workspace.",
        ),
        Operation(
            noun=NOUN,
            verb="review",
            request=params(_BY_POSITION, **_ONE, html=flag("Also as one HTML page.")),
            response=answer(
                artifact=_ARTIFACT,
                purpose=_WORD,
                policy=_TEXTS,
                sources=listed(_TEXTS),
                dependencies=listed(_TEXTS),
                findings=listed(_TEXTS),
                fixtures=listed(_TEXTS),
                lifecycle=listed(_TEXTS),
                compared_with={"type": ["string", "null"]},
                changes=listed(_TEXTS),
                html={"type": ["string", "null"]},
            ),
            authority=Authority.CALLER,
            effects=READS,
            handler=handlers.review,
            positional=_BY_POSITION,
            doc=(
                "Show all of a Rust tool on one page: sources, dependencies, findings, readiness, "
                "lifecycle, last evidence, and the difference from the version in use."
            ),
        ),
    ]
