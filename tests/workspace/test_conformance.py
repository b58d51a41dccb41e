"""The workspace lane keeps the rules of every lane."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from holon_core.testing import LaneSuite

pytest_plugins = ["holon_core.testing.plugin"]

NAME = "holon-builtin-workspace"
GLOB, GREP, LIST_DIR, READ_FILE = (
    f"holon.built-in.workspace/workspace-{each}"
    for each in ("glob", "grep", "list-dir", "read-file")
)
CALLS = {
    GLOB: {"pattern": "*.txt"},
    GREP: {"pattern": "hello"},
    LIST_DIR: {"path": "."},
    READ_FILE: {"path": "long.txt"},
}


def _installed() -> bool:
    try:
        distribution(NAME)
    except PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not _installed(), reason=f"{NAME} is not installed as a distribution")
class TestConformance(LaneSuite):
    """Found by its entry point, as hosts have it."""

    distribution = NAME
    samples = CALLS
    large = CALLS
    unchecked = dict.fromkeys(
        ("keeps-time", "ends-on-cancel"),
        "no read of it takes a second in a workspace that a test can make",
    )
    failing = {  # noqa: RUF012
        GLOB: {"pattern": "["},
        GREP: {"pattern": "("},
        LIST_DIR: {"path": "/etc"},
        READ_FILE: {"path": "../outside"},
    }

    def prepare(self, workspace: Path) -> None:
        """Make more than any answer under the suite's limit holds."""
        (workspace / "long.txt").write_text("hello\n" * 2000, encoding="utf-8")
        for number in range(200):
            (workspace / f"a-file-with-a-name-{number}.txt").write_text("hello", encoding="utf-8")
