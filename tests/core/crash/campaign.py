"""Kill processes in the middle of guarded calls, again and again, and look what is left.

Several processes call tools with effects on one storage root: under keys, under approvals, and
plainly. Each is killed by SIGKILL at a random moment and replaced. After every kill the root is
opened as a host would open it, and everything that the door promises is looked at: ``PROMISES``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import holon_core as holon

PROMISES = """
the store opens, its integrity check passes, every chain verifies
each accepted call has exactly one end, or is marked interrupted, or runs in a living process
no effect without a record that it was accepted, and none twice for one call
no two effects for one key, nor for one single-use approval
no call of a living process is marked
"""
RULES = """
[[rules]]
id = "host.app/append"
decision = "allow"
"""
KILLS_A_ROOT = 15
ENDS = {"completed", "failed", "blocked", "interrupted"}


class Broken(AssertionError):
    """A promise was not kept."""


def tools(effects: Path) -> list[Any]:
    """Return the tools of a caller; each effect is one line, written at once."""

    def write(line: str) -> None:
        descriptor = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    @holon.tool(effects={"machine_write"})
    def append(call: holon.SealedCall, n: int) -> int:
        """Append a line; allowed by rule."""
        write(f"append {call.call_id} {call.idempotency_key}\n")
        time.sleep(0.002)
        return n

    @holon.tool(effects={"machine_write"})
    def asked(call: holon.SealedCall, n: int) -> int:
        """Append a line; needs an approval."""
        time.sleep(0.002)
        write(f"asked {call.call_id} {n}\n")
        return n

    @holon.tool(effects={"none"})
    def read(n: int) -> int:
        """Do nothing."""
        return n

    return [append, asked, read]


def ready_file(root: Path, number: int) -> Path:
    """Return the file that says that a caller is at work."""
    return root.parent / f"ready-{number}"


def work(root: Path, seed: int) -> None:
    """Call at random until killed."""
    dice = random.Random(seed)
    with holon.Runtime.open(root, discover=False, tools=tools(root.parent / "effects")) as rt:
        ready_file(root, seed).touch()
        session = rt.session(principal="caller")
        for turn in range(1_000_000):
            one_turn(rt, session, dice, f"{seed}-{turn}")


def one_turn(rt: holon.Runtime, session: holon.Session, dice: random.Random, name: str) -> None:
    """Make one call of a random kind; a key may be one that a dead process used."""
    kind = dice.randrange(4)
    n = dice.randrange(10**9)
    if kind == 0:
        session.call("host.app/append", {"n": n})
    elif kind == 1:
        shared = dice.randrange(400)
        session.call("host.app/append", {"n": shared}, key=f"shared-{shared}")
    elif kind == 2:
        session.call("host.app/read", {"n": n}, key=name)
    else:
        held = session.call("host.app/asked", {"n": n}).held
        if held is not None:
            rt.approvals.approve(held, by="boss", reason="campaign")
            session.release(held)


def nursery(root: Path) -> None:
    """Fork callers on request: with everything imported, a start takes milliseconds."""
    import holon_core.runtime  # noqa: F401 - before the forks, so that each is quick

    for line in sys.stdin:
        order, number = line.split()
        if order == "reap":
            _, status = os.waitpid(int(number), 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        child = os.fork()
        if child == 0:
            try:
                work(root, int(number))
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        print(child, flush=True)


class Callers:
    """The living callers, started and killed through the nursery."""

    def __init__(self, process: subprocess.Popen[str], dice: random.Random) -> None:
        self._process = process
        self._dice = dice
        self.pids: list[int] = []
        self._started = 0
        self._numbers: dict[int, int] = {}

    def ask(self, order: str) -> str:
        """Send the nursery one line and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def start(self) -> None:
        """Start one more caller."""
        self._started += 1
        pid = int(self.ask(f"fork {self._started}"))
        self.pids.append(pid)
        self._numbers[pid] = self._started

    def settle(self, root: Path) -> None:
        """Wait until every caller is at work: a busy machine starts them slowly."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if all(ready_file(root, self._numbers[pid]).exists() for pid in self.pids):
                return
            time.sleep(0.005)

    def kill_one(self) -> None:
        """Kill a random caller, wherever it stands."""
        pid = self._dice.choice(self.pids)
        self.pids.remove(pid)
        os.kill(pid, signal.SIGKILL)
        ended = int(self.ask(f"reap {pid}"))
        demand(ended == -signal.SIGKILL, f"a caller ended by itself, with {ended}")

    def kill_all(self) -> None:
        """Kill whoever is left."""
        while self.pids:
            self.kill_one()


@contextlib.contextmanager
def callers(root: Path, dice: random.Random) -> Iterator[Callers]:
    """Start a nursery; in the end it and its callers are gone."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--nursery", str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    made = Callers(process, dice)
    try:
        yield made
    finally:
        made.kill_all()
        process.communicate("")


def demand(kept: bool, text: str) -> None:
    """Raise where a promise was not kept."""
    if not kept:
        raise Broken(text)


