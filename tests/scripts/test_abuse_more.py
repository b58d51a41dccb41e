"""Abuse cases of processes and approvals that need settings, a clock or many threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from frozen_tools import BOSS
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.testing import ManualClock
from scripts import activate, open_scripts, script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sealed memory is Linux's")
# Leaves a line for each run, and never looks at what it is given.
COUNTS = """
import os
open(os.path.join(os.environ["HOLON_WORKSPACE_ROOT"], "lines"), "a").write("x")
print("{}")
"""
EXITS = """
import json, os, sys
given = json.loads(os.environ["HOLON_INPUT_JSON"])
print(json.dumps({"printed": True}), flush=True)
if "signal" in given:
    os.kill(os.getpid(), given["signal"])
sys.exit(given.get("exit", 0))
"""
ROUNDS, THREADS = 3, 8


class Shop:
    """One root, one workspace, and a tool that asks before it writes."""

    def __init__(self, folder: Path) -> None:
        self.root, self.place = folder / "root", folder / "place"
        self.place.mkdir()
        self.clock = ManualClock()
        with self.opened() as runtime:
            given = script(COUNTS, name="counts", effects=["workspace_write"])
            self.tool = activate(runtime, self.ann(runtime), given).id

    def opened(self, settings: str = "") -> Runtime:
        (self.root).mkdir(exist_ok=True)
        (self.root / "holon.toml").write_text(settings, encoding="utf-8")
        return open_scripts(self.root, clock=self.clock)

    def ann(self, runtime: Runtime) -> Session:
        return runtime.session(principal="ann", workspace=self.place)

    def runs(self) -> int:
        file = self.place / "lines"
        return len(file.read_text()) if file.exists() else 0


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Made once: each test counts what it adds."""
    return Shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def runtime(shop: Shop) -> Iterator[Runtime]:
    """The shop, open."""
    with shop.opened() as opened:
        yield opened


def approved(shop: Shop, runtime: Runtime, arguments: dict[str, Any]) -> str:
    """Hold a call and approve it."""
    held = shop.ann(runtime).call(shop.tool, arguments).held
    assert held is not None
    runtime.approvals.approve(held, by=BOSS, reason="ok")
    return held


def code_of(result: holon.ToolResult) -> str:
    """Return why a call did not complete."""
    return "" if result.failure is None else result.failure.code


def test_ab_proc_006_input_that_nobody_reads_is_no_failure(shop: Shop, runtime: Runtime) -> None:
    """As much as a variable carries; the script never looks at it."""
    held = approved(shop, runtime, {"pad": "x" * 130_000})

    assert shop.ann(runtime).release(held).output == {}


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("missing", "dependency_missing"),
        ("not executable", "dependency_missing"),
        ("a directory", "dependency_missing"),
        ("no header", "spawn_failed"),
        ("no interpreter", "spawn_failed"),
    ],
)
def test_ab_proc_012_an_interpreter_that_can_not_start_says_so(
    shop: Shop, tmp_path: Path, part: str, code: str
) -> None:
    """No shell is tried, nothing ran, and the approval serves once it is there again."""
    program = tmp_path / "python3"
    if part == "a directory":
        program.mkdir()
    elif part != "missing":
        header = "#!/nowhere/python\n" if part == "no interpreter" else "print('{}')\n"
        program.write_text(header, encoding="utf-8")
        program.chmod(0o644 if part == "not executable" else 0o755)
    before = shop.runs()
    with shop.opened() as runtime:
        held = approved(shop, runtime, {"part": part})
    with shop.opened(f'[lane.script-tools.interpreters]\npython3 = "{program}"\n') as runtime:
        result = shop.ann(runtime).release(held)

        assert (code_of(result), result.output) == (code, None)
        assert result.failure is not None
        assert "python3" in result.failure.message or "spawn" in str(
            runtime.evidence.read(result.call_id)[-1].body
        )
    with shop.opened() as runtime:
        if code == "spawn_failed":
            assert runtime.approvals.read(held).uses_left == 1
    assert shop.runs() == before


