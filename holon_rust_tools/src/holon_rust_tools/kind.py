"""The kind ``rust-code-tool``: judged by reading, built under control, run by its digest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core import (
    Effect,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    Finding,
    FrozenToolDefinition,
    Limits,
    Refused,
    StructuredFailure,
    completed,
    contract_env,
    failure,
    read_output,
)
from holon_rust_tools.artifacts import Artifacts
from holon_rust_tools.building import Builder
from holon_rust_tools.findings import to_core
from holon_rust_tools.proposal import KIND
from holon_rust_tools.running import SealedPrograms
from holon_rust_tools.settings import read_settings
from holon_rust_tools.validation import judge, of_definition

if TYPE_CHECKING:
    from holon_core import FrozenTool, PluginHost, SealedCall

WORKSPACE_ROOT = "HOLON_WORKSPACE_ROOT"
_IN_WORKSPACE = frozenset({Effect.WORKSPACE_READ, Effect.WORKSPACE_WRITE})
_CONTENT = frozenset(
    {
        "crate_name",
        "binary_name",
        "profile",
        "version",
        "validation_command",
        "dependencies",
        "output_declared",
        "lock_made",
    }
)


class RustCodeTools:
    """Compiled Rust tools as frozen tools.

    Args:
        host: Settings, the managed folder and the documents of the lane.
    """

    kind = KIND
    # What is built and what runs are programs, and all of them run through the call.
    confines = True

    def __init__(self, host: PluginHost) -> None:
        self.settings = read_settings(host.config)
        self.programs = SealedPrograms()
        self.artifacts = Artifacts(host.documents, self.settings)
        self.builder = Builder(self.settings, self.artifacts, lambda: host.folder)

    @property
    def build_limits(self) -> Limits | None:
        """The bounds of one build."""
        return self.settings.limits

    def validate(
        self, definition: FrozenToolDefinition, files: Mapping[str, bytes]
    ) -> Iterable[Finding]:
        """Name everything that the policy floor refuses, from reading alone."""
        more = sorted(set(definition.content) - _CONTENT)
        if more:
            text = f"no members of a rust-code-tool's content: {', '.join(more)[:200]}"
            return [Finding(code="rust_proposal", message=text, path="/content")]
        found = judge(of_definition(definition, files), self.settings.catalogue)
        return to_core(found, files)

    def ready(self, tool: FrozenTool) -> Iterable[StructuredFailure]:
        """Name what is missing of: built, tested, fixtures passed, binary as recorded."""
        return self.artifacts.lacks(tool)

    def build(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Check and build a tool."""
        return self.builder.build(call, tool)

    def execute(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Run the binary once: arguments in a variable, one JSON object on standard output."""
        artifact = tool.record.artifact
        if artifact is None:
            return _failed(failure("artifact_not_ready", "it is not built"), blocked=True)
        env = contract_env(
            call.arguments_json, call_id=call.call_id, idempotency_key=call.idempotency_key
        )
        if isinstance(env, StructuredFailure):
            return _failed(env, started=False)
        root = _root(call)
        if root is not None:
            env[WORKSPACE_ROOT] = root
        env.update({slot.name: call.secret(slot.name) for slot in call.tool.secret_slots})
        try:
            with self.programs.program(
                Path(artifact.facts["binary_path"]), artifact.sha256
            ) as found:
                outcome = call.run_process(
                    (found.path,),
                    cwd=tool.folder,
                    env=env,
                    stdin_fd=found.stdin_fd,
                    reads=(tool.folder,),
                )
        except Refused as refused:
            return _failed(refused.failure, blocked=True)
        finally:
            # What one call leaves there would keep the tool from all others.
            with suppress(OSError):
                tool.restore()
        answer = read_output(outcome)
        return _failed(answer) if isinstance(answer, StructuredFailure) else completed(answer)

    def preview(self, call: SealedCall, tool: FrozenTool) -> Mapping[str, Any]:
        """Show the binary by its digest, and which variables it gets."""
        artifact = tool.record.artifact
        return {
            "binary": tool.definition.content["binary_name"],
            "binary_sha256": None if artifact is None else artifact.sha256,
            "HOLON_INPUT_JSON": dict(call.arguments),
            "working_directory": str(tool.folder),
            "workspace_root": _root(call),
            "secrets": [slot.name for slot in call.tool.secret_slots],
        }


def _root(call: SealedCall) -> str | None:
    if call.workspace is None or not call.tool.effects & _IN_WORKSPACE:
        return None
    return call.workspace.root_path


def _failed(
    problem: StructuredFailure, *, started: bool = True, blocked: bool = False
) -> ExecutorOutcome:
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        # What never started used nothing up.
        started=started and not blocked and problem.code != "spawn_failed",
    )
