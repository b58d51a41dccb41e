"""Two agents' processes at a time that are killed in the middle of their work, again and again.

After each kill the root is opened, and each run is looked at: what its session says has to be what
evidence says, whatever the moment of the kill was.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import holon_core as holon
from agent_office import (
    DOOR,
    LOOK,
    MAX_CALLS,
    PLAN,
    REVIEW,
    SEND,
    clerk,
    counted,
    office,
    records,
)
from holon_core.agents.session_store import session_id

RUNS = [f"r{number}" for number in range(40)]


def work(root: Path, seed: int) -> None:
    """Do what agents do, until killed."""
    dice = random.Random(seed)
    runtime = office(root)
    (root.parent / f"ready-{seed}").touch()
    for turn in range(100_000):
        session = clerk(runtime, dice.choice(RUNS), dice.choice(["read", "write"]))
        kind = dice.randrange(20)
        with contextlib.suppress(holon.Refused):
            if kind < 8:
                session.call(LOOK, {"n": turn})
            elif kind < 11:
                session.call(DOOR)
            elif kind < 16:
                held = session.call(SEND, {"n": seed * 100_000 + turn}).held
                if held is not None and dice.random() < 0.7:
                    runtime.approvals.approve(held, by="boss", reason="ok")
                    session.release(held)
            elif kind < 19:
                session.accept_output("reviewer_output", REVIEW)
            else:
                session.finish(PLAN)


def look_at(root: Path) -> int:
    """Open the root as a host would, and compare sessions with evidence; return calls seen."""
    with office(root) as runtime:
        assert runtime.evidence.verify(None).consistent
        found = records(runtime)
        held = {each.call_id for each in runtime.approvals.held(limit=1000)}
        waiting: set[str] = set()
        for run in RUNS:
            caller = clerk(runtime, run).caller
            known = {each.id: each for each in runtime.agents.sessions.list(limit=1000)}
            session = known.get(session_id(caller))
            if session is None:
                assert counted(found, run) == (0, 0)
                continue
            assert (session.calls, session.blocked_calls) == counted(found, run), run
            assert session.calls <= MAX_CALLS
            waiting |= {each.call_id for each in runtime.agents.sessions.waiting(session)}
            ends = [
                each.seq
                for each in found
                if each.kind == "agent_session"
                and each.body["subject"] == session.id
                and each.body["outcome"] == "finished"
            ]
            assert len(ends) == (session.state.value == "finished"), run
            after = [
                each.seq
                for each in found
                if each.kind == "accepted" and each.body["caller"].get("run") == run
            ]
            assert not ends or max(after, default=0) < ends[0], run
            given = {
                each.call_id
                for each in found
                if each.kind == "structured_output"
                and each.body["caller"].get("run") == run
                and each.body["outcome"] == "accepted"
            }
            assert set(session.outputs) == given, run
        assert waiting <= held
        return sum(each.kind == "accepted" for each in found)


def main(root: Path, rounds: int, seed: int) -> None:
    """Start two, kill both, look; as often as asked."""
    dice = random.Random(seed)
    office(root).close()
    for number in range(rounds):
        names = [number * 2 + 1, number * 2 + 2]
        pids = []
        for name in names:
            pid = os.fork()
            if pid == 0:
                work(root, name)
                os._exit(1)
            pids.append(pid)
        while not all((root.parent / f"ready-{name}").exists() for name in names):
            time.sleep(0.002)
        time.sleep(dice.uniform(0.02, 0.3))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        print(number, look_at(root), flush=True)


def race(root: Path, rounds: int) -> None:
    """Let two processes finish the same sessions, each at the same moment; print how many did."""
    office(root).close()
    began = time.monotonic() + 1.0
    pids = []
    for name in (1, 2):
        pid = os.fork()
        if pid == 0:
            runtime = office(root)
            for number in range(rounds):
                time.sleep(max(0.0, began + number * 0.02 - time.monotonic()))
                result = clerk(runtime, f"race{number}").finish(PLAN)
                said = result.output_id or (result.failure and result.failure.code)
                # In one piece: two processes write here.
                os.write(1, f"{name} {number} {said}\n".encode())
            runtime.close()
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    if sys.argv[2] == "race":
        race(Path(sys.argv[1]), int(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
