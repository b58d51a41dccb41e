"""The abuse cases of the area proc, at the level of the runner and the tool contract."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holon_core.cancel import CancelToken
from holon_core.process import ProcessCause, ProcessSpec, run
from holon_core.records.failure import StructuredFailure
from holon_core.tool_contract import contract_env, process_evidence, process_failure, read_output

Make = Callable[..., ProcessSpec]
LeftOver = Callable[[], list[int]]
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals and sessions")


def code_of(answer: object) -> str | None:
    """The failure's code, or None for an output."""
    return answer.code if isinstance(answer, StructuredFailure) else None


@pytest.mark.alone
@linux
def test_ab_proc_001_a_grandchild_on_the_pipe_does_not_hold_the_call(
    shell: Make, left_over: LeftOver
) -> None:
    """The child's exit ends the call, with all of its output; the grandchild is killed."""
    began = time.monotonic()

    outcome = run(shell('sleep 60 & echo "{\\"ok\\":true}"; exit 0'))

    assert time.monotonic() - began < 10
    assert outcome.cause is ProcessCause.EXITED
    assert read_output(outcome) == {"ok": True}
    assert outcome.descendants_killed == 1
    assert outcome.descendant_may_survive is False
    assert left_over() == []


@linux
def test_ab_proc_002_a_timeout_ends_the_whole_tree(shell: Make, left_over: LeftOver) -> None:
    """Two grandchildren die with the tool; output, limit and duration stay on record."""
    outcome = run(shell("echo begun; sleep 300 & sleep 300 & wait", timeout_s=0.5))

    failed = process_failure(outcome)
    assert failed is not None
    assert failed.code == "timeout"
    assert outcome.duration_s < 10
    assert left_over() == []
    evidence = process_evidence(outcome, bytes)
    assert evidence["stdout"]["head"] == "begun\n"
    assert evidence["limits"]["timeout_ms"] == 500
    assert evidence["duration_ms"] >= 500
    assert evidence["descendants_killed"] == 2


@pytest.mark.alone
@linux
@pytest.mark.parametrize("end", ["wait", "exit 0", "sleep 300"])
def test_ab_proc_003_a_grandchild_that_left_the_group_is_found(
    shell: Make, left_over: LeftOver, end: str
) -> None:
    """A session of its own does not save a descendant, nor does it hold the call."""
    outcome = run(shell(f"setsid sleep 60 & sleep 0.2; {end}", timeout_s=1))

    assert outcome.cause is (ProcessCause.EXITED if end == "exit 0" else ProcessCause.TIMEOUT)
    assert outcome.duration_s < 10
    assert outcome.descendants_killed >= 1
    assert outcome.descendant_may_survive is False
    assert left_over() == []


@linux
def test_ab_proc_003_what_cannot_be_recognised_is_reported(python: Make, escaped_s: str) -> None:
    """A daemon that wiped its environment survives; the outcome does not deny it."""
    outcome = run(
        python(
            """
            import os, sys
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
                os._exit(0)
            os.wait()
            """,
            escaped_s,
        )
    )

    assert outcome.cause is ProcessCause.EXITED
    assert outcome.duration_s < 4
    assert outcome.descendant_may_survive is True


@pytest.mark.alone
@linux
@pytest.mark.parametrize("marked", [True, False], ids=["call id", "no call id"])
def test_ab_proc_003_what_escaped_without_a_trace_is_not_denied(
    shell: Make, escaped_s: str, *, marked: bool
) -> None:
    """It holds no pipe, wiped its environment, has its own session: it may be anybody's."""
    env = {} if marked else {"env": {}}
    quietly = ">/dev/null 2>&1 </dev/null"
    escape = f"env -i setsid sleep {escaped_s} {quietly} & sleep 0.3; exit 0"

    escaped = run(shell(escape, **env))
    assert escaped.cause is ProcessCause.EXITED
    assert escaped.descendants_killed == 0
    assert escaped.descendant_may_survive is True

    # What was there before is not taken for a descendant of what came later.
    later = run(shell("/bin/true; exec /bin/true", **env))
    assert later.cause is ProcessCause.EXITED
    assert later.descendant_may_survive is False


