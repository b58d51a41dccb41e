"""The runner beyond the abuse cases: hosts of all manners, streams, trees, many threads."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holon_core import process
from holon_core._process_io import PollIO, ThreadIO
from holon_core.cancel import CancelToken
from holon_core.errors import Misuse
from holon_core.process import ProcessCause, ProcessOutcome, ProcessSpec, run

Make = Callable[..., ProcessSpec]
Ask = Callable[..., Any]
LeftOver = Callable[[], list[int]]
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals and sessions")


@pytest.mark.parametrize("argv", [("sh",), ("./sh",), ("",), ()])
def test_a_program_that_would_be_searched_for_is_misuse(tmp_path: Path, argv: Any) -> None:
    """Only an absolute path means the same program everywhere."""
    with pytest.raises(Misuse, match="absolute"):
        ProcessSpec(argv=argv, cwd=tmp_path, timeout_s=1, max_stdout_bytes=1, max_stderr_bytes=1)


def test_a_relative_working_directory_is_misuse() -> None:
    """It would depend on where the host happens to stand."""
    with pytest.raises(Misuse, match="cwd"):
        ProcessSpec(
            argv=("/bin/sh",),
            cwd=Path("here"),
            timeout_s=1,
            max_stdout_bytes=1,
            max_stderr_bytes=1,
        )


@pytest.mark.parametrize("timeout_s", [-1.0, float("nan"), float("inf")])
def test_a_time_limit_that_is_none_is_refused(program: Make, timeout_s: float) -> None:
    """Every process has an end in sight."""
    with pytest.raises(ValueError, match="timeout_s"):
        program("/bin/true", timeout_s=timeout_s)


def test_a_spec_shows_neither_arguments_nor_input_nor_environment(program: Make) -> None:
    """Any of them may hold a secret; the program's name does not."""
    shown = repr(program("/bin/echo", "s3cret", env={"TOKEN": "s3cret"}, stdin=b"s3cret"))

    assert "s3cret" not in shown
    assert "/bin/echo" in shown


def test_no_time_at_all_starts_nothing(shell: Make, tmp_path: Path) -> None:
    """A limit of 0 is a timeout before the start."""
    outcome = run(shell("touch ran", timeout_s=0))

    assert outcome.cause is ProcessCause.TIMEOUT
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_token_starts_nothing(shell: Make, tmp_path: Path) -> None:
    """Who cancelled before the start has no process to end."""
    cancel = CancelToken()
    cancel.cancel()

    assert run(shell("touch ran"), cancel=cancel).cause is ProcessCause.CANCELLED
    assert list(tmp_path.iterdir()) == []


@posix
def test_the_shortest_time_ends_what_was_started(shell: Make, left_over: LeftOver) -> None:
    """A limit that has passed when the process runs still ends it cleanly."""
    assert run(shell("sleep 30", timeout_s=1e-9)).cause is ProcessCause.TIMEOUT
    assert left_over() == []


def test_text_beyond_ascii_passes_in_every_channel(python: Make, tmp_path: Path) -> None:
    """Arguments, working directory, environment and streams carry any text."""
    text = "zoë 日本 😀"
    folder = tmp_path / text
    folder.mkdir()
    script = """
        import os, sys
        told = "\\n".join([sys.argv[1], os.path.basename(os.getcwd()), os.environ["NAME"]])
        sys.stdout.buffer.write(told.encode() + b"\\n" + sys.stdin.buffer.read())
    """

    outcome = run(python(script, text, cwd=folder, env={"NAME": text}, stdin=text.encode()))

    assert outcome.stdout.head.decode().split("\n") == [text] * 4


def test_arguments_reach_the_program_as_they_are(python: Make) -> None:
    """No shell looks at them."""
    arguments = ["$HOME", "a b", "`id`", "*", "", "--", ";exit 1", "\n", '"']

    outcome = run(python("import json, sys; print(json.dumps(sys.argv[1:]))", *arguments))

    assert eval(outcome.stdout.head) == arguments


@pytest.mark.parametrize("argument", ["a\0b", "\ud800"])
def test_an_argument_that_no_program_can_get_starts_nothing(shell: Make, argument: str) -> None:
    """It is an outcome like every other failed start, not an exception."""
    outcome = run(shell("touch ran", env={"X": argument}))

    assert outcome.cause is ProcessCause.SPAWN_FAILED
    assert outcome.reason is not None
    assert "character" in outcome.reason


@linux
def test_too_long_an_argument_list_is_a_failed_start(program: Make) -> None:
    """E2BIG is the system's reason, in an outcome."""
    outcome = run(program("/bin/true", *["x" * 100_000] * 100))

    assert outcome.cause is ProcessCause.SPAWN_FAILED
    assert outcome.reason == "/bin/true: Argument list too long"