def look(root: Path, *, living: int) -> Counter[str]:
    """Open the root as a host does, and check every promise.

    Args:
        root: The storage root.
        living: How many callers live; each has at most one call open.

    Returns:
        How many records of each kind there are, and how many effects.
    """
    with holon.Runtime.open(root, discover=False) as rt:
        found = rt.evidence.verify(None)
        demand(found.consistent, f"the chain does not verify: {found}")
        open_now = {call.call for call in rt._guard.store.read(lambda t: t.open_calls())}
    with contextlib.closing(sqlite3.connect(f"file:{root / 'holon.db'}?mode=ro", uri=True)) as db:
        # Effects first: one that happens in between must not be looked for in older records.
        lines = effects_of(root)
        sound = db.execute("pragma quick_check(1)").fetchone()[0]
        demand(sound == "ok", f"the store is damaged: {sound}")
        rows = db.execute("select seq, call, kind from evidence order by seq").fetchall()
        used = db.execute("select used_by from approvals").fetchall()
    demand(len(open_now) <= living, f"{len(open_now)} calls open, {living} callers alive")
    calls = by_call(rows)
    check_ends(calls, open_now, living)
    check_effects(calls, lines)
    demand(all(len(json.loads(text)) <= 1 for (text,) in used), "an approval was used twice")
    counts = Counter(kind for _, _, kind in rows)
    counts["effects"] = len(lines)
    return counts


def effects_of(root: Path) -> list[list[str]]:
    """Return the words of each line of effects."""
    path = root.parent / "effects"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def by_call(rows: Sequence[tuple[int, str, str]]) -> dict[str, list[str]]:
    """Group the kinds of records by call, in order."""
    calls: dict[str, list[str]] = {}
    for _, call, kind in rows:
        calls.setdefault(call, []).append(kind)
    return calls


def check_ends(calls: dict[str, list[str]], open_now: set[str], living: int) -> None:
    """Check that what was accepted ended once, or still runs."""
    unfinished = 0
    for call, kinds in calls.items():
        accepted, ends = kinds.count("accepted"), sum(kind in ENDS for kind in kinds)
        demand(accepted <= 1, f"{call} was accepted twice: {kinds}")
        demand(ends <= accepted, f"{call} has more ends than starts: {kinds}")
        if accepted and not ends:
            unfinished += 1
    # Callers go on while we look: at most one call of each may be between its two records.
    demand(unfinished <= living, f"{unfinished} calls without an end, {living} callers alive")
    if not living:
        demand(not open_now, f"calls left open: {open_now}")


def check_effects(calls: dict[str, list[str]], lines: list[list[str]]) -> None:
    """Check that each effect was accepted before, and that none is doubled."""
    by_id, by_key = Counter(call for _, call, _ in lines), Counter[str]()
    for tool, call, key in lines:
        demand("accepted" in calls.get(call, ()), f"an effect of {call}, which nobody accepted")
        if tool == "append" and key != "None":
            by_key[key] += 1
    demand(all(n == 1 for n in by_id.values()), "a call took effect twice")
    doubled = [key for key, n in by_key.items() if n > 1]
    demand(not doubled, f"keys took effect twice: {doubled}")


def campaign(folder: Path, *, kills: int, processes: int, seed: int) -> Counter[str]:
    """Kill callers on one root after another; return what was counted in all.

    A root is left after ``KILLS_A_ROOT`` kills: every look reads all that is on it.
    """
    dice = random.Random(seed)
    total = Counter[str]()
    while total["kills"] < kills:
        number = min(KILLS_A_ROOT, kills - total["kills"])
        place = folder / f"{total['kills']}"
        total += one_root(place / "root", dice, kills=number, processes=processes)
        shutil.rmtree(place)
    met = total["interrupted"] > 0 or kills < 100
    demand(met, "no kill met a call: the campaign is too tame")
    return total


def one_root(root: Path, dice: random.Random, *, kills: int, processes: int) -> Counter[str]:
    """Kill callers one by one and look after each; return what was counted in the end."""
    root.mkdir(parents=True)
    (root / "holon.toml").write_text(RULES)
    with callers(root, dice) as alive:
        for _ in range(kills):
            while len(alive.pids) < processes:
                alive.start()
            # Now and then in the middle of an opening, mostly in the middle of calls.
            if dice.random() < 0.8:
                alive.settle(root)
            time.sleep(dice.uniform(0.01, 0.15))
            alive.kill_one()
            look(root, living=len(alive.pids))
        alive.kill_all()
        counts = look(root, living=0)
    counts["kills"] = kills
    return counts


def main() -> int:
    """Run the campaign as the command line says; print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--nursery", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.nursery is not None:
        nursery(given.nursery)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="holon-crash-"))
    started = time.monotonic()
    try:
        counts = campaign(folder, kills=given.kills, processes=given.processes, seed=given.seed)
    except Broken as error:
        print(f"BROKEN with --seed {given.seed}: {error}\nleft in {folder}")
        return 1
    shutil.rmtree(folder)
    print(f"{'kills':12} {counts.pop('kills'):8}   seed {given.seed}")
    for name, number in sorted(counts.items()):
        print(f"{name:12} {number:8}")
    print(f"{'seconds':12} {time.monotonic() - started:8.0f}")
    print("kept:" + PROMISES.rstrip().replace("\n", "\n  "))
    return 0


if __name__ == "__main__":
    sys.exit(main())