def test_ab_proc_012_f_no_place_for_a_working_directory_says_so(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's reason and the interpreter are named, and the approval is not used up.

    Nor is the tool found guilty: its fixtures have no place either.
    """
    before = shop.runs()
    with shop.opened() as runtime:
        session, given = shop.ann(runtime), {"part": "no folder"}
        held = approved(shop, runtime, given)
        with monkeypatch.context() as patched:
            patched.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
            results = [session.release(held)]
            results += [session.call(shop.tool, given) for _ in range(3)]

        for result in results:
            assert code_of(result) == "spawn_failed"
            assert result.failure is not None
            assert "python3" in result.failure.message
            assert "No such file or directory" in result.failure.message
        assert runtime.approvals.read(held).uses_left == 1
        assert shop.runs() == before
        assert session.call(shop.tool, given).output == {}


def test_ab_approval_006_integers_above_2_53_are_refused(shop: Shop, runtime: Runtime) -> None:
    """Both, so that neither can be taken for the other."""
    session, before = shop.ann(runtime), shop.runs()

    codes = [
        code_of(session.call(shop.tool, {"amount": amount}))
        for amount in (9_007_199_254_740_992, 9_007_199_254_740_993)
    ]

    assert codes == ["arguments_invalid"] * 2
    assert shop.runs() == before


def test_ab_approval_009_of_many_threads_one_takes_the_approval(
    shop: Shop, runtime: Runtime
) -> None:
    """In each round the script runs once; the others are refused."""
    session = shop.ann(runtime)
    for number in range(ROUNDS):
        arguments = {"round": number}
        approved(shop, runtime, arguments)
        before, gate = shop.runs(), threading.Barrier(THREADS)
        made: list[holon.ToolResult] = []

        def call(
            arguments: dict[str, int] = arguments,
            gate: threading.Barrier = gate,
            made: list[holon.ToolResult] = made,
        ) -> None:
            gate.wait()
            made.append(session.call(shop.tool, arguments))

        threads = [threading.Thread(target=call) for _ in range(THREADS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        codes = sorted(map(code_of, made))
        assert codes[0] == ""
        assert set(codes[1:]) <= {"approval_consumed", "approval_required"}
        assert len(codes) == THREADS
        assert shop.runs() == before + 1


def test_ab_approval_010_and_011_what_expired_stays_so(shop: Shop, runtime: Runtime) -> None:
    """After its time nothing runs, and setting the clock back revives nothing."""
    held, before = approved(shop, runtime, {"late": 1}), shop.runs()
    approval = runtime.approvals.read(held)
    left = approval.expires_at_unix_seconds - int(shop.clock.now())
    shop.clock.advance(left + 1)

    assert code_of(shop.ann(runtime).release(held)) == "approval_expired"
    shop.clock.set(shop.clock.now() - 3600 - left)
    assert code_of(shop.ann(runtime).call(shop.tool, {"late": 1})) != ""
    assert code_of(shop.ann(runtime).release(held)) != ""
    assert shop.runs() == before


@pytest.mark.parametrize(
    ("given", "code", "status"),
    [
        ({"exit": 0}, "", "completed"),
        ({"exit": 1}, "tool_exit", "failed"),
        ({"exit": 2}, "tool_exit", "failed"),
        ({"exit": 64}, "arguments_invalid", "failed"),
        ({"exit": 65}, "tool_exit", "failed"),
        ({"exit": 126}, "tool_exit", "failed"),
        ({"exit": 255}, "tool_exit", "failed"),
        ({"signal": 15}, "killed_by_signal", "failed"),
    ],
    ids=str,
)
def test_how_a_script_ends_is_what_the_manual_says(
    make_exits: tuple[Session, str], given: dict[str, int], code: str, status: str
) -> None:
    """Only 0 completes, whatever was printed; 64 is the caller's mistake."""
    session, tool = make_exits

    result = session.call(tool, given)

    assert (code_of(result), result.status.value) == (code, status)
    assert (result.output is not None) is (status == "completed")
    if code in ("tool_exit", "arguments_invalid"):
        assert result.failure is not None
        assert result.failure.details["exit_code"] == given["exit"]
    if code == "arguments_invalid":
        assert result.fallback is None


@pytest.fixture(scope="module")
def make_exits(
    shared_runtime: Runtime, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Session, str]:
    """A session, and a tool that ends as it is told."""
    session = shared_runtime.session(principal="ann", workspace=tmp_path_factory.mktemp("exits"))
    said = {"kind": "manual_handoff", "who": "the desk"}
    return session, activate(shared_runtime, session, script(EXITS, name="exits", fallback=said)).id