def test_input_is_given_and_then_at_its_end(program: Make) -> None:
    """The program reads all of a large input and sees it end, while its output is read."""
    data = os.urandom(3_000_000)

    outcome = run(program("/bin/cat", stdin=data, max_stdout_bytes=len(data)))

    assert outcome.stdout.head == data
    assert outcome.stdout.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("stdin", [None, b""])
def test_without_input_the_program_reads_its_end_at_once(
    program: Make, stdin: bytes | None
) -> None:
    """It neither waits nor reads what the host has."""
    assert run(program("/bin/cat", stdin=stdin, timeout_s=10)).cause is ProcessCause.EXITED


@pytest.mark.parametrize(("size", "cause"), [(1000, "exited"), (1001, "output_limit")])
def test_the_output_limit_is_exact(python: Make, size: int, cause: str) -> None:
    """As many bytes as the limit are within it, one more is not; what fits is kept."""
    outcome = run(python(f"print('x' * {size}, end='')", max_stdout_bytes=1000))

    assert outcome.cause == cause
    assert outcome.stdout.head == b"x" * 1000
    assert outcome.stdout.truncated is (cause == "output_limit")


@posix
def test_pieces_of_output_are_handed_on_up_to_the_limit(shell: Make) -> None:
    """A reader of a stream gets exactly what is kept."""
    pieces: list[bytes] = []

    outcome = run(
        shell("exec yes", max_stdout_bytes=100_000, at_stdout_limit="cut"), on_stdout=pieces.append
    )

    assert b"".join(pieces) == outcome.stdout.head == b"y\n" * 50_000
    assert outcome.stopped_by == "SIGTERM"


@posix
def test_a_reader_that_fails_ends_the_process(shell: Make, left_over: LeftOver) -> None:
    """Its exception comes out after the whole tree is gone."""

    def refuse(_: bytes) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        run(shell("echo x; sleep 30 & sleep 30"), on_stdout=refuse)
    assert left_over() == []


@posix
def test_closing_the_streams_early_does_not_end_the_call(shell: Make, tmp_path: Path) -> None:
    """A program without streams is waited for like any other."""
    outcome = run(shell("exec >&- 2>&-; sleep 0.3; : > ran; exit 7"))

    assert (outcome.cause, outcome.exit_code) == (ProcessCause.EXITED, 7)
    assert (tmp_path / "ran").exists()


@posix
def test_closing_the_streams_does_not_hide_from_the_limit(shell: Make) -> None:
    """The time limit holds without any stream to watch."""
    outcome = run(shell("exec >&- 2>&- <&-; exec sleep 60", timeout_s=0.3))

    assert (outcome.cause, outcome.stopped_by) == (ProcessCause.TIMEOUT, "SIGTERM")
    assert outcome.stdout.total_bytes == 0


@posix
def test_an_ending_tool_has_its_grace_to_clean_up(shell: Make, tmp_path: Path) -> None:
    """SIGTERM comes first, and what the tool does then counts and is read."""
    script = "trap 'echo cleaned; : > ran; exit 4' TERM; sleep 30 & wait"

    outcome = run(shell(script, timeout_s=0.3, grace_s=10))

    assert outcome.cause is ProcessCause.TIMEOUT
    assert (outcome.exit_code, outcome.stopped_by) == (4, "SIGTERM")
    assert outcome.stdout.head == b"cleaned\n"
    assert outcome.duration_s < 9


@linux
def test_a_silent_daemon_does_not_outlive_a_clean_exit(shell: Make, left_over: LeftOver) -> None:
    """Nothing holds a pipe, and still the background process and its session are ended."""
    outcome = run(shell("sleep 60 >/dev/null 2>&1 & setsid sleep 60 >/dev/null 2>&1 & sleep 0.1"))

    assert outcome.cause is ProcessCause.EXITED
    assert outcome.descendants_killed == 2
    assert left_over() == []


@pytest.mark.alone
@linux
def test_a_tree_that_keeps_growing_is_ended(python: Make, left_over: LeftOver) -> None:
    """Processes that fork beside and below each other, in their own sessions too, all die."""
    script = """
        import os, time
        for depth in range(4):
            os.fork()
        if os.getpid() % 3 == 0 and os.getpid() != os.getsid(0):
            os.setsid()
        for _ in range(400):
            if os.fork() == 0:
                time.sleep(60)
            time.sleep(0.05)
    """

    outcome = run(python(script, timeout_s=1.0, grace_s=0.2))

    assert outcome.cause is ProcessCause.TIMEOUT
    assert outcome.descendants_killed > 15
    assert outcome.descendant_may_survive is False
    assert left_over() == []


