"""Builds and tests under control: verified sources in, a binary by its digest out."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core import (
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorStatus,
    Refused,
    StructuredFailure,
    completed,
    failure,
)
from holon_core.wire.converter import unstructure
from holon_rust_tools import toolchain
from holon_rust_tools.artifacts import Artifacts, source_hash
from holon_rust_tools.catalogue import closure
from holon_rust_tools.integrity import file_digest, source_problem
from holon_rust_tools.locking import Place, building
from holon_rust_tools.paths import LOCK, MANIFEST
from holon_rust_tools.reading import foreign_inputs
from holon_rust_tools.stages import Stages

if TYPE_CHECKING:
    from holon_core import FrozenTool, SealedCall
    from holon_rust_tools.settings import Settings

_KEY_CHARS = 16
_QUIET = ("--locked", "--offline", "--message-format=json-render-diagnostics")


class Builder:
    """Builds and tests tools of one storage root.

    Args:
        settings: The lane's.
        artifacts: Where what came of it is kept.
        tools_root: Gives the managed folder of the lane.
    """

    def __init__(self, settings: Settings, artifacts: Artifacts, tools_root: Any) -> None:
        self._settings, self._artifacts, self._root = settings, artifacts, tools_root

    def build(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Check and build a tool; keep its binary by digest."""
        return self._guarded(call, tool, "build", self._build)

    def test(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Run the tests of a tool that is built."""
        return self._guarded(call, tool, "test", self._test)

    def _guarded(self, call: SealedCall, tool: FrozenTool, what: str, work: Any) -> ExecutorOutcome:
        """Hold the lock, look at everything first, and keep how it ended."""
        problem = self._refusal(tool)
        if problem is not None:
            return _failed(problem, blocked=True)
        found = toolchain.find(call, self._settings)
        if isinstance(found, StructuredFailure):
            return _failed(found, blocked=True)
        key = tool.folder.parent.name[:_KEY_CHARS]
        try:
            with building(self._root(), key, call.call_id) as place:
                run: dict[str, Any] = {
                    "passed": False,
                    "message": "",
                    "call_id": call.call_id,
                    "chain": tool.record.workspace,
                    "at_unix_seconds": int(time.time()),
                    "source_hash": source_hash(tool.record),
                    "lock_hash": _sha_of(tool, LOCK),
                    "toolchain": unstructure(found),
                    "profile": tool.definition.content["profile"],
                    "binary_sha256": None,
                    "binary_path": None,
                    "recovered": place.recovered,
                }
                env = toolchain.build_env(found, home=place.home, target=place.target)
                stages = Stages(
                    call, env, place.target, max_disk_bytes=self._settings.max_disk_bytes
                )
                problem = work(tool, found, place, stages, run)
                # What cargo was given has to be what was looked at, to the end.
                problem = problem or source_problem(tool)
                run["stages"] = stages.log
                run["crates"] = {"compiled": stages.compiled, "fresh": stages.fresh}
                run["passed"] = problem is None
                run["message"] = "" if problem is None else problem.message[:500]
                call.draft("holon-rust-tools", {what: run})
                self._artifacts.keep(tool.record.id, **{what: run})
        except Refused as refused:
            return _failed(refused.failure, blocked=True)
        if problem is not None:
            return _failed(problem)
        facts = {name: run[name] for name in ("source_hash", "lock_hash", "profile", "binary_path")}
        return completed({"sha256": run["binary_sha256"], "facts": facts})

    def _refusal(self, tool: FrozenTool) -> StructuredFailure | None:
        """Say what keeps cargo from being started at all."""
        changed = source_problem(tool)
        if changed is not None:
            return changed
        for folder in tool.folder.parents:
            if (folder / MANIFEST).exists():
                text = f"{folder / MANIFEST} would be taken for the workspace of the tool; move it"
                return failure("artifact_not_ready", text)
        for name in ("config", "config.toml"):
            configured = toolchain.anchor() / ".cargo" / name
            if configured.exists():
                return failure("artifact_not_ready", f"{configured} would configure the build")
        return None

    def _build(
        self,
        tool: FrozenTool,
        found: toolchain.Toolchain,
        place: Place,
        stages: Stages,
        run: dict[str, Any],
    ) -> StructuredFailure | None:
        _clean_home(place.home)
        problem = self._fetch(tool, found, place, stages)
        if problem is not None:
            return problem
        total = len(self._crates(tool)) + 1
        name = str(tool.definition.content["binary_name"])
        words = _words(tool, "--bin", name)
        problem = stages.run("check", (found.cargo, "check", *words), total=total)
        if problem is None:
            problem = foreign_inputs(place.target, tool)
        if problem is None:
            problem = stages.run("build", (found.cargo, "build", *words), total=total)
        if problem is not None:
            return problem
        made = stages.executables.get(name)
        if made is None:
            return failure("artifact_not_ready", f"cargo built no binary {name}")
        kept = _keep_binary(Path(made), tool.build_folder, name)
        if isinstance(kept, StructuredFailure):
            return kept
        run["binary_path"], run["binary_sha256"] = kept
        return None

    def _test(
        self,
        tool: FrozenTool,
        found: toolchain.Toolchain,
        place: Place,
        stages: Stages,
        run: dict[str, Any],
    ) -> StructuredFailure | None:
        build = self._artifacts.stored(tool.record.id).build
        if build is None or not build["passed"]:
            return failure("artifact_not_ready", "it is not built; run rust-code-tool build")
        of = (run["source_hash"], found.fingerprint)
        if (build["source_hash"], build["toolchain"]["fingerprint"]) != of:
            return failure("artifact_not_ready", "it changed since it was built; build it again")
        run["binary_sha256"], run["binary_path"] = build["binary_sha256"], build["binary_path"]
        total = len(self._crates(tool)) + 1
        return stages.run("test", (found.cargo, "test", *_words(tool)), total=total)

    def _crates(self, tool: FrozenTool) -> list[tuple[str, str]]:
        """Return all crates that the build of a tool needs, by name and version."""
        names = [each["name"] for each in tool.definition.content["dependencies"]]
        there = closure(self._settings.catalogue, names).values()
        return [(each.name, each.version) for each in there]

    def _fetch(
        self, tool: FrozenTool, found: toolchain.Toolchain, place: Place, stages: Stages
    ) -> StructuredFailure | None:
        """Fetch crates that are not there yet; once they are, nobody is asked any more."""
        missing = [each for each in self._crates(tool) if not _is_fetched(place.home, *each)]
        if not missing:
            return None
        if self._settings.offline:
            names = ", ".join(f"{name} {version}" for name, version in missing)
            text = f"{names}: not fetched yet, and the lane's settings say offline"
            return failure("dependency_missing", text[:500])
        words = ("--locked", "--manifest-path", str(tool.folder / MANIFEST))
        return stages.run("fetch", (found.cargo, "fetch", *words), total=len(missing))


def _words(tool: FrozenTool, *more: str) -> tuple[str, ...]:
    release = ("--release",) if tool.definition.content["profile"] == "release" else ()
    return (*_QUIET, "--manifest-path", str(tool.folder / MANIFEST), *release, *more)


def _is_fetched(home: Path, name: str, version: str) -> bool:
    cache = home / "registry" / "cache"
    folders = list(cache.iterdir()) if cache.is_dir() else []
    return any((folder / f"{name}-{version}.crate").is_file() for folder in folders)


def _clean_home(home: Path) -> None:
    """Take away what would configure cargo; the lane writes nothing of the kind."""
    for name in ("config", "config.toml", "credentials", "credentials.toml"):
        (home / name).unlink(missing_ok=True)


def _sha_of(tool: FrozenTool, path: str) -> str:
    return next((each.sha256 for each in tool.definition.files if each.path == path), "")


def _keep_binary(made: Path, build_folder: Path, name: str) -> tuple[str, str] | StructuredFailure:
    """Copy a binary to where its digest names it; return path and digest."""
    digest = file_digest(made)
    if digest is None:
        return failure("artifact_not_ready", "the binary that cargo names is no file")
    folder = build_folder / digest[:_KEY_CHARS]
    place = folder / (name + made.suffix)
    if file_digest(place) != digest:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, copy = tempfile.mkstemp(prefix=".making-", dir=folder)
        os.close(descriptor)
        try:
            shutil.copyfile(made, copy)
            Path(copy).chmod(0o500)
            Path(copy).replace(place)
        finally:
            Path(copy).unlink(missing_ok=True)
    if file_digest(place) != digest:
        return failure("artifact_changed", "the binary changed while it was kept")
    return str(place), digest


def _failed(problem: StructuredFailure, *, blocked: bool = False) -> ExecutorOutcome:
    return ExecutorOutcome(
        status=ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED,
        failure=ExecutorFailure(
            kind=problem.kind, code=problem.code, message=problem.message, details=problem.details
        ),
        started=not blocked,
    )
