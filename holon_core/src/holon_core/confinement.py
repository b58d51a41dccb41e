"""Confinement of programs by bubblewrap: a program sees and reaches what its tool declares."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from holon_core.process import ProcessSpec, resolve_program, run
from holon_core.records.base import Record
from holon_core.records.words import Effect

_NETWORK = frozenset({Effect.NETWORK_READ, Effect.NETWORK_WRITE})
_MACHINE = frozenset({Effect.MACHINE_READ, Effect.MACHINE_WRITE})
# What programs need to start at all; everything else of the machine is not there.
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/alternatives",
    "/etc/ssl",
    "/etc/ld.so.cache",
)
_NETWORKING = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
# Not --die-with-parent: the parent is the thread that starts it, and that one ends at once.
_SPACES = ("--new-session", "--unshare-all", "--proc", "/proc", "--dev", "/dev")
_TRIAL_S = 5.0
_TRIAL_BYTES = 1024
# Which programs have shown that they may make what confinement needs; a failure is tried again.
_tried: set[str] = set()


@frozen(kw_only=True, eq=False, repr=False)
class Confined(Record):
    """A command as it is started, and what evidence says of its confinement."""

    argv: tuple[str, ...]
    told: Mapping[str, Any]


def program() -> str | None:
    """Return where bubblewrap is, or ``None``; nothing is started."""
    return resolve_program("bwrap") if sys.platform.startswith("linux") else None


def lack() -> str | None:
    """Say why nothing can be confined on this machine, or ``None``.

    The first time that bubblewrap is found it is started once, on a program that does nothing:
    many a container forbids what it has to do.
    """
    found = program()
    if found is None:
        return "bubblewrap (bwrap) is not on this machine"
    if found in _tried:
        return None
    outcome = run(
        ProcessSpec(
            argv=(found, *_SPACES, "--ro-bind", "/", "/", "--", resolve_program("true") or found),
            cwd=Path("/"),
            timeout_s=_TRIAL_S,
            max_stdout_bytes=_TRIAL_BYTES,
            max_stderr_bytes=_TRIAL_BYTES,
        )
    )
    if outcome.exit_code == 0:
        _tried.add(found)
        return None
    said = outcome.reason or outcome.stderr.head.decode("utf-8", "replace").strip()
    return f"bubblewrap can't confine anything here: {said[:200] or outcome.cause.value}"


def confined(
    argv: Sequence[str],
    *,
    effects: frozenset[Effect],
    workspace: Path | None,
    reads: Sequence[Path] = (),
    cwd: Path,
) -> Confined:
    """Put a command into its confinement; ask ``lack`` before.

    Args:
        argv: The command.
        effects: What the tool declares: the network, the workspace and the machine are there as
            far as an effect says so.
        workspace: The root of the call's workspace.
        reads: What the program needs besides, read-only: its own folder, its interpreter's.
        cwd: Where it starts; ``/`` where that is not there for it.
    """
    found = program()
    assert found is not None, "lack() was asked"
    network = bool(effects & _NETWORK)
    access = _access(effects) if workspace is not None else "none"
    words = [found, *_SPACES[:2], *(["--share-net"] if network else [])]
    words += _machine(effects, network=network)
    for each in dict.fromkeys(map(str, reads)):
        words += ["--ro-bind", each, each]
    seen = list(reads)
    if access != "none" and workspace is not None:
        words += ["--bind" if access == "write" else "--ro-bind", str(workspace), str(workspace)]
        seen.append(workspace)
    whole = bool(effects & _MACHINE)
    start = cwd if whole or any(_within(cwd, each) for each in seen) else Path("/")
    told = {
        "enforced": True,
        "by": "bubblewrap",
        "network": network,
        "machine": _reach(effects),
        "workspace": access,
        "reads": sorted(dict.fromkeys(map(str, reads))),
    }
    return Confined(argv=(*words, "--chdir", str(start), "--", *argv), told=told)


def _access(effects: frozenset[Effect]) -> str:
    if Effect.WORKSPACE_WRITE in effects:
        return "write"
    return "read" if Effect.WORKSPACE_READ in effects else "none"


def _reach(effects: frozenset[Effect]) -> str:
    if Effect.MACHINE_WRITE in effects:
        return "write"
    return "read" if Effect.MACHINE_READ in effects else "none"


def _machine(effects: frozenset[Effect], *, network: bool) -> Iterator[str]:
    """Yield the words that say how much of the machine is there."""
    reach = _reach(effects)
    if reach != "none":
        yield from ("--bind" if reach == "write" else "--ro-bind", "/", "/")
    else:
        for path in (*_SYSTEM, *(_NETWORKING if network else ())):
            yield from ("--ro-bind-try", path, path)
        yield from ("--tmpfs", "/tmp")  # noqa: S108 - a folder of its own inside the confinement
    yield from _SPACES[2:]


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
