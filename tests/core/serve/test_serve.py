"""The server as a process: many requests at once, cancelling, bad lines, authority, its end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from door import eventually
from holon_core.operations.serve import MAX_WAITING

SCRIPT = Path(__file__).with_name("server_process.py")

Serve = Callable[..., Any]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def was_cancelled(message: Any) -> bool:
    """Tell whether a call ended as cancelled, before it began or while it ran."""
    if "error" in message:
        return bool(message["error"]["code"] == -32800)
    return bool(message["result"]["failure"]["code"] == "cancelled")


def started_pid(file: Path) -> int:
    """Wait for a tool's process, and return its id."""
    assert eventually(lambda: file.is_file() and bool(file.read_text()), within_s=20)
    return int(file.read_text())


def test_a_call_is_answered_with_its_result(serve: Serve) -> None:
    """Standard output holds messages alone; what tools print goes to standard error."""
    served = serve()
    served.call(1, "host.app/add", a=1, b=2)

    assert served.answer(1)["result"]["output"] == {"result": 3}
    served.end_input()
    assert (served.wait(), served.rest()) == (0, [])
    assert b"noise" in served.errors
    assert b"more noise" in served.errors


def test_what_is_quick_is_answered_before_what_is_slow(serve: Serve) -> None:
    """Requests run at once, and answers come in the order of their ends."""
    served = serve()
    served.call("slow", "host.app/nap", seconds=1.5)
    for number in range(20):
        served.call(number, "host.app/add", a=number, b=1)

    order = [served.next()["id"] for _ in range(21)]
    assert order[-1] == "slow"
    assert sorted(order[:-1]) == list(range(20))


def test_a_held_call_is_a_result_and_an_approver_releases_it(serve: Serve) -> None:
    """Under a name of its own the approver decides what the caller asked for."""
    served = serve(authorities=["approver"], approver="boss")
    served.call(1, "host.app/write", text="hi")
    result = served.answer(1)["result"]
    assert (result["status"], result["failure"]["code"]) == ("blocked", "approval_required")

    served.request(2, "execution-approval/approve", id=result["held"], reason="looks right")
    decided = served.answer(2)["result"]
    served.request(3, "runtime-tool/release", call_id=result["held"])

    assert (decided["decided_by"], decided["self_approved"]) == ("boss", False)
    assert served.answer(3)["result"]["output"] == {"result": "hi"}


def test_an_approver_of_the_callers_name_decides_nothing_of_its_own(serve: Serve) -> None:
    """Who asked may not decide, whatever the server was started with."""
    served = serve(authorities=["approver"], approver="ann")
    served.call(1, "host.app/write", text="hi")
    served.request(
        2, "execution-approval/approve", id=served.answer(1)["result"]["held"], reason="mine"
    )

    error = served.answer(2)["error"]
    assert (error["code"], error["data"]["failure"]["code"]) == (-32000, "self_approval")


@pytest.mark.parametrize(
    ("method", "authority"),
    [("workspace/open", "operator"), ("execution-approval/approve", "approver")],
)
def test_a_caller_may_do_what_callers_may(serve: Serve, method: str, authority: str) -> None:
    """More has to be said when it is started; no message can."""
    served = serve()
    served.request(1, method, id="x", path="/", reason="x", principal="root")
    served.request(2, "protocol/list")

    error = served.answer(1)["error"]
    assert (error["code"], error["data"]["failure"]["code"]) == (-32000, "not_allowed")
    assert error["data"]["failure"]["details"] == {"authority": authority}
    offered = served.answer(2)["result"]["operations"]
    assert {row["authority"] for row in offered} == {"caller"}


def test_who_asks_is_never_a_parameter(serve: Serve) -> None:
    """The caller is fixed from the start, in evidence too."""
    served = serve()
    served.request(1, "runtime-tool/call", tool="host.app/add", principal="root")
    assert served.answer(1)["error"]["code"] == -32602
    served.call(2, "host.app/add", a=1, b=1)
    call_id = served.answer(2)["result"]["call_id"]
    served.request(3, "evidence/read", call_id=call_id)
    answer = json.dumps(served.answer(3)["result"])

    assert '"principal": "ann"' in answer