@pytest.mark.alone
@linux
def test_ab_proc_003_an_escape_from_another_call_is_not_this_ones(shell: Make) -> None:
    """What carries another call's id is that one's, however it came to be an orphan."""
    other = "HOLON_CALL_ID=c-other setsid sleep 2 >/dev/null 2>&1 </dev/null & sleep 0.3; exit 0"

    assert run(shell(other)).descendant_may_survive is False


@pytest.mark.alone
@linux
def test_ab_proc_003_a_program_without_descendants_leaves_none(shell: Make) -> None:
    """Ended by its time, without a call id to search by: nobody is there, and that is said."""
    outcome = run(shell("exec sleep 60", timeout_s=0.2, env={}))

    assert outcome.cause is ProcessCause.TIMEOUT
    assert outcome.descendant_may_survive is False


@posix
def test_ab_proc_004_endless_output_is_stopped_at_its_limit(answer: Callable[..., Any]) -> None:
    """The limit ends the tool long before its time, in little memory; nothing is parsed."""
    told = answer(
        """
        import resource
        from holon_core.tool_contract import process_failure, read_output
        run(spec("/bin/echo"))
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before = peak()
        outcome = run(spec("/bin/sh", "-c", "exec yes"))
        failed = read_output(outcome)
        print(json.dumps([outcome.cause, failed.code, failed.message, outcome.duration_s,
                          peak() - before, len(outcome.stdout.head)]))
        """
    )

    cause, code, message, duration_s, more, kept = told
    assert (cause, code, kept) == ("output_limit", "output_too_large", 1 << 20)
    assert "1048576" in message
    assert duration_s < 10
    assert more < 17 * 1024 * (1024 if sys.platform == "darwin" else 1)


def test_ab_proc_005_a_flood_on_stderr_does_not_spoil_a_result(python: Make) -> None:
    """200 MB of diagnostics are drained; the first and last bytes are kept, the rest counted."""
    outcome = run(
        python(
            """
            import os
            os.write(2, b"first\\n")
            block = b"x" * 1_000_000
            for _ in range(200):
                view = memoryview(block)
                while view:
                    view = view[os.write(2, view):]
            os.write(2, b"last\\n")
            print('{"ok": true}')
            """
        )
    )

    assert read_output(outcome) == {"ok": True}
    stderr = outcome.stderr
    assert stderr.total_bytes == 200_000_011
    assert stderr.head.startswith(b"first\n")
    assert stderr.tail.endswith(b"last\n")
    assert len(stderr.head) + len(stderr.tail) == 1 << 16
    shown = process_evidence(outcome, bytes)["stderr"]
    assert shown["dropped_bytes"] == 200_000_011 - (1 << 16)
    assert shown["truncated"] is True


def test_ab_proc_006_input_that_nobody_reads_is_no_failure(python: Make) -> None:
    """Input is written beside the reading, and a broken pipe on it is not an error."""
    script = "import time; time.sleep(0.3); print('{}')"

    assert read_output(run(python(script, stdin=b"x" * 5_000_000))) == {}


@posix
def test_ab_proc_007_a_tool_deaf_to_term_is_killed(shell: Make) -> None:
    """After the grace comes SIGKILL, and the outcome says which of the two did it."""
    outcome = run(shell("trap '' TERM; while :; do sleep 60; done", timeout_s=0.5, grace_s=0.3))

    assert outcome.cause is ProcessCause.TIMEOUT
    assert (outcome.signal, outcome.stopped_by) == ("SIGKILL", "SIGKILL")
    assert 0.8 <= outcome.duration_s < 10


@posix
def test_ab_proc_008_death_by_a_signal_is_no_success(shell: Make) -> None:
    """A valid object does not help a tool that crashed after it; the signal has its name."""
    outcome = run(shell("ulimit -c 0; echo '{}'; kill -SEGV $$"))

    failed = read_output(outcome)
    assert code_of(failed) == "killed_by_signal"
    assert "SIGSEGV" in str(failed)
    assert (outcome.signal, outcome.exit_code, outcome.stopped_by) == ("SIGSEGV", None, None)


