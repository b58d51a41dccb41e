"""What an operator does with a workspace's memory: list, read, health, export, import."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_builtin_memory.answers import memory, seconds, word
from holon_builtin_memory.descriptors import PRINTED_BYTES
from holon_builtin_memory.lane import folder_of
from holon_builtin_memory.program import Program
from holon_builtin_memory.refusals import Refused, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_builtin_memory.program import Run
    from holon_core.operations.door import Door, Params
    from holon_core.plugins.host import PluginHost
    from holon_core.process import ProcessOutcome

TIMEOUT_S = 120.0
STDERR_BYTES = 64 * 1024
MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
BATCH = 500
MAX_PROBLEMS = 100


class Keeper:
    """The memory of one runtime's workspaces, as its operator sees it."""

    def __init__(self, host: PluginHost) -> None:
        self._program = Program(host.config, folder_of(host))

    def listed(self, door: Door, given: Params, workspace: str) -> Any:
        """Answer a page of memories, oldest first."""
        run, limit = _runner(door), given.get("limit", 50)
        words = ["list", f"--limit={limit}"]
        if given.get("include_dormant"):
            words.append("--include-dormant")
        if "after" in given:
            if "after" not in self._program.extensions(run, workspace):
                text = "the configured memory command lists one page only"
                raise refuse("unsupported_capability", text, started=False)
            words.append(f"--after={given['after']}")
        data = self._program.ask(run, workspace, words)
        found = [
            {
                "id": each["id"],
                "type": word(each["memoryType"]),
                "state": word(each["state"]),
                "updated_at_unix_seconds": seconds(each.get("updatedAt")),
                "preview": each["preview"],
            }
            for each in data["memories"]
        ]
        last = found[-1]["id"] if len(found) == limit else None
        return {"memories": found, "next_after": last}

    def read(self, door: Door, given: Params, workspace: str) -> Any:
        """Answer one memory with its versions."""
        data = self._program.ask(_runner(door), workspace, ["inspect"], text=given["id"])
        versions = [
            {
                "version": each.get("versionNumber", 0),
                "content": str(each.get("content", "")),
                "changed_by": str(each.get("changedBy", "")),
                "changed_at_unix_seconds": seconds(each.get("changedAt")),
            }
            for each in data["versions"]
            if isinstance(each, dict)
        ]
        full = data["memory"]
        return {"memory": memory(full), "content": full["content"], "versions": versions}

    def health(self, door: Door, given: Params, workspace: str) -> Any:
        """Answer what the store holds and which command keeps it."""
        run = _runner(door)
        data = self._program.ask(run, workspace, ["health"])
        report = data["report"]
        return {
            "command": list(self._program.command().argv),
            "extensions": sorted(self._program.extensions(run, workspace)),
            "active": report.get("activeCount", 0),
            "dormant": report.get("dormantCount", 0),
            "bytes": report.get("totalStorageBytes", 0),
            "types": data["typeCounts"],
        }

    def exported(self, door: Door, given: Params, workspace: str) -> Any:
        """Write JSON lines, whole or not at all."""
        place = Path(given["output"]).expanduser().absolute()
        if place.exists() and not given.get("replace"):
            raise refuse("file_exists", f"{place.name} is there already", started=False)
        draft = self._program.database(workspace).with_name(f"export-{os.getpid()}.json")
        try:
            self._program.ask(_runner(door), workspace, ["export", f"--output={draft}"])
            memories = _exported(draft)
            _write_lines(place, memories)
        finally:
            draft.unlink(missing_ok=True)
        return {"output": str(place), "memories": len(memories)}

    def imported(self, door: Door, given: Params, workspace: str) -> Any:
        """Take in JSON lines, a batch a transaction, and say how far it is."""
        place = Path(given["input"]).expanduser()
        run = _runner(door)
        guard = door.runtime._parts.guard
        unknown = guard.know_secrets()
        if unknown is not None:
            raise Refused(unknown, started=False)
        total = {"total": 0, "imported": 0, "merged": 0, "skipped": 0}
        problems: list[str] = []
        lines, of = _lines(place), _count(place)
        for batch in _batches(lines):
            whole, short = [], []
            for number, value in batch:
                problem = _problem(value, guard.services.clean)
                if problem is not None:
                    total["total"] += 1
                    total["skipped"] += 1
                    problems.append(f"line {number}: {problem}")
                elif isinstance(value, dict) and "id" in value:
                    whole.append(value)
                else:
                    short.append(value)
            for document in ([{"memories": whole}] if whole else []) + ([short] if short else []):
                self._take(run, workspace, document, total=total, problems=problems)
            guard.services.report_progress("", "lines imported", batch[-1][0], of, "")
        return {**total, "problems": problems[:MAX_PROBLEMS]}

    def _take(
        self,
        run: Run,
        workspace: str,
        document: Any,
        *,
        total: dict[str, int],
        problems: list[str],
    ) -> None:
        raw = json.dumps(document, ensure_ascii=False).encode()
        data = self._program.ask(run, workspace, ["import"], stdin=raw)
        for name in total:
            total[name] += data[name]
        problems.extend(str(each)[:200] for each in data.get("errors") or ())