@linux
@pytest.mark.parametrize("starter", ["sh", "setsid sh"])
def test_runs_of_one_call_do_not_end_each_other(shell: Make, starter: str) -> None:
    """They share the call's id; a run's end touches its own descendants only."""
    with ThreadPoolExecutor() as pool:
        first = pool.submit(run, shell("setsid sleep 60 & sleep 60", timeout_s=0.8))
        time.sleep(0.3)
        whole = run(shell(f"{starter} -c 'sleep 1.5; echo whole' & wait"))
        killed = first.result()

    assert killed.cause is ProcessCause.TIMEOUT
    assert (whole.cause, whole.stdout.head) == (ProcessCause.EXITED, b"whole\n")


@posix
def test_an_ignored_sigchld_is_never_taken_for_success(answer: Ask) -> None:
    """Where the system keeps no exit status, a failed tool would look like a completed one."""
    told = answer(
        """
        from holon_core.tool_contract import read_output
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        outcome = run(spec("/bin/sh", "-c", "echo '{}'; exit 1"))
        print(json.dumps([outcome.cause, outcome.exit_code, read_output(outcome).code]))
        """
    )

    assert told == ["exit_status_lost", None, "exit_status_lost"]


@posix
def test_a_host_that_reaps_everything_loses_the_status_and_nothing_else(answer: Ask) -> None:
    """A loop of os.wait() takes some exit statuses; every answer is the true one or a failure."""
    told = answer(
        """
        def reap():
            while True:
                try:
                    os.wait()
                except ChildProcessError:
                    time.sleep(0.0005)
        threading.Thread(target=reap, daemon=True).start()
        seen = [run(spec("/bin/sh", "-c", "echo x; sleep 0.01; exit 3")) for _ in range(30)]
        print(json.dumps([[o.cause, o.exit_code, o.stdout.total_bytes] for o in seen]))
        """
    )

    assert len(told) == 30
    assert all(one in (["exited", 3, 2], ["exit_status_lost", None, 2]) for one in told)
    assert any(cause == "exit_status_lost" for cause, _, _ in told)


@linux
def test_a_lost_status_still_ends_the_descendants(answer: Ask, left_over: LeftOver) -> None:
    """The group is killed even though no zombie holds its number."""
    told = answer(
        """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        script = "sleep 60 & setsid sleep 60 & sleep 0.1; exit 0"
        outcome = run(spec("/bin/sh", "-c", script))
        print(json.dumps([outcome.cause, outcome.descendants_killed]))
        """
    )

    assert told == ["exit_status_lost", 2]
    assert left_over() == []


@linux
def test_a_host_that_adopts_orphans_ends_and_reaps_them(answer: Ask, left_over: LeftOver) -> None:
    """A first process of a container gets every orphan as its own child."""
    told = answer(
        """
        import ctypes
        from concurrent.futures import ThreadPoolExecutor
        set_child_subreaper = 36
        assert ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0) == 0
        script = "setsid sh -c 'setsid sleep 60 & sleep 60' & sleep 60 & sleep 0.3; exit 0"
        with ThreadPoolExecutor() as pool:
            beside = pool.submit(run, spec("/bin/sh", "-c", "sleep 2; exit 9"))
            outcome = run(spec("/bin/sh", "-c", script))
            other = beside.result()
        try:
            children = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            children = None
        print(json.dumps([outcome.cause, outcome.descendants_killed, other.exit_code, children]))
        """
    )

    assert told == ["exited", 4, 9, None]
    assert left_over() == []


@linux
def test_fifty_runs_at_once_leave_nothing_in_the_host(answer: Ask, left_over: LeftOver) -> None:
    """No descriptor, thread or zombie stays, whether the runs end, hang, fail or are cancelled."""
    told = answer(
        """
        from concurrent.futures import ThreadPoolExecutor
        from holon_core.cancel import CancelToken
        cancel = CancelToken()
        kinds = [
            dict(argv=["/bin/sh", "-c", "echo ok"]),
            dict(argv=["/bin/sh", "-c", "sleep 60 & echo ok"]),
            dict(argv=["/bin/sh", "-c", "sleep 60"], timeout_s=0.3),
            dict(argv=["/no/such/program"]),
            dict(argv=["/bin/cat"], stdin=b"x" * 300_000),
        ]
        def one(number):
            kind = dict(kinds[number % 5])
            return run(spec(*kind.pop("argv"), **kind), cancel=cancel).cause
        one(0), one(3)
        fds, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
        with ThreadPoolExecutor(50) as pool:
            causes = list(pool.map(one, range(50)))
        try:
            children = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            children = None
        print(json.dumps([sorted(set(causes)), len(os.listdir("/proc/self/fd")) - fds,
                          threading.active_count() - threads, children]))
        """
    )

    assert told == [["exited", "spawn_failed", "timeout"], 0, 0, None]
    assert left_over() == []