@posix
def test_ab_proc_009_only_allowed_and_declared_variables_arrive(
    program: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret stays out by not being on the list, whatever its name."""
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "MY_OTHER_TOOLS_KEY"):
        monkeypatch.setenv(name, "s3cret")
    for name in ("LANG", "LC_TIME", "TZ", "TMPDIR"):
        monkeypatch.setenv(name, "C")
    for name in ("TEMP", "TMP", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)

    outcome = run(program("/usr/bin/env", env={"DECLARED": "yes"}))

    assert b"s3cret" not in outcome.stdout.head
    names = {line.partition(b"=")[0].decode() for line in outcome.stdout.head.splitlines()}
    listed = {"PATH", "HOME", "LANG", "LC_TIME", "TZ", "TMPDIR"}
    assert names == listed | {"HOLON_CALL_ID", "DECLARED"}


@linux
def test_ab_proc_010_no_descriptor_of_the_host_is_inherited(python: Make, tmp_path: Path) -> None:
    """The child has its three streams and no more, though the host's descriptor is inheritable."""
    (tmp_path / "secret").write_text("s3cret")
    held = os.open(tmp_path / "secret", os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        outcome = run(
            python(
                """
                import os
                for fd in os.listdir("/proc/self/fd"):
                    try:
                        print(fd, os.readlink(f"/proc/self/fd/{fd}"))
                    except OSError:
                        pass  # the listing's own
                """
            )
        )
    finally:
        os.close(held)

    assert {line.split()[0] for line in outcome.stdout.head.splitlines()} == {b"0", b"1", b"2"}


@linux
def test_ab_proc_011_the_hosts_terminal_is_out_of_reach(answer: Callable[..., Any]) -> None:
    """A tool of a host in a terminal has neither the terminal nor the host's input."""
    tool = """
import fcntl, json, os, sys, termios
told = {"stdin": sys.stdin.read()}
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    told["tty"] = "opened"
except OSError as error:
    told["tty"] = "refused"
for fd in (0, 1, 2):
    try:
        fcntl.ioctl(fd, termios.TIOCSTI, b"!")
        told["pushed"] = True
    except OSError:
        pass
print(json.dumps(told))
"""
    told = answer(
        f"""
        import select, tty
        master, slave = os.openpty()
        name = os.ttyname(slave)
        # A session without a terminal takes the first one that it opens.
        terminal = os.open(name, os.O_RDWR)
        tty.setraw(terminal)
        os.close(os.open("/dev/tty", os.O_RDWR))
        os.dup2(terminal, 0)
        os.write(master, b"typed by the user")
        outcome = run(spec(sys.executable, "-I", "-S", "-c", {tool!r}))
        print(json.dumps([json.loads(outcome.stdout.head), os.read(0, 100).decode()]))
        """,
        start_new_session=True,
    )

    assert told == [{"stdin": "", "tty": "refused"}, "typed by the user"]


def _not_startable(case: str, folder: Path) -> tuple[Path, Path]:
    """Make the program and the working directory of one part of AB-PROC-012."""
    program = folder / case.replace(" ", "-")
    if case == "a directory":
        program.mkdir()
    elif case == "missing working directory":
        return Path("/bin/sh"), folder / "absent"
    elif case != "missing":
        interpreter = "#!/no/such/interpreter\n" if case == "missing interpreter" else "\x00\x01"
        program.write_text(interpreter)
        program.chmod(0o644 if case == "not executable" else 0o755)
    return program, folder


@posix
@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("missing", "No such file or directory"),
        ("not executable", "Permission denied"),
        ("bad header", "Exec format error"),
        ("a directory", "Permission denied"),
        ("missing interpreter", "its interpreter is not"),
        ("missing working directory", "working directory"),
    ],
)
def test_ab_proc_012_a_program_that_cannot_start_says_why(
    program: Make, tmp_path: Path, case: str, reason: str
) -> None:
    """The system's reason and the declared command, distinct from a tool that ran and failed."""
    command, cwd = _not_startable(case, tmp_path)

    outcome = run(program(str(command), "x", cwd=cwd))

    failed = read_output(outcome)
    assert isinstance(failed, StructuredFailure)
    assert failed.code == "spawn_failed"
    assert str(command) in failed.message
    assert reason in failed.message
    assert outcome.exit_code is None


def test_ab_proc_013_arguments_too_long_for_a_variable_are_refused() -> None:
    """Nothing is cut and nothing started; limit and size are named."""
    refused = contract_env(b'"' + b"x" * 199_998 + b'"', call_id="c")

    assert isinstance(refused, StructuredFailure)
    assert refused.code == "input_too_large"
    assert refused.details == {"size_bytes": 200_000, "limit_bytes": 131_054}
    assert "200000" in refused.message
    assert "131054" in refused.message