def _runner(door: Door) -> Run:
    """Return the bounded runner for an operator's own request, which its cancelling ends."""
    from holon_core.process import ProcessSpec, run

    def start(argv: tuple[str, ...], stdin: bytes | None) -> ProcessOutcome:
        spec = ProcessSpec(
            argv=argv,
            cwd=Path(argv[0]).parent,
            stdin=stdin,
            timeout_s=TIMEOUT_S,
            max_stdout_bytes=PRINTED_BYTES,
            max_stderr_bytes=STDERR_BYTES,
        )
        return run(spec, cancel=door.cancel)

    return start


def _exported(draft: Path) -> list[dict[str, Any]]:
    try:
        if draft.stat().st_size > MAX_FILE_BYTES:
            raise refuse("output_too_large", f"the export is larger than {MAX_FILE_BYTES} bytes")
        document = json.loads(draft.read_bytes())
        memories = document["memories"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        text = f"the memory command's export is not what the contract promises: {error}"
        raise refuse("output_schema", text) from None
    if not isinstance(memories, list) or not all(isinstance(each, dict) for each in memories):
        raise refuse("output_schema", "the memory command's export has no list of memories")
    return memories


def _write_lines(place: Path, memories: list[dict[str, Any]]) -> None:
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            for each in memories:
                file.write(json.dumps(each, ensure_ascii=False, sort_keys=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise refuse("tool_failed", f"cannot write {place.name}: {error.strerror}") from None


def _lines(place: Path) -> Iterator[tuple[int, Any]]:
    """Yield each line's number and value; a line that is no JSON is a text that says so."""
    try:
        file = place.open("rb")
    except OSError as error:
        text = f"cannot read {place.name}: {error.strerror}"
        raise refuse("arguments_invalid", text, started=False, path="/input") from None
    with file:
        number = 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                text = f"line {number} is longer than {MAX_LINE_BYTES} bytes"
                raise refuse("arguments_invalid", text, path="/input")
            if raw.strip():
                yield number, _value(raw)


def _count(place: Path) -> int | None:
    """Count the lines, for those who watch; ``None`` where that cannot be told."""
    ends, last = 0, b"\n"
    try:
        with place.open("rb") as file:
            while piece := file.read(MAX_LINE_BYTES):
                ends, last = ends + piece.count(b"\n"), piece[-1:]
    except OSError:
        return None
    return ends + (last != b"\n")


class _NoJson:
    """A line that is no strict JSON."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


def _value(raw: bytes) -> Any:
    from holon_core.errors import JsonRefused
    from holon_core.wire.strict_json import parse

    try:
        return parse(raw)
    except JsonRefused as refusal:
        return _NoJson(str(refusal))


def _batches(lines: Iterator[tuple[int, Any]]) -> Iterator[list[tuple[int, Any]]]:
    from itertools import islice

    while batch := list(islice(lines, BATCH)):
        yield batch


def _problem(value: Any, clean: Any) -> str | None:
    if isinstance(value, _NoJson):
        return value.problem
    content = value.get("content") if isinstance(value, dict) else value
    if not isinstance(content, str) or not content.strip():
        return "a memory is a text, or an object with content"
    if "\0" in content:
        return "the content holds NUL"
    text = json.dumps(value, ensure_ascii=False)
    if clean(text) != text or clean(content) != content:
        return "it holds the value of a registered secret"
    return None
