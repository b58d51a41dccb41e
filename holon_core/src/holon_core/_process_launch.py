"""What a child process starts with, its program and environment, and why it did not start."""

from __future__ import annotations

import errno
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# An allow-list and not a list of secrets: a name nobody has thought of stays out.
_ALLOWED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP")
_ALLOWED_WINDOWS = (
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT"),
    *("USERPROFILE", "APPDATA", "LOCALAPPDATA"),
)


@lru_cache(maxsize=16)
def safe_path_entries(path: str) -> tuple[str, ...]:
    """The entries of a PATH that mean the same from every folder: neither empty nor relative."""
    return tuple(entry for entry in path.split(os.pathsep) if Path(entry).is_absolute())


def child_environment(declared: Mapping[str, str]) -> dict[str, str]:
    """The allowed part of this process's environment, then what was declared for the child."""
    allowed = (*_ALLOWED, *(_ALLOWED_WINDOWS if os.name == "nt" else ()))
    names: Iterable[str] = (*allowed, *(name for name in os.environ if name.startswith("LC_")))
    found = {name: os.environ.get(name) for name in names}
    env = {name: value for name, value in found.items() if value is not None}
    env.update(declared)
    # Never absent: some C libraries then search the working directory first.
    env["PATH"] = os.pathsep.join(safe_path_entries(env.get("PATH", ""))) or os.defpath
    return env


def resolve_program(
    name: str, *, path: str | None = None, outside: Sequence[Path] = ()
) -> str | None:
    """Find a program once, so that nothing later depends on a search.

    Args:
        name: A plain command name, or an absolute path. A relative path is never found.
        path: Folders to search, in the platform's PATH form; this process's PATH by default.
            Empty and relative entries are skipped.
        outside: Folders, such as workspaces, from which no program is taken, neither directly
            nor through a link.

    Returns:
        An absolute path of an executable file, or None.

    Source: abuse cases on planted programs; a PATH of "", ":/usr/bin" or ".:/usr/bin".
    """
    if not name or "\0" in name:
        return None
    if Path(name).is_absolute():
        candidates = [name]
    elif Path(name).name != name:
        return None
    else:
        searched = os.environ.get("PATH", os.defpath) if path is None else path
        candidates = [f"{folder}{os.sep}{name}" for folder in safe_path_entries(searched)]
    walls = [Path(os.path.realpath(folder)) for folder in outside]
    found = (_executable(candidate) for candidate in candidates)
    return next((str(path) for path in found if path and not _inside(path, walls)), None)


def _executable(candidate: str) -> Path | None:
    spellings = (candidate, f"{candidate}.exe") if os.name == "nt" else (candidate,)
    for path in map(Path, spellings):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def _inside(program: Path, walls: list[Path]) -> bool:
    # The link and its target: programs of many names (busybox) go by the link, so it is kept.
    places = (Path(os.path.realpath(program)), Path(os.path.realpath(program.parent), "program"))
    return any(wall in place.parents for wall in walls for place in places)


def refuse_batch_file(command: str) -> None:
    """Windows runs batch files in a shell, whose quoting cannot be made safe. Raises OSError."""
    if os.name == "nt" and command.lower().endswith((".bat", ".cmd")):
        raise OSError(errno.ENOEXEC, "a batch file runs in a shell", command)


def spawn_reason(error: OSError | ValueError, command: str, cwd: Path) -> str:
    """Why a program did not start: the system's words, beside the command that was declared."""
    if not isinstance(error, OSError):
        return f"{command}: an argument or variable holds a character that no program can be given"
    blamed = str(error.filename)
    if Path(command).is_dir() and (command == str(cwd) or blamed != str(cwd)):
        return f"{command}: {error.strerror} (it is a folder, not a program)"
    if blamed == str(cwd):
        return f"{command}: working directory {cwd}: {error.strerror}"
    if isinstance(error, FileNotFoundError) and Path(command).exists():
        return f"{command}: {error.strerror} (the file is there, its interpreter is not)"
    return f"{command}: {error.strerror}"