@linux
def test_ab_proc_013_the_longest_arguments_arrive_whole(python: Make) -> None:
    """What the contract lets through fits the kernel's limit; one byte more does not."""
    longest = b'"' + b"x" * (131_054 - 2) + b'"'
    script = "import os; print(len(os.environ['HOLON_INPUT_JSON']))"
    env = contract_env(longest, call_id="c")
    assert isinstance(env, dict)

    assert run(python(script, env=env)).stdout.head == b"131054\n"
    too_long = {**env, "HOLON_INPUT_JSON": env["HOLON_INPUT_JSON"] + "x"}
    assert code_of(process_failure(run(python(script, env=too_long)))) == "spawn_failed"


@linux
def test_ab_proc_014_cancelling_from_another_thread_ends_the_tree(
    shell: Make, left_over: LeftOver
) -> None:
    """The caller's thread returns within the grace, and nobody is left."""
    cancel = CancelToken()
    timer = threading.Timer(0.3, cancel.cancel)
    timer.start()

    outcome = run(shell("trap '' TERM; sleep 60 & sleep 60"), cancel=cancel)

    timer.join()
    assert code_of(process_failure(outcome)) == "cancelled"
    assert outcome.duration_s < 10
    assert left_over() == []


@linux
def test_ab_proc_014_cancelling_an_asyncio_task_ends_the_tree(
    shell: Make, left_over: LeftOver
) -> None:
    """A task that waits for the run in a thread hands its cancellation to the token."""

    async def call() -> ProcessCause:
        cancel = CancelToken()
        running = asyncio.ensure_future(asyncio.to_thread(run, shell("sleep 60"), cancel=cancel))
        await asyncio.sleep(0.3)
        cancel.cancel()
        return (await running).cause

    assert asyncio.run(call()) is ProcessCause.CANCELLED
    assert left_over() == []


@linux
@pytest.mark.parametrize("wait_s", [0.0, 0.3])
def test_ab_proc_014_a_keyboard_interrupt_ends_the_tree_and_goes_on(
    host: Callable[..., subprocess.Popen[str]], left_over: LeftOver, wait_s: float
) -> None:
    """Ctrl-C in the calling thread leaves no process and reaches the caller."""
    started = host(
        """
        try:
            print("ready", flush=True)
            while True:
                run(spec("/bin/sh", "-c", "trap '' TERM; sleep 30 & sleep 30", grace_s=0.2))
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    with started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        time.sleep(wait_s)
        started.send_signal(signal.SIGINT)
        printed, _ = started.communicate(timeout=30)

    assert printed == "interrupted\n"
    assert left_over() == []


@linux
def test_ab_proc_014_an_interrupt_at_any_moment_of_a_start_loses_no_process(
    answer: Callable[..., Any], left_over: LeftOver
) -> None:
    """Also just after the fork, when nobody has noted the child's number yet."""
    told = answer(
        """
        import random
        run(spec("/bin/true"))
        before = len(os.listdir("/proc/self/fd"))
        seen = 0
        for number in range(60):
            delay = random.Random(number).random() * 0.0015
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                run(spec("/bin/sh", "-c", "sleep 9 & sleep 9"))
            except KeyboardInterrupt:
                seen += 1
            timer.join()
        try:
            children = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            children = None
        print(json.dumps([seen, len(os.listdir("/proc/self/fd")) - before, children]))
        """
    )

    assert told == [60, 0, None]
    assert left_over() == []


@posix
def test_ab_proc_015_a_bad_exit_outweighs_a_valid_object(shell: Make) -> None:
    """The exit code is the failure, and both streams are previewed in evidence."""
    outcome = run(shell("echo '{\"ok\":true}'; echo why >&2; exit 3"))

    failed = read_output(outcome)
    assert isinstance(failed, StructuredFailure)
    assert (failed.code, failed.details) == ("tool_exit", {"exit_code": 3})
    evidence = process_evidence(outcome, bytes)
    assert evidence["exit_code"] == 3
    assert evidence["stdout"]["head"] == '{"ok":true}\n'
    assert evidence["stderr"]["head"] == "why\n"
