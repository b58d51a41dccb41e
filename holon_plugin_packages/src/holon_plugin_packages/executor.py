"""Runs `cli` and `subprocess` capabilities of packages, by the bounded runner alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from elegy_contracts.templates import Invocation, TemplateError, render
from holon_core.errors import Refused
from holon_core.process import resolve_program
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.outcome import (
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    completed,
)
from holon_core.tool_contract import process_failure
from holon_plugin_packages.checking import PACKAGE_ROOT, file_path
from holon_plugin_packages.importing import package_of
from holon_plugin_packages.outputs import output_of
from holon_plugin_packages.probing import Probes, shown, walls_of

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall
    from holon_plugin_packages.packages import Packages
    from holon_plugin_packages.records import StoredPackage

# A Python program writes no caches beside its files, which would be files that came besides.
OWN_ENV: Mapping[str, str] = {"PYTHONDONTWRITEBYTECODE": "1"}


@frozen(kw_only=True)
class Ready:
    """A call that may be started: its invocation, by an absolute program."""

    package: StoredPackage
    plan: Mapping[str, Any]
    invocation: Invocation


class PackageExecutor:
    """Runs what packages declare.

    Args:
        packages: The packages of one runtime.
    """

    def __init__(self, packages: Packages) -> None:
        self._packages = packages
        self._probes = Probes()

    def execute(self, call: SealedCall) -> ExecutorOutcome:
        """Run one capability."""
        ready = self._ready(call)
        if isinstance(ready, StructuredFailure):
            return _failed(ready, blocked=True)
        problem = self._probes.problem(call, ready.package.manifest, ready.plan)
        if problem is not None:
            return _failed(problem, blocked=True)
        return self._run(call, ready)

    def _run(self, call: SealedCall, ready: Ready) -> ExecutorOutcome:
        made, command = ready.invocation, ready.plan["command"]
        slots = {each["name"]: each for each in ready.package.manifest.get("secret_slots", ())}
        wanted = ready.plan.get("secret_slots", ())
        outcome = call.run_process(
            (made.executable, *made.arguments),
            env={**OWN_ENV, **{slots[name]["env"]: call.secret(name) for name in wanted}},
            stdin=made.stdin,
        )
        problem = process_failure(outcome)
        passed = outcome.exit_code in command.get("exit_codes", (0,))
        if problem is not None and not (problem.code == "tool_exit" and passed):
            return _failed(problem)
        if problem is None and not passed:
            text = f"the program exited with {outcome.exit_code}, which is none of its exit_codes"
            return _failed(failure("tool_exit", text, exit_code=outcome.exit_code))
        found = output_of(call, outcome, ready.plan.get("output", {}))
        return _failed(found) if isinstance(found, StructuredFailure) else completed(found.value)

    def preview(self, call: SealedCall) -> Mapping[str, Any]:
        """Show the exact request, and nothing is started."""
        ready = self._ready(call, must_be_there=False)
        if isinstance(ready, StructuredFailure):
            if ready.code == "arguments_invalid":
                raise Refused(ready)
            return {"refused": ready.message}
        made = ready.invocation
        dry = ready.plan.get("dry_run")
        slots = {each["name"]: each for each in ready.package.manifest.get("secret_slots", ())}
        return {
            "argv": [made.executable, *made.arguments],
            "probes": shown(call, ready.package.manifest, ready.plan),
            "stdin": None if made.stdin is None else made.stdin.decode(),
            "env_names": [slots[name]["env"] for name in ready.plan.get("secret_slots", ())],
            "timeout_s": call.tool.limits.timeout_s,
            "package": {"id": ready.package.id, "digest": ready.package.digest},
            "own_dry_run": dry,
        }

    def _ready(self, call: SealedCall, *, must_be_there: bool = True) -> Ready | StructuredFailure:
        name = package_of(call.tool.id)
        package = self._packages.find(name)
        if package is None or package.digest != call.tool.executor_ref:
            text = f"the package {name} is not registered as it was imported"
            return failure("definition_changed", text, package=name)
        plan = self._packages.plan(package, call.tool.id)
        if plan is None or "command" not in plan:
            return failure("live_execution_blocked", "it does not say how it is started")
        folder = self._packages.folder(package)
        program = _program(folder, plan["command"]["program"], outside=walls_of(call))
        if program is None:
            wanted = plan["command"]["program"]
            if must_be_there:
                text = f"the program {wanted} is not on the path of this machine"
                return failure("dependency_missing", text, program=wanted)
            program = wanted
        changed = self._packages.changed(package) if must_be_there else []
        if changed:
            text = f"files of the package {name} changed since it was registered"
            return failure("definition_changed", text, package=name, files=changed[:5])
        try:
            made = invocation_of(
                plan["command"], call.arguments, program, self._packages.folder(package)
            )
        except TemplateError as error:
            first = error.findings[0]
            return failure("arguments_invalid", first.message, path=first.path)
        return Ready(package=package, plan=plan, invocation=made)


def _program(folder: Path, program: str, *, outside: tuple[Path, ...]) -> str | None:
    if program.startswith("./"):
        return resolve_program(str(folder / file_path(program)))
    return resolve_program(program, outside=outside)


def invocation_of(
    command: Mapping[str, Any], arguments: Mapping[str, Any], program: str, folder: Path
) -> Invocation:
    """Put arguments into the template of a capability.

    Raises:
        TemplateError: A value would be read as an option, or cannot be an argument.
    """
    form = command.get("stdin")
    values = {**arguments, PACKAGE_ROOT: str(folder)}
    made = render(
        program,
        command["arguments"],
        values,
        stdin_format=None if form == "object" else form,
        dash_names=command.get("dash_names", ()),
    )
    if form != "object":
        return made
    stdin = json.dumps(dict(arguments), ensure_ascii=False, separators=(",", ":")).encode()
    return Invocation(executable=made.executable, arguments=made.arguments, stdin=stdin)


def _failed(problem: StructuredFailure, *, blocked: bool = False) -> ExecutorOutcome:
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        # What never started used nothing up.
        started=not blocked and problem.code != "spawn_failed",
    )