BAD_LINES = [
    (b"nonsense\n", -32700),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}\n', -32700),
    (b'{"jsonrpc":"2.0","id":NaN,"method":"x"}\n', -32700),
    (b'\xff\xfe{"jsonrpc":"2.0"}\n', -32700),
    (b"\xef\xbb\xbf{}\n", -32700),
    (b"[" * 100_000 + b"\n", -32700),
    (b'"' + b"x" * (4 * 1024 * 1024) + b'"\n', -32700),
    (b"[]\n", -32600),
    (b"[" + b",".join([b"1"] * 101) + b"]\n", -32600),
    (b"17\n", -32600),
    (b'{"id":1,"method":"x"}\n', -32600),
    (b'{"jsonrpc":"2.0","id":1}\n', -32600),
    (b'{"jsonrpc":"2.0","id":1,"result":{}}\n', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"x"}\n', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"x"}\n', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":7}\n', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","more":7}\n', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[]}\n', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}\n', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"$/unknown"}\n', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"runtime-tool/call"}\n', -32602),
]


def test_no_bad_line_ends_it(serve: Serve) -> None:
    """Each is answered with its code, in a process that then goes on."""
    served = serve()
    for line, code in BAD_LINES:
        served.send(line)
        message = served.next()
        assert message["error"]["code"] == code, line[:80]
        assert message["jsonrpc"] == "2.0"
    served.send(b"\r\n \n")
    served.call(1, "host.app/add", a=1, b=1)

    assert served.answer(1)["result"]["output"] == {"result": 2}
    assert b"Traceback" not in served.errors


def test_wrong_parameters_name_their_place(serve: Serve) -> None:
    """The path is a JSON pointer, beside the rule."""
    served = serve()
    served.request(1, "runtime-tool/list", limit=0)

    error = served.answer(1)["error"]
    assert (error["code"], error["data"]["path"]) == (-32602, "/limit")


def test_arguments_of_a_call_are_judged_by_the_call(serve: Serve) -> None:
    """A governed call that was refused is a result, with its evidence."""
    served = serve()
    served.call(1, "host.app/add", a="one", b=1)
    served.call(2, "host.app/no-such")

    assert served.answer(1)["result"]["failure"]["code"] == "arguments_invalid"
    assert served.answer(2)["result"]["failure"]["code"] == "unknown_tool"


def test_a_notification_is_done_and_not_answered(serve: Serve) -> None:
    """Also where it fails."""
    served = serve()
    call = {"tool": "host.app/add", "arguments": {"a": 1, "b": 1}}
    served.send({"jsonrpc": "2.0", "method": "no/such"})
    served.send({"jsonrpc": "2.0", "method": "runtime-tool/call", "params": call})
    served.end_input()

    assert (served.wait(), served.rest()) == (0, [])
    assert b"noise" in served.errors


def test_a_batch_is_answered_as_one_message(serve: Serve) -> None:
    """With an answer for each request in it, and none for notifications."""
    served = serve()
    add = {"tool": "host.app/add", "arguments": {"a": 1, "b": 1}}
    served.send(
        [
            {"jsonrpc": "2.0", "id": "a", "method": "runtime-tool/call", "params": add},
            {"jsonrpc": "2.0", "method": "runtime-tool/call", "params": add},
            {"jsonrpc": "2.0", "id": "b", "method": "no/such"},
            {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "none"}},
            3,
        ]
    )
    answers = {str(message["id"]): message for message in served.next()}

    assert set(answers) == {"a", "b", "None"}
    assert answers["a"]["result"]["output"] == {"result": 2}
    assert answers["b"]["error"]["code"] == -32601
    served.send([{"jsonrpc": "2.0", "method": "no/such"}])
    served.end_input()
    assert (served.wait(), served.rest()) == (0, [])


def test_cancelling_ends_an_asynchronous_tool(serve: Serve, tmp_path: Path) -> None:
    """The call ends as cancelled, is recorded so, and is answered once."""
    served = serve()
    served.call(1, "host.app/nap", seconds=60, marker=str(tmp_path / "began"))
    assert eventually((tmp_path / "began").exists, within_s=20)
    served.cancel(1)
    result = served.answer(1)["result"]
    served.cancel(1)
    served.end_input()

    assert (result["status"], result["failure"]["code"]) == ("failed", "cancelled")
    assert (served.wait(), served.rest()) == (0, [])


def test_cancelling_ends_the_processes_of_a_tool(serve: Serve, tmp_path: Path) -> None:
    """They are gone when the answer is there."""
    served = serve()
    served.call(1, "acme-tools/sleep", pid_file=str(tmp_path / "pid"))
    pid = started_pid(tmp_path / "pid")
    served.cancel(1)

    assert served.answer(1)["result"]["failure"]["code"] == "cancelled"
    assert eventually(lambda: not is_alive(pid))


