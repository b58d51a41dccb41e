"""How the server ends: with its input, with its client, by a signal; nothing stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import environment, eventually

SCRIPT = Path(__file__).with_name("server_process.py")
Serve = Callable[..., Any]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def started_pid(file: Path) -> int:
    """Wait for a tool's process, and return its id."""
    assert eventually(lambda: file.is_file() and bool(file.read_text()), within_s=20)
    return int(file.read_text())


def test_the_end_of_the_input_lets_what_runs_finish(serve: Serve) -> None:
    """Somebody still reads, as in a pipe of requests from a file."""
    served = serve()
    served.call(1, "host.app/nap", seconds=1)
    served.end_input()

    assert served.answer(1)["result"]["output"] == {"result": "slept"}
    assert served.wait() == 0


def test_a_line_without_an_end_is_answered_at_the_end_of_the_input(serve: Serve) -> None:
    """What a client wrote last is not lost."""
    served = serve()
    served.send(b'{"jsonrpc":"2.0","id":1,"method":"runtime-tool/list"}')
    served.end_input()

    assert len(served.answer(1)["result"]["tools"]) == 8
    assert served.wait() == 0


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_a_client_that_is_gone_leaves_no_process(tmp_path: Path) -> None:
    """Nobody reads any more, so what runs is cancelled, and recorded so."""
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(tmp_path / "root"), "{}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        call = {"tool": "acme-tools/sleep", "arguments": {"pid_file": str(tmp_path / "pid")}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "runtime-tool/call", "params": call}
        client.stdin.write(json.dumps(request).encode() + b"\n")
        client.stdin.flush()
        pid = started_pid(tmp_path / "pid")
        client.stdout.close()
        client.stdin.close()
        assert client.wait(30) == 0
    assert not is_alive(pid)
    with holon.Runtime.open(tmp_path / "root", discover=False) as rt:
        assert [record.kind for record in rt.evidence.list(workspace=None)] == [
            "accepted",
            "failed",
        ]


@pytest.mark.parametrize("tool", ["acme-tools/sleep", "host.app/block"])
def test_a_signal_ends_it_and_what_runs(serve: Serve, tmp_path: Path, tool: str) -> None:
    """Also where a function cannot be ended: its call is then marked interrupted."""
    served = serve()
    file = tmp_path / "pid"
    if tool == "host.app/block":
        served.call(1, tool, seconds=60, marker=str(file))
        assert eventually(file.exists, within_s=20)
    else:
        served.call(1, tool, pid_file=str(file))
        started_pid(file)
    served.process.send_signal(signal.SIGTERM)

    assert served.wait() == 0
    answers = [message["result"]["failure"]["code"] for message in served.rest()]
    assert answers == (["cancelled"] if tool == "acme-tools/sleep" else [])
    if answers:
        assert not is_alive(int(file.read_text()))
    with holon.Runtime.open(tmp_path / "root", discover=False) as rt:
        last = rt.evidence.list(workspace=None)[-1].kind
    assert last == ("failed" if answers else "interrupted")
