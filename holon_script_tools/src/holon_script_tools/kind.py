"""The kind ``script-artifact``: judged by reading, run from sealed memory, within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core import (
    Effect,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    Finding,
    FrozenToolDefinition,
    StructuredFailure,
    completed,
    confinement,
    contract_env,
    failure,
    read_output,
)
from holon_core.process import ProcessCause, ProcessOutcome
from holon_core.records.words import LaneKind
from holon_script_tools.content import Command, command_of, problems
from holon_script_tools.interpreters import INTERPRETERS, PROGRAM, find
from holon_script_tools.sealing import can_seal, changed_file, program_bytes, sealed
from holon_script_tools.settings import prefix_of, read_settings

if TYPE_CHECKING:
    from holon_core import FrozenTool, Limits, SealedCall

# EX_USAGE of sysexits.h: what is wrong is the input, as the script sees it.
REFUSES = 64
WORKSPACE_ROOT = "HOLON_WORKSPACE_ROOT"
_IN_WORKSPACE = frozenset({Effect.WORKSPACE_READ, Effect.WORKSPACE_WRITE})


class ScriptArtifacts:
    """Scripts as frozen tools.

    Args:
        config: The table ``[lane.script-tools]``: ``confinement``, ``interpreters``.
    """

    kind = LaneKind.SCRIPT_ARTIFACT.value
    build_limits: Limits | None = None
    # A script is a program, and all of it runs through the call.
    confines = True

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._settings = read_settings(config)

    def validate(
        self, definition: FrozenToolDefinition, files: Mapping[str, bytes]
    ) -> Iterable[Finding]:
        """Name what is wrong with a script, from reading it alone."""
        return problems(definition, files)

    def ready(self, tool: FrozenTool) -> Iterator[StructuredFailure]:
        """Name what is missing: the interpreter, a system that seals, required confinement."""
        command = command_of(tool.definition)
        if find(command.interpreter, self._settings.interpreters) is None:
            yield failure("dependency_missing", f"no {command.interpreter} is on this machine")
        if not can_seal():
            yield failure("host_unsupported", "scripts run from sealed memory, which Linux has")
        if self._settings.required and confinement.program() is None:
            yield failure(
                "dependency_missing",
                "confinement is required and bubblewrap (bwrap) is not on this machine",
            )

    def build(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Never called: a script runs as it is."""
        raise NotImplementedError

    def execute(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Run a script once: arguments in a variable, one JSON object on standard output."""
        command = command_of(tool.definition)
        env = contract_env(
            call.arguments_json, call_id=call.call_id, idempotency_key=call.idempotency_key
        )
        if isinstance(env, StructuredFailure):
            return _failed(env, started=False)
        root = self._root(call)
        outside = () if call.workspace is None else (Path(call.workspace.root_path),)
        interpreter = find(command.interpreter, self._settings.interpreters, outside=outside)
        if interpreter is None:
            missing = failure("dependency_missing", f"no {command.interpreter} outside workspaces")
            return _failed(missing, started=False, blocked=True)
        if root is not None:
            env[WORKSPACE_ROOT] = root
        env.update({slot.name: call.secret(slot.name) for slot in call.tool.secret_slots})
        argv = _argv(interpreter, command)
        changed = changed_file(tool, command.program)
        if changed is not None:
            text = f"{changed} of the managed folder is not what was frozen; remove {tool.folder}"
            problem = failure("artifact_changed", f"{text}, it is written anew")
            return _failed(problem, started=False, blocked=True)
        confine, why = self._confines(call)
        told = {"enforced": confine, "why": why}
        call.draft("holon-script-tools", {"confinement": told, "interpreter": interpreter})
        try:
            with sealed(program_bytes(tool, command.program)) as program, tool.copied() as folder:
                outcome = call.run_process(
                    argv,
                    cwd=folder,
                    env=env,
                    stdin_fd=program,
                    confine=confine,
                    reads=(folder, *prefix_of(interpreter)),
                )
        except OSError as error:
            text = f"nothing to run {command.interpreter} from can be made: {error.strerror}"
            return _failed(failure("spawn_failed", text))
        answer = _refused_input(outcome) or read_output(outcome)
        return _failed(answer) if isinstance(answer, StructuredFailure) else completed(answer)

    def preview(self, call: SealedCall, tool: FrozenTool) -> Mapping[str, Any]:
        """Show the command, its file by digest, and which variables it gets."""
        command = command_of(tool.definition)
        digests = {each.path: each.sha256 for each in tool.definition.files}
        return {
            "command": [command.interpreter, command.program, *command.words],
            "program_sha256": digests[command.program],
            "HOLON_INPUT_JSON": dict(call.arguments),
            "sources": str(tool.folder),
            "working_directory": "a copy of the sources, made for the run",
            "workspace_root": self._root(call),
            "secrets": [slot.name for slot in call.tool.secret_slots],
            "confinement": "required" if call.confined else self._settings.mode,
        }

    def _confines(self, call: SealedCall) -> tuple[bool, str]:
        """Tell whether a run is confined, and why it is or is not."""
        if call.confined:
            return True, "policy requires it"
        mode = self._settings.mode
        if mode != "if_available":
            return self._settings.required, mode
        why = confinement.lack()
        return why is None, why or mode

    def _root(self, call: SealedCall) -> str | None:
        if call.workspace is None or not call.tool.effects & _IN_WORKSPACE:
            return None
        return call.workspace.root_path


def _refused_input(outcome: ProcessOutcome) -> StructuredFailure | None:
    """Say that the script itself refuses its arguments, which is no drift of the script."""
    if outcome.cause is ProcessCause.EXITED and outcome.exit_code == REFUSES:
        text = f"the script refuses these arguments (exit {REFUSES})"
        return failure("arguments_invalid", text, exit_code=REFUSES)
    return None


def _argv(interpreter: str, command: Command) -> tuple[str, ...]:
    flags = INTERPRETERS[command.interpreter].flags
    return (interpreter, *flags, PROGRAM, *command.words)


def _failed(
    problem: StructuredFailure, *, started: bool = True, blocked: bool = False
) -> ExecutorOutcome:
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        # What never started used nothing up.
        started=started and problem.code != "spawn_failed",
    )
