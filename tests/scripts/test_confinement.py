"""Confinement by bubblewrap: what a script sees and reaches is what it declares."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holon_core.runtime import Runtime
from holon_core.session import Session
from scripts import activate, open_scripts, script


def _works() -> bool:
    """Tell whether bubblewrap is here and may make what it needs."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return False
    words = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not _works(), reason="bubblewrap is not usable here")
LOOK = """
import json, os, socket
def reach():
    try: socket.create_connection(("127.0.0.1", 9), 1)
    except OSError as error: return error.strerror or type(error).__name__
seen = {
    "outside": os.path.exists(PATH),
    "root": os.environ.get("HOLON_WORKSPACE_ROOT"),
    "devices": len(open("/proc/net/dev").read().splitlines()) - 2,
    "network": reach(),
}
if seen["root"]:
    seen["files"] = sorted(os.listdir(seen["root"]))
    try: open(os.path.join(seen["root"], "made"), "w"); seen["writes"] = True
    except OSError: seen["writes"] = False
print(json.dumps(seen))
"""


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    """A runtime that requires confinement."""
    root = tmp_path / "root"
    root.mkdir()
    settings = '[lane.script-tools]\nconfinement = "required"\n'
    (root / "holon.toml").write_text(settings, encoding="utf-8")
    with open_scripts(root) as opened:
        yield opened


@pytest.fixture
def session(runtime: Runtime, tmp_path: Path) -> Session:
    """Ann, in a workspace that holds a file."""
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "mine.txt").write_text("x", encoding="utf-8")
    return runtime.session(principal="ann", workspace=tmp_path / "place")


def look(runtime: Runtime, session: Session, tmp_path: Path, effects: list[str]) -> Any:
    """Run a script of these effects; return what it saw, and what evidence says of it."""
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    text = LOOK.replace("PATH", repr(str(tmp_path / "outside.txt")))
    record = activate(runtime, session, script(text, effects=effects))
    result = session.call(record.id, {})
    if result.held is not None:
        runtime.approvals.approve(result.held, by="boss", reason="ok")
        result = session.release(result.held)
    assert result.failure is None, result.failure
    closing = runtime.evidence.read(result.call_id)[-1].body
    [told] = [e["data"] for e in closing["from_tool"] if e["source"] == "holon-confinement"]
    return result.output, told


def test_without_effects_it_sees_neither_files_nor_a_network(
    runtime: Runtime, session: Session, tmp_path: Path
) -> None:
    """And the evidence says by what."""
    seen, told = look(runtime, session, tmp_path, ["none"])

    assert (seen["outside"], seen["root"]) == (False, None)
    assert seen["devices"] <= 1
    assert (told["enforced"], told["by"], told["network"]) == (True, "bubblewrap", False)


@pytest.mark.parametrize(
    ("effect", "writes"), [("workspace_read", False), ("workspace_write", True)]
)
def test_the_workspace_is_there_as_far_as_it_is_declared(
    runtime: Runtime, session: Session, tmp_path: Path, effect: str, writes: bool
) -> None:
    """Read-only unless a write is declared; what lies beside it is not there."""
    seen, _ = look(runtime, session, tmp_path, [effect])

    assert seen["files"] == ["mine.txt"]
    assert seen["writes"] is writes
    assert seen["outside"] is False


def test_a_declared_network_is_the_machines(
    runtime: Runtime, session: Session, tmp_path: Path
) -> None:
    """Its devices are those outside."""
    seen, told = look(runtime, session, tmp_path, ["network_read"])
    devices = len(Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()) - 2

    assert seen["devices"] == devices
    assert told["network"] is True
