"""Optional confinement by bubblewrap: what a script may see and reach, and what was enforced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core import Effect, Misuse, StructuredFailure, failure, resolve_program

if TYPE_CHECKING:
    from holon_core import FrozenTool, SealedCall

MODES = ("off", "if_available", "required")
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


@frozen(kw_only=True)
class Settings:
    """The table ``[lane.script-tools]``."""

    mode: str = "off"
    interpreters: Mapping[str, str] = {}

    @property
    def required(self) -> bool:
        """Whether nothing runs without confinement."""
        return self.mode == "required"


@frozen(kw_only=True)
class Wrapped:
    """A command as it is started, and what evidence says of its confinement."""

    argv: tuple[str, ...]
    told: Mapping[str, Any]


def settings(config: Mapping[str, Any]) -> Settings:
    """Read the lane's table.

    Raises:
        Misuse: A key or a value is none that it knows; the lane is then not loaded.
    """
    unknown = sorted(set(config) - {"confinement", "interpreters"})
    if unknown:
        raise Misuse(f"[lane.script-tools] has no {', '.join(unknown)}")
    mode = config.get("confinement", "off")
    if mode not in MODES:
        raise Misuse(f"confinement is one of {', '.join(MODES)}")
    given = config.get("interpreters", {})
    named = isinstance(given, Mapping) and all(isinstance(each, str) for each in given.values())
    if not named or not all(Path(each).is_absolute() for each in given.values()):
        raise Misuse("interpreters maps names of the list to absolute paths")
    return Settings(mode=mode, interpreters=dict(given))


def program() -> str | None:
    """Return where bubblewrap is, or ``None``."""
    return resolve_program("bwrap")


def wrap(
    chosen: Settings, argv: tuple[str, ...], tool: FrozenTool, call: SealedCall
) -> Wrapped | StructuredFailure:
    """Put a command into its confinement, as far as settings ask for one.

    Args:
        chosen: The lane's settings.
        argv: The command.
        tool: Its managed folder is seen, read-only.
        call: Its workspace is seen where an effect of the tool declares it.

    Returns:
        The command to start; or ``dependency_missing`` where confinement is required and can't
        be applied.
    """
    if chosen.mode == "off":
        return Wrapped(argv=argv, told={"enforced": False, "why": "off"})
    bwrap = program()
    if bwrap is None:
        if chosen.required:
            return failure("dependency_missing", "confinement is required; bwrap is missing")
        return Wrapped(argv=argv, told={"enforced": False, "why": "bwrap is missing"})
    effects = call.tool.effects
    network = bool(effects & _NETWORK)
    # Not --die-with-parent: the parent is the thread that starts it, and that one ends at once.
    words = [bwrap, "--new-session", "--unshare-all", "--proc", "/proc"]
    words += ["--dev", "/dev"] + (["--share-net"] if network else [])
    words += _files(argv[0], tool, call, network=network)
    words += ["--chdir", str(tool.folder), "--", *argv]
    told = {
        "enforced": True,
        "by": "bubblewrap",
        "network": network,
        "machine": bool(effects & _MACHINE),
        "workspace": _access(effects),
    }
    return Wrapped(argv=tuple(words), told=told)


def _access(effects: frozenset[Effect]) -> str:
    if Effect.WORKSPACE_WRITE in effects:
        return "write"
    return "read" if Effect.WORKSPACE_READ in effects else "none"


def _files(interpreter: str, tool: FrozenTool, call: SealedCall, *, network: bool) -> list[str]:
    """Return the words that say which files are there."""
    effects = call.tool.effects
    if effects & _MACHINE:
        how = "--bind" if Effect.MACHINE_WRITE in effects else "--ro-bind"
        words = [how, "/", "/", "--proc", "/proc", "--dev", "/dev"]
    else:
        seen = (*_SYSTEM, *(_NETWORKING if network else ()), *_prefix(interpreter))
        words = [word for path in seen for word in ("--ro-bind-try", path, path)]
        words += ["--tmpfs", "/tmp"]  # noqa: S108 - a folder of its own inside the confinement
    words += ["--ro-bind", str(tool.folder), str(tool.folder)]
    access = _access(effects)
    if access != "none" and call.workspace is not None:
        root = call.workspace.root_path
        words += ["--bind" if access == "write" else "--ro-bind", root, root]
    return words


def _prefix(interpreter: str) -> tuple[str, ...]:
    """Return the folder of an interpreter that is not the system's: its library is beside it."""
    folder = Path(interpreter).resolve().parent.parent
    return () if str(folder) in ("/", "/usr") else (str(folder),)
