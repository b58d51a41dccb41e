"""One cargo command after another, within one deadline and one share of the disk."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core import StructuredFailure, failure, process_failure
from holon_rust_tools.toolchain import anchor

if TYPE_CHECKING:
    from holon_core import ProcessOutcome, SealedCall

MEASURE_EVERY_S = 1.0
MAX_ERRORS = 5
_ERROR = re.compile(r"^(error(?:\[E\d+\])?: .{1,300})", re.MULTILINE)
_PLACE = re.compile(r"^ *--> ([^\s:]{1,200}:\d+)", re.MULTILINE)


class DiskFull(Exception):
    """A build holds more on disk than it may."""


class Stages:
    """Runs the stages of one build or test.

    Args:
        call: Its limit of time is that of all stages together.
        env: Of cargo.
        target: The folder that is measured.
        max_disk_bytes: How much it may hold.
    """

    def __init__(
        self, call: SealedCall, env: Mapping[str, str], target: Path, *, max_disk_bytes: int
    ) -> None:
        self._call, self._env, self._target = call, env, target
        self._max_disk_bytes = max_disk_bytes
        self._until = time.monotonic() + (call.limits.timeout_s or 600.0)
        self._measured = 0.0
        self.log: list[dict[str, Any]] = []
        self.compiled = 0
        self.fresh = 0
        self.executables: dict[str, str] = {}
        self._crates = 0

    def run(self, stage: str, argv: tuple[str, ...], *, total: int) -> StructuredFailure | None:
        """Run one command.

        Args:
            stage: Its name, in progress and evidence.
            argv: By absolute path.
            total: How many crates it is about.

        Returns:
            How it failed, or ``None``.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            return failure("timeout", f"{stage}: the time of the build is used up")
        self._crates, rest = 0, bytearray()
        self._call.progress(stage, 0, total, f"cargo {stage}")

        def read(piece: bytes) -> None:
            rest.extend(piece)
            while (end := rest.find(b"\n")) >= 0:
                line = bytes(rest[:end])
                del rest[: end + 1]
                self._line(stage, line, total)
            self._measure()

        try:
            outcome = self._call.run_process(
                argv, cwd=anchor(), env=self._env, timeout_s=left, on_stdout=read
            )
        except DiskFull as full:
            self.log.append({"stage": stage, "cause": "disk_limit"})
            return failure("output_too_large", str(full))
        self.log.append(_entry(stage, outcome))
        self._measured = 0.0
        try:
            self._measure()
        except DiskFull as full:
            return failure("output_too_large", str(full))
        return _failure(stage, outcome)

    def _line(self, stage: str, line: bytes, total: int) -> None:
        """Read one message of cargo; what is none is the output of tests."""
        if not line.startswith(b'{"reason"'):
            return
        try:
            said = json.loads(line)
        except ValueError:
            return
        if said.get("reason") != "compiler-artifact":
            return
        self._crates += 1
        if said.get("fresh"):
            self.fresh += 1
        else:
            self.compiled += 1
        target = said.get("target", {})
        path = said.get("executable")
        if path and "bin" in target.get("kind", ()) and not said.get("profile", {}).get("test"):
            self.executables[str(target.get("name"))] = str(path)
        self._call.progress(stage, self._crates, max(total, self._crates), str(target.get("name")))

    def _measure(self) -> None:
        now = time.monotonic()
        if now - self._measured < MEASURE_EVERY_S:
            return
        self._measured = now
        size = folder_bytes(self._target, stop_at=self._max_disk_bytes)
        if size > self._max_disk_bytes:
            raise DiskFull(f"the build holds more than {self._max_disk_bytes} bytes on disk")


def folder_bytes(folder: Path, *, stop_at: int) -> int:
    """Return how many bytes a folder holds; counting ends beyond ``stop_at``."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += Path(place, name).lstat().st_size
            except OSError:
                continue
        if size > stop_at:
            break
    return size


def _entry(stage: str, outcome: ProcessOutcome) -> dict[str, Any]:
    return {
        "stage": stage,
        "cause": outcome.cause.value,
        "exit_code": outcome.exit_code,
        "duration_ms": round(outcome.duration_s * 1000),
    }


def _failure(stage: str, outcome: ProcessOutcome) -> StructuredFailure | None:
    problem = process_failure(outcome)
    if problem is None:
        return None
    said = (outcome.stderr.head + b"\n" + outcome.stderr.tail).decode("utf-8", "replace")
    errors = list(dict.fromkeys(_ERROR.findall(said)))[:MAX_ERRORS]
    places = list(dict.fromkeys(_PLACE.findall(said)))[:MAX_ERRORS]
    details: dict[str, Any] = {**problem.details, "stage": stage}
    if errors:
        details.update(compiler_errors=errors, places=places)
    text = f"cargo {stage}: {errors[0] if errors else problem.message}"
    if "-F unsafe-code" in said or "`-F unsafe-code`" in said:
        details["rule"] = "rust_unsafe"
    return failure(problem.code, text + (f" ({places[0]})" if places else ""), **details)