def test_cancelling_says_whether_it_found_something_where_it_is_asked(serve: Serve) -> None:
    """As a request it is answered; ids of another type are other ids."""
    served = serve()
    served.call(1, "host.app/nap", seconds=60)
    served.request(8, "$/cancelRequest", id="1")
    served.request(9, "$/cancelRequest", id=1)

    assert served.answer(8)["result"] == {"cancelled": False}
    assert served.answer(9)["result"] == {"cancelled": True}
    assert was_cancelled(served.answer(1))


def test_cancelling_ends_a_wait(serve: Serve) -> None:
    """The approval as it is then is the answer."""
    served = serve()
    served.call(1, "host.app/write", text="x")
    held = served.answer(1)["result"]["held"]
    served.request(2, "execution-approval/wait", id=held, timeout_s=600)
    served.cancel(2)

    message = served.answer(2)
    assert message.get("error", {}).get("code") == -32800 or (
        message["result"]["state"] == "pending"
    )


def test_an_id_in_use_is_refused(serve: Serve) -> None:
    """Cancelling it could not say which."""
    served = serve()
    served.call(1, "host.app/nap", seconds=60)
    served.call(1, "host.app/add", a=1, b=1)

    assert served.answer(1)["error"]["code"] == -32600
    served.cancel(1)
    assert was_cancelled(served.answer(1))
    served.call(1, "host.app/add", a=1, b=1)
    assert served.answer(1)["result"]["status"] == "completed"


def test_progress_names_the_request_and_comes_before_the_answer(serve: Serve) -> None:
    """One shape for every door: stage, done, total, message."""
    served = serve()
    served.call("p", "acme-tools/steps", count=3)
    result = served.answer("p")["result"]
    served.end_input()
    served.wait()
    told = served.rest()

    assert [message["method"] for message in told] == ["$/progress"] * 3
    assert told[1]["params"] == {
        "id": "p",
        "call_id": result["call_id"],
        "stage": "step",
        "done": 1,
        "total": 3,
        "message": "number 1",
    }


def test_a_tool_finds_nothing_on_standard_input(serve: Serve) -> None:
    """Messages are the server's own."""
    served = serve()
    served.call(1, "host.app/ask")
    served.call(2, "host.app/add", a=1, b=1)

    assert served.answer(1)["result"]["output"] == {"result": ""}
    assert served.answer(2)["result"]["output"] == {"result": 2}


def test_an_interrupt_that_a_tool_raises_is_a_fault_of_its_request(serve: Serve) -> None:
    """It ends neither the server nor the thread that answers."""
    served = serve()
    served.call(1, "host.app/interrupt")
    error = served.answer(1)["error"]
    served.call(2, "host.app/add", a=1, b=1)

    assert error == {"code": -32603, "message": "internal fault", "data": error["data"]}
    assert served.answer(2)["result"]["output"] == {"result": 2}
    served.end_input()
    served.wait()
    assert b"Traceback" not in served.errors


def test_more_requests_than_threads_are_all_answered(serve: Serve) -> None:
    """They wait for their turn; one that was cancelled before it began says so."""
    served = serve()
    for number in range(32):
        served.call(number, "host.app/nap", seconds=60)
    served.call("waits", "host.app/add", a=1, b=1)
    served.call("cancelled", "host.app/add", a=1, b=1)
    served.cancel("cancelled")
    for number in range(32):
        served.cancel(number)

    assert served.answer("cancelled")["error"]["code"] == -32800
    assert served.answer("waits")["result"]["output"] == {"result": 2}
    assert all(was_cancelled(served.answer(number)) for number in range(32))


def test_too_many_requests_are_refused_and_can_still_be_cancelled(serve: Serve) -> None:
    """What waits is bounded, and the reading of messages goes on."""
    served = serve()
    for number in range(1025):
        served.call(number, "host.app/nap", seconds=60)

    assert served.answer(1024)["error"]["code"] == -32002
    served.process.send_signal(signal.SIGTERM)
    assert served.wait() == 0
    assert len(served.rest()) == 1024


def test_waits_keep_no_other_request_waiting(serve: Serve) -> None:
    """As many as may wait do, each for long; the rest is answered, and one more wait refused."""
    served = serve()
    served.call(1, "host.app/write", text="x")
    held = served.answer(1)["result"]["held"]
    for number in range(10, 10 + MAX_WAITING):
        served.request(number, "execution-approval/wait", id=held, timeout_s=600)

    served.request(90, "execution-approval/wait", id=held, timeout_s=600)
    served.request(91, "runtime-tool/list")
    refused, listed = served.answer(90), served.answer(91)

    assert refused["error"]["data"]["failure"]["code"] == "budget_exceeded"
    assert listed["result"]["tools"]
    for number in range(10, 10 + MAX_WAITING):
        served.cancel(number)
