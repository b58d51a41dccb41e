"""Whether the programs that a capability needs are new enough; asked when it executes."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.process import resolve_program
from holon_core.records.failure import failure
from holon_core.tool_contract import process_failure
from holon_plugin_packages.reading_files import stamp

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.failure import StructuredFailure

PROBE_S = 5.0
PROBE_BYTES = 16 * 1024
MAX_KNOWN = 1000
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,5}")


class Probes:
    """Probes programs, each once as long as its file stays what it is."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...], tuple[str, ...]], str] = {}
        self._lock = threading.Lock()

    def problem(
        self, call: SealedCall, manifest: Mapping[str, Any], plan: Mapping[str, Any]
    ) -> StructuredFailure | None:
        """Say which program is missing, tells no version, or is too old."""
        known = {each["name"]: each for each in manifest.get("tool_requirements", ())}
        for name in plan.get("requires_tools", ()):
            found = self._one(call, known[name])
            if found is not None:
                return found
        return None

    def _one(self, call: SealedCall, wanted: Mapping[str, Any]) -> StructuredFailure | None:
        program, least = wanted["program"], wanted.get("min_version")
        path = resolve_program(program, outside=walls_of(call))
        if path is None:
            text = f"the program {program} is not on the path of this machine"
            return failure("dependency_missing", text, program=program)
        arguments = _probe_of(wanted)
        if arguments is None:
            return None
        said = self._version(call, path, arguments)
        if said is None:
            text = f"the program {program} does not answer {' '.join(arguments)}"
            return failure("dependency_missing", text, program=program)
        if least is None:
            return None
        if not said or numbers(said) < numbers(least):
            text = f"the program {program} is of version {said or 'unknown'}, {least} is needed"
            return failure("dependency_missing", text, program=program, min_version=least)
        return None

    def _version(self, call: SealedCall, path: str, arguments: tuple[str, ...]) -> str | None:
        status = Path(path).stat()
        key = path, stamp(status), arguments
        if key in self._known:
            return self._known[key]
        done = call.run_process(
            (path, *arguments), timeout_s=PROBE_S, max_stdout_bytes=PROBE_BYTES, cut_at_limit=True
        )
        if process_failure(done) is not None:
            return None
        text = (done.stdout.head + b"\n" + done.stderr.head).decode(errors="replace")
        found = _VERSION.search(text)
        said = "" if found is None else found.group()
        with self._lock:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = said
        return said


def shown(
    call: SealedCall, manifest: Mapping[str, Any], plan: Mapping[str, Any]
) -> list[list[str]]:
    """Return what is started before a capability, to learn versions; nothing is started."""
    known = {each["name"]: each for each in manifest.get("tool_requirements", ())}
    made = []
    for wanted in (known[name] for name in plan.get("requires_tools", ())):
        arguments, program = _probe_of(wanted), wanted["program"]
        if arguments is not None:
            path = resolve_program(program, outside=walls_of(call))
            made.append([path or program, *arguments])
    return made


def walls_of(call: SealedCall) -> tuple[Path, ...]:
    """Return the folders that no program of the path is taken from: the caller's workspace."""
    return () if call.workspace is None else (Path(call.workspace.root_path),)


def _probe_of(wanted: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the arguments that a program is probed with; ``None`` where it is not."""
    if "min_version" not in wanted and "probe_command" not in wanted:
        return None
    return tuple(wanted.get("probe_command", ("--version",)))


def numbers(version: str) -> tuple[int, ...]:
    """Return what of a version is compared: its numbers, trailing zeros aside."""
    found = _VERSION.search(version)
    made = [] if found is None else [int(each) for each in found.group().split(".")]
    while made and made[-1] == 0:
        made.pop()
    return tuple(made)
