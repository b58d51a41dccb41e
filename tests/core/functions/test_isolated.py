"""Functions in a process of their own: what crosses over, what is enforced, what is refused."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holon_core import Rejected, Runtime, Status, tool
from holon_core.functions.worker import BOOTSTRAP
from holon_core.guard.sealed import SealedCall

SOURCE = '''
import asyncio, os, subprocess, sys, threading, time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

@dataclass
class Receipt:
    order: str
    cents: int

def refund(receipt: Receipt) -> Receipt:
    """Refund half."""
    return Receipt(receipt.order, receipt.cents // 2)

async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1

def noisy(word: str) -> str:
    print("printed", word)
    subprocess.run(["/bin/echo", "said by a child"], check=True)
    return word

def fails(text: str) -> int:
    raise LookupError(text)

def leaves() -> int:
    sys.exit(5)

def vanishes() -> int:
    os._exit(97)

def crashes() -> int:
    os.kill(os.getpid(), 11)
    return 1

def sleeps(mark: str) -> int:
    child = subprocess.Popen(["/bin/sleep", "60"])
    Path(mark).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(60)
    return 1

def long(n: int) -> str:
    return "x" * n

def odd() -> Any:
    return float("nan")

def where() -> dict[str, str]:
    return {"cwd": os.getcwd(), "call": os.environ["HOLON_CALL_ID"], "name": __name__,
            "stdin": sys.stdin.read()}

def variables() -> list[str]:
    return sorted(os.environ)

def sees(token: str, word: str) -> dict[str, bool]:
    line = Path("/proc/self/cmdline").read_bytes().decode()
    return {"given": len(token) == 14 and word == "hello",
            "in_argv": token in line, "in_env": token in str(os.environ),
            "argument_in_argv": word in line}

def tells(token: str) -> int:
    raise ValueError(f"the token is {token}")

@dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        if self.n % 2:
            raise ValueError(f"{self.n} is odd")

def picky(even: Even) -> int:
    return even.n

class Kit:
    @staticmethod
    def three() -> int:
        return 3

    def method(self) -> int:
        return 4

    def __call__(self) -> int:
        return 5

def maker():
    def inner() -> int:
        return 6
    return inner

unnamed = lambda: 7
'''
Call = Callable[..., Any]


def running(pid: str) -> bool:
    """Tell whether a process runs; one that ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A module that a new interpreter can import, as those of hosts are."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "isolated_kit.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("isolated_kit")
        del sys.modules["isolated_kit"]


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with Runtime.in_memory(app="shop") as opened:
        yield opened


@pytest.fixture
def call(runtime: Runtime) -> Call:
    """Register a function for a process of its own and call it once."""

    def once(fn: Any, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
        made = runtime.register(fn, **{"effects": "none", "isolation": "process", **options})
        return runtime.session(principal="ann").call(made.id, arguments)

    return once


def test_an_isolated_function_takes_and_gives_its_own_types(kit, call):
    """A dataclass goes in and comes out, as it does without isolation."""
    result = call(kit.refund, {"receipt": {"order": "o1", "cents": 500}})

    assert result.status is Status.COMPLETED
    assert result.output == {"order": "o1", "cents": 250}


def test_an_isolated_coroutine_function_is_awaited_in_its_process(kit, call):
    """The child has an event loop of its own."""
    assert call(kit.later, {"n": 1}).output == {"result": 2}


def test_what_an_isolated_function_prints_is_kept_apart_from_its_answer(kit, call, runtime):
    """Its own prints and those of its children go to stderr, which evidence shows."""
    result = call(kit.noisy, {"word": "hello"})

    assert result.output == {"result": "hello"}
    kept = json.dumps([r.payload for r in runtime.evidence.read(result.call_id)])
    kept += json.dumps([dict(r.body) for r in runtime.evidence.read(result.call_id)])
    assert "printed hello" in kept
    assert "said by a child" in kept


def test_an_exception_comes_back_with_type_and_message(kit, call):
    """The failure is that of a function in the host's own process."""
    result = call(kit.fails, {"text": "no such order"})

    assert result.status is Status.FAILED
    assert result.failure.code == "tool_raised"
    assert result.failure.message == "LookupError: no such order"
    assert result.failure.details["exception"] == "LookupError"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("leaves", "tool_raised"),
        ("vanishes", "tool_exit"),
        ("crashes", "killed_by_signal"),
        ("odd", "output_not_json"),
    ],
)
def test_a_function_that_ends_its_process_is_a_failure(kit, call, name, code):
    """However it goes, the host stays and gets a failure with the finer word."""
    result = call(getattr(kit, name))

    assert result.status is Status.FAILED
    assert result.failure.code == code