@linux
def test_running_out_of_descriptors_is_a_failed_start(answer: Ask) -> None:
    """The host's own limit is an outcome too, and costs no descriptor."""
    told = answer(
        """
        import resource
        run(spec("/bin/true"))
        before = len(os.listdir("/proc/self/fd"))
        found = []
        free = os.dup(0)
        os.close(free)
        for room in range(12):
            resource.setrlimit(resource.RLIMIT_NOFILE, (free + room, 4096))
            found.append(run(spec("/bin/true", stdin=b"x")).cause)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        print(json.dumps([found[0], len(os.listdir("/proc/self/fd")) - before]))
        """
    )

    assert told == ["spawn_failed", 0]


@linux
def test_a_forked_host_runs_programs_of_its_own(answer: Ask) -> None:
    """Whatever its parent was starting at that moment."""
    told = answer(
        """
        import warnings
        warnings.simplefilter("ignore")
        run(spec("/bin/true"))  # a fork in the middle of an import would leave that locked
        own = {"HOLON_CALL_ID": "call-of-the-fork"}
        done = threading.Event()
        def busy():
            while not done.is_set():
                run(spec("/bin/true"))
        threading.Thread(target=busy).start()
        seen = []
        for _ in range(30):
            pid = os.fork()
            if pid == 0:
                os._exit(run(spec("/bin/sh", "-c", "sleep 0.01 & exit 7", env=own)).exit_code)
            seen.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        done.set()
        print(json.dumps(seen))
        """
    )

    assert told == [7] * 30


@posix
def test_cancelling_twice_and_late_changes_nothing(shell: Make) -> None:
    """A token that is cancelled after the end has nobody to wake."""
    cancel = CancelToken()
    outcome = run(shell("exit 0"), cancel=cancel)

    cancel.cancel()
    cancel.cancel()

    assert outcome.cause is ProcessCause.EXITED


@posix
def test_many_runs_end_with_one_token(shell: Make, left_over: LeftOver) -> None:
    """One call may have several processes in several threads."""
    cancel = CancelToken()
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(run, shell("sleep 30"), cancel=cancel) for _ in range(8)]
        threading.Timer(0.3, cancel.cancel).start()
        outcomes = [one.result() for one in runs]

    assert {outcome.cause for outcome in outcomes} == {ProcessCause.CANCELLED}
    assert left_over() == []


@posix
def test_without_process_descriptors_the_end_is_still_seen(
    shell: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems and kernels that lack them are looked at again and again."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)

    outcome = run(shell("exec >&- 2>&-; sleep 0.1; exit 5"))

    assert (outcome.cause, outcome.exit_code) == (ProcessCause.EXITED, 5)
    assert run(shell("sleep 30 & sleep 30", timeout_s=0.2)).cause is ProcessCause.TIMEOUT


@posix
def test_without_waitid_the_exit_is_still_told(
    shell: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only newer Pythons have it on macOS."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.delattr(os, "waitid", raising=False)

    assert run(shell("exit 5")).exit_code == 5
    assert run(shell("kill -KILL $$")).signal == "SIGKILL"
    assert run(shell("exec sleep 30", timeout_s=0.2)).cause is ProcessCause.TIMEOUT


@pytest.fixture(params=[PollIO, ThreadIO])
def through_either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with the descriptors of POSIX, then with the threads that serve Windows."""
    monkeypatch.setattr(process, "_IO", request.param)


def _end(outcome: ProcessOutcome) -> tuple[ProcessCause, int | None]:
    return outcome.cause, outcome.exit_code


@posix
@pytest.mark.usefixtures("through_either")
def test_both_ways_of_waiting_tell_the_same(program: Make, python: Make, shell: Make) -> None:
    """Output, input, limits, cancellation and timeouts do not depend on how they are awaited."""
    data = os.urandom(500_000)
    cancel = CancelToken()
    threading.Timer(0.3, cancel.cancel).start()

    assert run(program("/bin/cat", stdin=data)).stdout.head == data
    assert _end(run(python("import os; os.write(2, b'e' * 60_000); os._exit(3)"))) == (
        ProcessCause.EXITED,
        3,
    )
    assert run(shell("exec yes")).cause is ProcessCause.OUTPUT_LIMIT
    assert run(shell("exec sleep 30", timeout_s=0.2)).cause is ProcessCause.TIMEOUT
    assert run(shell("exec sleep 30"), cancel=cancel).cause is ProcessCause.CANCELLED
    assert run(program("/no/such/program")).cause is ProcessCause.SPAWN_FAILED
