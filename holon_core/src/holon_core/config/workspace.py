"""What a workspace may say in its ``[tool.holon]``: only to tighten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from holon_core.config import checks
from holon_core.config.document import Findings, Unreadable, parse, read_bounded
from holon_core.config.lines import Path as KeyPath
from holon_core.config.records import LimitCaps, WorkspaceConfig
from holon_core.config.rule_tables import rules_of
from holon_core.records.finding import Finding
from holon_core.records.words import Decision

FILE = "pyproject.toml"
_TABLE = ("tool", "holon")
_RULES = rules_of(FILE, (Decision.ASK, Decision.DENY))
_CAPS = {
    "timeout_s": checks.between(0.001, 3600, whole=False),
    "max_output_bytes": checks.between(1, 64 * 1024 * 1024),
}


def load_workspace(root: Path) -> WorkspaceConfig:
    """Read the ``[tool.holon]`` of a workspace.

    Args:
        root: The workspace's folder; its ``pyproject.toml`` is read, at most 1 MiB, and not
            where it is a link that leads outside.

    Returns:
        Rules and ceilings, or the findings of a file that is broken or says what a workspace
        may not; nothing of either where there is no such table.
    """
    try:
        raw = read_bounded(root / FILE, within=root)
        document, lines = parse(raw or b"")
    except Unreadable as error:
        finding = Finding(code="config_invalid", message=f"{FILE}: {error}")
        return WorkspaceConfig(findings=(finding,))
    findings = Findings.of_file(FILE, lines)
    table = _holon_table(document, findings)
    findings.unknown_keys(table, ("rules", "limits"), _TABLE)
    rules = _RULES(table.get("rules", []), (*_TABLE, "rules"), findings)
    limits = _caps(table.get("limits", {}), (*_TABLE, "limits"), findings)
    if findings.found:
        return WorkspaceConfig(findings=tuple(findings.found))
    return WorkspaceConfig(rules=rules or (), limits=limits)


_NOTHING = WorkspaceConfig()


class WorkspaceConfigs:
    """The configuration of every workspace, read again when its file has changed.

    Args:
        root_of: Gives the folder of a workspace id; ``None`` for one that has none.
        clock: Seconds that only grow.
        look_every_s: How long an answer is kept before the file is looked at again, in
            seconds.
    """

    def __init__(
        self,
        root_of: Callable[[str], Path | None],
        *,
        clock: Callable[[], float] = monotonic,
        look_every_s: float = 1.0,
    ) -> None:
        self._root_of = root_of
        self._clock = clock
        self._look_every_s = look_every_s
        self._known: dict[str, tuple[float, object, WorkspaceConfig]] = {}

    def __call__(self, workspace: str) -> WorkspaceConfig:
        """Return the configuration of a workspace: the same object until its file changes."""
        now = self._clock()
        known = self._known.get(workspace)
        if known is not None and now < known[0]:
            return known[2]
        root = self._root_of(workspace)
        if root is None:
            return _NOTHING
        # The mark is taken before the file is read: a change in between is seen next time.
        mark = _mark(root / FILE)
        config = known[2] if known is not None and mark == known[1] else load_workspace(root)
        self._known[workspace] = (now + self._look_every_s, mark, config)
        return config


def _mark(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _holon_table(document: Mapping[str, Any], findings: Findings) -> Mapping[str, Any]:
    table: Mapping[str, Any] | None = document
    for depth, name in enumerate(_TABLE, 1):
        found = (table or {}).get(name, {})
        table = checks.table(found, _TABLE[:depth], findings)
    return table or {}


def _caps(value: object, path: KeyPath, findings: Findings) -> LimitCaps:
    table = checks.table(value, path, findings) or {}
    findings.unknown_keys(table, _CAPS, path)
    return LimitCaps(
        **{
            name: check(table[name], (*path, name), findings)
            for name, check in _CAPS.items()
            if name in table
        }
    )