def test_the_time_limit_is_enforced_and_nothing_is_left(kit, call, tmp_path):
    """A sleeping function and the child it started are gone when the call returns."""
    mark = tmp_path / "pids"

    result = call(kit.sleeps, {"mark": str(mark)}, timeout_s=3)

    assert result.failure.code == "timeout"
    assert not any(map(running, mark.read_text().split()))


def test_cancelling_an_awaited_call_ends_the_process(kit, runtime, tmp_path):
    """Nobody waits for the answer any more, so nothing works on it."""
    mark = tmp_path / "pids"
    made = runtime.register(kit.sleeps, effects="none", isolation="process")
    session = runtime.session(principal="ann")

    async def story() -> None:
        task = asyncio.ensure_future(session.acall(made.id, {"mark": str(mark)}))
        while not (mark.exists() and mark.read_text()):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    deadline = time.monotonic() + 10
    while any(map(running, mark.read_text().split())):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_output_limit_counts_the_output_alone(kit, call):
    """An output of exactly the limit fits, one byte more does not."""
    size = len('{"result":""}') + 100

    assert call(kit.long, {"n": 100}, max_output_bytes=size).status is Status.COMPLETED
    over = call(kit.long, {"n": 101}, max_output_bytes=size)
    assert over.failure.code == "output_too_large"


def test_secrets_and_arguments_are_in_no_argument_list_and_no_variable(kit, runtime, monkeypatch):
    """Both go through standard input, which no other program can read."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-t0k3n-1")
    made = runtime.register(
        kit.sees, effects="none", isolation="process", secrets={"token": "env:SHOP_TOKEN"}
    )

    result = runtime.session(principal="ann").call(made.id, {"word": "hello"})

    assert result.output == {
        "given": True,
        "in_argv": False,
        "in_env": False,
        "argument_in_argv": False,
    }


def test_a_secret_in_an_exception_is_redacted(kit, runtime, monkeypatch):
    """What the child says of its failure passes the same redaction as everything else."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-t0k3n-1")
    made = runtime.register(
        kit.tells, effects="none", isolation="process", secrets={"token": "env:SHOP_TOKEN"}
    )

    result = runtime.session(principal="ann").call(made.id)

    assert "s3cr3t" not in repr(result)
    kept = [(r.body, r.payload) for r in runtime.evidence.read(result.call_id)]
    assert "s3cr3t" not in repr(kept)
    assert result.failure.message.startswith("ValueError: the token is [redacted")


def test_the_environment_is_the_allow_listed_part(kit, call, monkeypatch):
    """A variable of the host that nobody declared is not the child's."""
    monkeypatch.setenv("HOST_PRIVATE", "1")

    names = call(kit.variables).output["result"]

    assert "HOST_PRIVATE" not in names
    assert "PATH" in names


def test_the_workspace_is_the_working_directory(kit, tmp_path):
    """The child stands in the workspace, knows its call, and finds its input at the end."""
    folder = tmp_path / "work"
    folder.mkdir()
    with Runtime.open(tmp_path / "root", app="shop", discover=False) as runtime:
        made = runtime.register(kit.where, effects="none", isolation="process")
        result = runtime.session(principal="ann", workspace=folder).call(made.id)

    assert result.output == {
        "cwd": str(folder.resolve()),
        "call": result.call_id,
        "name": "isolated_kit",
        "stdin": "",
    }


