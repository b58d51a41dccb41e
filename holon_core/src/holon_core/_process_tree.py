"""Everything that a started process left behind: find it, signal it, see it gone.

A process group catches what stays in it. What left it (``setsid``) is found on Linux alone, by
ancestry while its ancestors live and by the value of ``HOLON_CALL_ID`` in its environment. What
wiped that, too, cannot be told from a stranger: it is left alone, and said to be there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from attrs import frozen

CALL_ID = "HOLON_CALL_ID"
SIGTERM = signal.SIGTERM
# Windows has no signals: whatever is sent ends the process.
SIGKILL: signal.Signals = getattr(signal, "SIGKILL", signal.SIGTERM)
_ROUND_S = 0.002
_ANY_ID = f"{CALL_ID}=".encode()


@frozen
class _Process:
    pid: int
    alive: bool
    parent: int
    group: int
    session: int
    born: int


class Leaders:
    """The processes that this one has started and not reaped yet.

    Held while one is started: so no look at the system meets a leader that is not listed, and
    a marked process that is not listed belongs to nobody, even where this process adopts orphans.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew: a forked child has none of its parent's children."""
        self.lock = threading.Lock()
        self.pids: set[int] = set()


LEADERS = Leaders()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LEADERS.reset)


class Family:
    """The descendants of one started process, which leads a session and group of its own."""

    def __init__(self, leader: int, call_id: str | None) -> None:
        self.leader = leader
        # A host that itself carries this id has relatives with it that are not this process's.
        foreign = not call_id or os.environ.get(CALL_ID) == call_id
        self._id = os.fsencode(f"{CALL_ID}={call_id}")
        self._mark = None if foreign else self._id
        self._born: int | None = None
        self.seen: set[int] = set()
        # Whether the last look met an orphan that may be one of these.
        self._stranger = False

    @property
    def excluded(self) -> bool:
        """Whether it is certain, after the last look, that nobody escaped all searching."""
        return _traceable() and not self._stranger

    def quiet(self) -> bool:
        """Whether no descendant can exist, told without looking at every process."""
        try:
            # The last field is the number given last: nobody was started after the leader.
            return int(_content("/proc/loadavg").split()[4]) == self.leader
        except (OSError, ValueError, IndexError):
            return not _traceable()

    def signal(self, number: signal.Signals) -> None:
        """Signal the group, then each descendant that left it."""
        # Found first: the dead have no children, and what left the group is found by its parents.
        found = self._living()
        signal_group(self.leader, number)
        for process in found:
            if process.group != self.leader:
                _signal_one(process, number)

    def living(self) -> bool:
        """Whether a descendant is alive; those found are remembered in ``seen``."""
        return bool(self._living())

    def end(self, *, within_s: float) -> bool:
        """Kill until nobody is left; returns whether that was reached in time."""
        until = time.monotonic() + within_s
        while living := self._living():
            if time.monotonic() > until:
                return False
            signal_group(self.leader, SIGKILL)
            for process in living:
                _signal_one(process, SIGKILL)
            time.sleep(_ROUND_S)
        return True

    def reap(self) -> None:
        """Take the dead off the system's list where this process had to adopt them."""
        for pid in self.seen:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue

    def _living(self) -> list[_Process]:
        if not _traceable():
            return []
        with LEADERS.lock:
            table, leaders = _table(), LEADERS.pids - {self.leader}
        members = self._members(table, leaders)
        known = _with_descendants(leaders | {p.pid for p in members} | {self.leader}, table)
        self._stranger = any(self._may_be_ours(p, table) for p in _orphans(table, known))
        found = [process for process in members if process.alive]
        self.seen.update(process.pid for process in found)
        return found

    def _may_be_ours(self, process: _Process, table: dict[int, _Process]) -> bool:
        """Tell whether an orphan can have left this family: born since, in a session made since."""
        born = self._born or 0
        head = table.get(process.session)
        if process.born < born or (head is not None and head.born < born):
            return False
        ids = {each for each in _environ(process.pid) if each.startswith(_ANY_ID)}
        # What carries another call's id is that one's.
        return not ids or self._id in ids

    def _members(self, table: dict[int, _Process], others: set[int]) -> list[_Process]:
        host = os.getpid()
        if self._born is None:
            self._born = table[self.leader].born if self.leader in table else 0
        leader = table.get(self.leader)
        recycled = leader is not None and leader.parent != host
        roots = set() if recycled else {self.leader}
        if not recycled:
            roots |= {p.pid for p in table.values() if self.leader in (p.group, p.session)}
        own = _with_descendants(roots, table)
        # Another run of the same call has the same mark.
        spared = _with_descendants(others, table) | own | {host}
        own |= {p.pid for p in table.values() if self._is_marked(p, spared, others)}
        return [table[pid] for pid in own - {self.leader, host} if pid in table]

    def _is_marked(self, process: _Process, spared: set[int], others: set[int]) -> bool:
        if self._mark is None or process.pid in spared or process.session in others:
            return False
        return process.born >= (self._born or 0) and self._mark in _environ(process.pid)


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signal a process group that may be gone already."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(leader, number)
        else:
            os.kill(leader, number)
    except OSError:
        # Gone; or, on macOS, nothing but a zombie is left in it.
        return


def _signal_one(process: _Process, number: signal.Signals) -> None:
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(process.pid, number)
            return
        handle = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        # The handle holds the process; its birth tells that it is the one that was found.
        if _born(process.pid) == process.born:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return
    finally:
        os.close(handle)


def _traceable() -> bool:
    """Whether /proc shows this process's own world: not that of another PID namespace."""
    try:
        return sys.platform == "linux" and Path("/proc/self").readlink().name == str(os.getpid())
    except OSError:
        return False


def _with_descendants(roots: set[int], table: dict[int, _Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    reached, todo = set(roots), list(roots)
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in reached:
                reached.add(child)
                todo.append(child)
    return reached


def _orphans(table: dict[int, _Process], known: set[int]) -> list[_Process]:
    """List the living that are children of who adopts orphans: the first, or one above the host.

    Any process above this one may have asked to adopt, and so may this one.
    """
    adopting, above = {1}, table.get(os.getpid())
    while above is not None and above.pid not in adopting:
        adopting.add(above.pid)
        above = table.get(above.parent)
    return [
        process
        for process in table.values()
        if process.alive and process.parent in adopting and process.pid not in known | adopting
    ]


def _table() -> dict[int, _Process]:
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    return {process.pid: process for process in map(_read, pids) if process is not None}


def _read(pid: int) -> _Process | None:
    try:
        # The name before the last parenthesis may hold anything, parentheses included.
        fields = _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        parent, group, session, born = (int(fields[place]) for place in (1, 2, 3, 19))
    except (OSError, IndexError, ValueError):
        return None
    alive = fields[0] not in (b"Z", b"X")
    return _Process(pid, alive, parent, group, session, born)


def _born(pid: int) -> int:
    process = _read(pid)
    return process.born if process is not None else 0


def _environ(pid: int) -> list[bytes]:
    try:
        return _content(f"/proc/{pid}/environ").split(b"\0")
    except OSError:
        return []


def _content(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(fd, 65_536), b""))
    finally:
        os.close(fd)