def test_a_module_planted_in_the_workspace_is_not_imported(kit, tmp_path):
    """The search path is the host's; the folder in which the child stands adds nothing to it."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("json.py", "isolated_kit.py", "asyncio.py"):
        (folder / name).write_text("raise SystemExit('planted')")
    with Runtime.open(tmp_path / "root", app="shop", discover=False) as runtime:
        made = runtime.register(kit.later, effects="none", isolation="process")
        result = runtime.session(principal="ann", workspace=folder).call(made.id, {"n": 1})

    assert result.output == {"result": 2}


def test_an_explicit_schema_goes_along(kit, call):
    """With schemas of the author's own, arguments pass as they are and the result is no wrapper."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }

    assert call(kit.later, {"n": 1}, input_schema=schema).output == {"result": 2}
    assert call(kit.where, output_schema={"type": "object"}).output["name"] == "isolated_kit"


def test_a_static_method_runs_by_its_qualified_name(kit, call):
    """A function inside a class is found where it is defined."""
    assert call(kit.Kit.three).output == {"result": 3}


def test_the_preview_shows_the_command_and_starts_nothing(kit, runtime, tmp_path):
    """A dry run names function, arguments and command."""
    mark = tmp_path / "pids"
    made = runtime.register(kit.sleeps, effects="none", isolation="process")

    shown = runtime.session(principal="ann").dry_run(made.id, {"mark": str(mark)}).output

    assert shown["function"] == "isolated_kit:sleeps"
    assert shown["arguments"] == {"mark": str(mark)}
    assert shown["command"] == [sys.executable, "-I", "-c", "…"]
    assert not mark.exists()


def with_call(call: SealedCall) -> int:
    return 1


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda kit: kit.maker(), "made inside another function"),
        (lambda kit: kit.unnamed, "made inside another function"),
        (lambda kit: kit.Kit().method, "no bound method"),
        (lambda kit: kit.Kit(), "plain function"),
        (lambda kit: partial(kit.later, n=1), "plain function"),
        (lambda _: with_call, "SealedCall cannot be passed"),
    ],
    ids=["closure", "lambda", "method", "object", "partial", "injected"],
)
def test_what_no_new_interpreter_can_find_is_rejected(kit, runtime, take, said):
    """The refusal comes at registration, with the reason, and registers nothing."""
    with pytest.raises(Rejected) as caught:
        runtime.register(take(kit), name="it", effects="none", isolation="process")

    assert {finding.code for finding in caught.value.findings} == {"signature_unsupported"}
    assert any(said in finding.message for finding in caught.value.findings)
    assert len(runtime.tools) == 0


def test_a_function_that_was_replaced_under_its_name_is_rejected(kit, runtime, monkeypatch):
    """The child would run another function than the one that was registered."""
    original = kit.later
    monkeypatch.setattr(kit, "later", kit.refund)

    with pytest.raises(Rejected, match="is not this function"):
        runtime.register(original, effects="none", isolation="process")


def test_an_interpreter_that_cannot_be_started_again_is_rejected(kit, runtime, monkeypatch):
    """Programs that embed Python or are frozen have no interpreter to start."""
    monkeypatch.setattr(sys, "executable", "")

    with pytest.raises(Rejected, match="no Python interpreter"):
        runtime.register(kit.later, effects="none", isolation="process")


SCRIPT = """
import holon_core as holon

@holon.tool(effects={"none"}, isolation="process")
def name() -> str:
    return __name__

if __name__ == "__main__":
    with holon.Runtime.in_memory(tools=[name]) as runtime:
        print(runtime.session(principal="ann").call("host.app/name").output["result"])
"""


@pytest.mark.parametrize("how", ["file", "module"])
def test_functions_of_a_script_are_found_by_its_file(tmp_path, how):
    """A script and a module run by ``-m`` both work, and neither starts itself again."""
    script = tmp_path / ("isolated_script" if how == "file" else "isolated_script.py")
    script.write_text(SCRIPT)
    where = [str(script)] if how == "file" else ["-m", "isolated_script"]

    ran = subprocess.run(
        [sys.executable, *where],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )

    expected = "__holon_main__" if how == "file" else "isolated_script"
    assert ran.stdout.strip() == expected


def test_functions_typed_into_an_interpreter_are_rejected(tmp_path):
    """What is in no file can be found by no other process."""
    code = """
        import holon_core as holon

        def typed() -> int:
            return 1

        with holon.Runtime.in_memory() as runtime:
            try:
                runtime.register(typed, effects="none", isolation="process")
            except holon.Rejected as error:
                print(error)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "is in no file" in ran.stdout


def worker(request: dict[str, Any], **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run the worker by hand, as the executor runs it."""
    whole = {
        "path": [str(Path(entry).absolute()) for entry in sys.path],
        "module": "isolated_kit",
        "file": None,
        "secret_references": {},
        "input_schema": None,
        "output_schema": None,
        "is_async": False,
        "arguments": {},
        "secrets": {},
        **request,
    }
    return subprocess.run(
        [sys.executable, "-c", BOOTSTRAP],
        input=json.dumps(whole).encode(),
        env={**os.environ, **variables},
        capture_output=True,
        check=False,
    )


def test_the_worker_prints_one_object_and_nothing_else(kit):
    """Standard output holds the answer alone."""
    ran = worker({"name": "noisy", "arguments": {"word": "héllo"}})

    assert ran.returncode == 0
    assert json.loads(ran.stdout) == {"result": "héllo"}
    assert b"said by a child" in ran.stderr


@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        ({"name": "gone"}, "tool_raised", "has no gone any more"),
        ({"name": "refund", "module": "not_there"}, "tool_raised", "ModuleNotFoundError"),
        ({"name": "fails", "arguments": {"text": "x" * 9000}}, "tool_raised", "xxx"),
        ({"name": "picky", "arguments": {"even": {"n": 3}}}, "arguments_invalid", "at /even"),
    ],
    ids=["renamed", "no_module", "long_message", "odd_argument"],
)
def test_the_worker_says_what_went_wrong_by_its_exit(kit, request_, code, said):
    """A failure is an object too, told apart by the exit code, and bounded."""
    ran = worker(request_)

    told = json.loads(ran.stdout)
    assert ran.returncode == 97
    assert told["code"] == code
    assert said in told["message"]
    assert len(told["message"]) <= 2000


def test_an_argument_without_a_python_form_did_not_start_the_function(kit, call):
    """The refusal is that of the arguments, as it is without isolation."""
    result = call(kit.picky, {"even": {"n": 3}})

    assert result.status is Status.FAILED
    assert result.failure.code == "arguments_invalid"
    assert result.failure.message == "Even refuses the values (ValueError) at /even"
    assert call(kit.picky, {"even": {"n": 4}}).output == {"result": 4}


def test_the_worker_awaits_a_coroutine_function(kit):
    """An asynchronous function needs no loop of the host's."""
    ran = worker({"name": "later", "arguments": {"n": 1}, "is_async": True})

    assert json.loads(ran.stdout) == {"result": 2}


def test_the_worker_finds_a_function_by_file(kit):
    """A script's function is loaded from its file, whose name says nothing."""
    ran = worker({"name": "where", "file": kit.__file__}, HOLON_CALL_ID="c1")

    assert json.loads(ran.stdout)["name"] == "__holon_main__"


def test_the_decorator_asks_for_isolation_too(kit, runtime):
    """The option of the decorator and that of the registration are one."""
    made = runtime.register(tool(effects="none", isolation="process")(kit.later))

    assert runtime.session(principal="ann").call(made.id, {"n": 4}).output == {"result": 5}
    del kit.later.__holon_tool__
